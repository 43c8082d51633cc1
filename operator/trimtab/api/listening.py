"""The ports at which our pods listen: for manifests, Spark's configuration and NetworkPolicies."""

METRICS_PORT = 9400
"""A driver's metrics and probes."""
DRIVER_PORT = 7078
"""Where executors call the driver; fixed, so that a NetworkPolicy can name it."""
BLOCK_MANAGER_PORT = 7079
"""Where drivers and executors serve blocks to each other; fixed like `DRIVER_PORT`."""
UI_PORT = 4040
"""Where a driver serves Spark's web UI, if its pipeline asks for that."""
FIXED_PORTS = {"trimtab.dev/ports": "fixed"}
"""Label of pods whose Spark listens at these ports: that of an older trimtab chose its own."""

BROKER_PORT = 9092
"""Where brokers serve clients and each other."""
CONTROLLER_PORT = 9093
"""Where the brokers of a cluster agree."""
PEERS_PORT = 9094
"""Where the brokers of a secured cluster serve each other, and the Job that makes topics."""
PROBE_PORT = 9095
"""Where the readiness probe asks a broker of a secured cluster, on loopback."""
