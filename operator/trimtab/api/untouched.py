"""What is never tuned, and why; docs/tuning.md has the same list."""

from __future__ import annotations

from collections.abc import Mapping

UNTOUCHED: Mapping[str, str] = {
    "acks, enable.idempotence": "without them a retry loses records, or their order",
    "spark.dynamicAllocation.*": "a second controller of the same executors",
    "spark.speculation": "a second attempt of a task would write its records twice",
    "spark.locality.wait.rack": "Spark on Kubernetes knows no racks: zones come by placement and"
    " client.rack",
    "partitions of a query's state": "the checkpoint pins them: others need a new generation of it",
    "socket buffers, brokers' threads": "no figure of a pipeline shows them, and brokers serve"
    " others too",
}
"""Settings by name, with the reason."""
