"""trimtab: deploys Kafka + Spark pipelines on Kubernetes and holds their goal by itself."""

from trimtab.script import Pipeline

__all__ = ["Pipeline"]
