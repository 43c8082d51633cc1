"""A Kafka that takes only so many bytes a second: its own quota on what clients produce.

The default quota of clients slows the pipelines' sinks, whose producers have names of Kafka's
making. The load generator has one of its own, without a bound, by the name of its library.
"""

from __future__ import annotations

from dev.demo.kube import Kube

BROKER = "events-kafka-0"
TOOL = "kafka.admin.ConfigCommand"
RATE = "producer_byte_rate"
LOAD = "rdkafka"
"""The client id of the load generator: that of its library."""
NO_BOUND = 1 << 40


def arguments(bytes_per_s: int | None, bootstrap: str) -> list[list[str]]:
    """Arguments of Kafka's tool, one list for each call; None takes the quotas away."""
    change = ["--delete-config", RATE]
    free = change
    if bytes_per_s is not None:
        change, free = (["--add-config", f"{RATE}={rate}"] for rate in (bytes_per_s, NO_BOUND))
    head = ["--bootstrap-server", bootstrap, "--alter", "--entity-type", "clients"]
    # the load first, so that it is never slowed
    return [
        [*head, "--entity-name", LOAD, *free],
        [*head, "--entity-default", *change],
    ][:: 1 if bytes_per_s is not None else -1]


def throttle(kube: Kube, bytes_per_s: int | None) -> None:
    """Bound what the broker takes of each client but the load; None for no bound.

    Raises:
        DemoError: the broker did not take it.
    """
    heap = ["env", "KAFKA_HEAP_OPTS=-Xmx96m"]  # beside the broker, in its memory
    for each in arguments(bytes_per_s, "localhost:9092"):
        kube.call("exec", BROKER, "--", *heap, "kafka", TOOL, *each, limit_s=120)
