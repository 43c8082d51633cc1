"""A pipeline of several sources through the loop: each Kafka is found, and waited for."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.reconcile.stage import Stage, series

BANK = {"bootstrapServers": "payments.bank.svc:9092", "topics": ["payments"]}
SOURCES: list[dict[str, Any]] = [
    {"name": "orders", "kafka": {"cluster": "events", "topics": ["orders"]}},
    {"name": "paid", "kafka": BANK | {"startingOffsets": "earliest"}},
]
SQL = {"sql": "SELECT o.key, o.value FROM orders o JOIN paid p ON p.key = o.key"}


def put(stage: Stage, **spec: Any) -> None:
    made = stage.put_pipeline("clicks", **{"sources": SOURCES, "transform": SQL} | spec)
    del made["spec"]["source"]
    stage.cluster.put(made)


def document(stage: Stage) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(stage.get("ConfigMap", "clicks-job")["data"]["job.json"])
    return read


def test_the_driver_is_told_of_each_kafka_and_where_it_begins() -> None:
    stage = Stage()
    put(stage)
    stage.tick()
    job = document(stage)
    assert (job["schema"], job["source"]["kind"]) == (2, "several")
    orders, paid = job["source"]["sources"]
    assert orders["source"]["bootstrapServers"] == "events-kafka-0.events-kafka.n.svc:9092"
    assert (paid["source"]["bootstrapServers"], paid["startingOffsets"]) == (
        "payments.bank.svc:9092", "earliest",
    )  # fmt: skip


def test_a_kafka_that_is_missing_is_named() -> None:
    stage = Stage()
    lost = {"name": "orders", "kafka": {"cluster": "lost", "topics": ["orders"]}}
    put(stage, sources=[SOURCES[1], lost])
    stage.tick()
    assert stage.condition("Stalled") == ("True", "KafkaClusterNotFound")


def test_the_loop_through_one_of_them_is_told() -> None:
    """By its addresses, although the sink names the Kafka in another way."""
    stage = Stage()
    address = "events-kafka-0.events-kafka.n.svc:9092"
    put(stage, sink={"kafka": {"bootstrapServers": address, "topic": "orders"}})
    stage.tick()
    assert stage.condition("Stalled") == ("True", "InvalidSpec")


def test_it_is_tuned_by_the_lag_of_all_and_says_where_most_waits() -> None:
    stage = Stage()
    put(stage)
    stage.running()
    waiting = series("clicks", stage.clock.now_s + 10, lag_records=900.0)
    labels = {k: v for k, v in waiting["gauges"][0].labels.items() if k != "__name__"}
    sample = type(waiting["gauges"][0])
    for name, records in (("orders", 100.0), ("paid", 800.0)):
        own = {"__name__": "trimtab_source_lag_records", "source": name}
        waiting["gauges"].append(sample(labels | own, records))
    stage.see(waiting)
    stage.tick()
    assert stage.status()["lag"]["mostIn"] == "paid"
    assert stage.status()["lag"]["records"] == 900
