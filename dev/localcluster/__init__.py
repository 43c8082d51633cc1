"""The local cluster: a real Kubernetes on one Linux machine, built from source, without Docker."""
