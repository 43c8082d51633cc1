"""Several sources on the real cluster: two Kafkas whose topics have the same name, in one query."""

from __future__ import annotations

import pytest
from tests.e2e.conftest import Json, Stage, manifests, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

RECORDS = {"events": 60, "america": 40}
SQL = """
SELECT concat('eu-', CAST(value AS STRING)) AS value FROM europe
UNION ALL SELECT concat('us-', CAST(value AS STRING)) FROM america
"""


def kafka(name: str) -> Json:
    (made,) = manifests("kafka")
    made["metadata"] = {"name": name}
    made["spec"]["topics"] = [{"name": "orders", "partitions": 2}, {"name": "all", "partitions": 1}]
    return made


def tool(stage: Stage, cluster: str, name: str, *arguments: str, text: str | None = None) -> str:
    """One of Kafka's tools in the broker's pod."""
    command = ("kafka", f"org.apache.kafka.tools.{name}", "--bootstrap-server", "localhost:9092")
    stdin = ("-i",) if text else ()
    pod = f"{cluster}-kafka-0"
    return stage.kube.call("exec", *stdin, pod, "--", *command, *arguments, text=text)


def written(stage: Stage) -> int:
    """Records of the topic that both go to."""
    said = tool(stage, "events", "GetOffsetShell", "--topic", "all")
    return sum(int(line.rpartition(":")[2]) for line in said.split())


def test_two_kafkas_are_read_in_one_query_and_a_restart_repeats_nothing(stage: Stage) -> None:
    for name in RECORDS:
        stage.apply(kafka(name))
    for name, count in RECORDS.items():
        stage.wait_long(f"Kafka {name}", 240, lambda n=name: stage.kafka_ready(n))
        lines = "".join(f"{number}\n" for number in range(count))
        tool(stage, name, "ConsoleProducer", "--topic", "orders", text=lines)
    sources = [
        {"name": view, "kafka": {"cluster": cluster, "topics": ["orders"],
                                 "startingOffsets": "earliest"}}
        for view, cluster in (("europe", "events"), ("america", "america"))
    ]  # fmt: skip
    parts = {
        "source": None, "sources": sources, "transform": {"sql": SQL},
        "sink": {"kafka": {"cluster": "events", "topic": "all"}},
    }  # fmt: skip
    stage.apply(pipeline(**parts))
    stage.wait_ready()
    stage.wait_long("all of both", 240, lambda: written(stage) >= 100)
    assert written(stage) == 100
    driver = stage.uid("clicks-driver-0")
    stage.apply(pipeline(**parts, env=[{"name": "SOMETHING", "value": "new"}]))
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    tool(stage, "america", "ConsoleProducer", "--topic", "orders", text="40\n41\n")
    stage.wait_long("what came since", 120, lambda: written(stage) >= 102)
    assert written(stage) == 102, "and nothing twice"
    stage.kube.call("delete", "tkc", "america")
