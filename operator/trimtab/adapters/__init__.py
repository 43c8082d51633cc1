"""Implementations of the ports; only they import the clients of Kubernetes and Prometheus."""
