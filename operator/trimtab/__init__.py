"""trimtab: deploys Kafka + Spark pipelines on Kubernetes and holds their goal by itself."""
