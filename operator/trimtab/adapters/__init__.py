"""The ports' real ends: the only imports of the clients of Kubernetes and Prometheus."""
