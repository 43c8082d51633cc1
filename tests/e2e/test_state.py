"""State on the real cluster: executors write it to a checkpoint that they share with the driver."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from dev.localcluster.paths import REPO
from tests.e2e.conftest import Stage, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
NEW_CHECKPOINTS = True

EXAMPLE = REPO / "examples/30-windows"
PAIRS = 40


def deduplicating(**spec: Any) -> dict[str, Any]:
    """The quickstart with the transform of the example's pipeline `once`."""
    once = yaml.safe_load((EXAMPLE / "once.yaml").read_text())["spec"]
    return pipeline(transform=once["transform"], **spec)


def pinned(executors: int) -> dict[str, object]:
    return {"pinned": {"executors": executors, "trigger": "2s"}}


def test_state_goes_with_executors_and_driver(stage: Stage) -> None:
    stage.forget()
    stage.apply(yaml.safe_load((EXAMPLE / "transform.yaml").read_text()))
    stage.apply(deduplicating(tuning=pinned(1)))
    assert "volumeClaim.shared: true" in stage.wait_stalled("StateNeedsSharedCheckpoint")
    stage.kube.call("delete", "spl", "clicks")
    stage.wait("driver gone", 180, lambda: stage.uid("clicks-driver-0") is None)
    stage.forget()

    shared = {"volumeClaim": {"shared": True, "storageClassName": "shared"}}
    stage.apply(deduplicating(tuning=pinned(1), checkpoint=shared))
    stage.wait_ready()
    stage.start_load([(900.0, 50.0)])
    rows = f'trimtab_state_rows{{namespace="{stage.kube.namespace}"}}'
    stage.wait("state", 180, lambda: (stage.metric(rows) or 0) > 100)
    stage.apply(deduplicating(tuning=pinned(2), checkpoint=shared))
    running = f'max(trimtab_executors{{state="running",namespace="{stage.kube.namespace}"}})'
    stage.wait("2 executors run", 180, lambda: stage.metric(running) == 2)
    driver = stage.uid("clicks-driver-0")
    edited = [{"name": "SOMETHING", "value": "new"}]
    stage.apply(deduplicating(tuning=pinned(2), checkpoint=shared, env=edited))
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered(ledger=False)
    assert (result["lost"], result["duplicated"]) == (0, 0)
    assert result["delivered"] == result["produced"] > 1000
    known = stage.metric(rows)
    assert known is not None
    assert known >= result["produced"], "the state was read back after the restart"


@LONG
def test_rows_that_spark_makes_meet_their_goal_without_a_kafka(stage: Stage) -> None:
    """What the chart's canary is; what waits is unknown, and not said to be nothing."""
    stage.forget()
    made = yaml.safe_load((REPO / "examples/95-no-kafka/pipeline.yaml").read_text())
    stage.apply(pipeline(**made["spec"]))
    stage.wait_long(
        "the goal is met", 300, lambda: stage.condition("GoalMet").get("status") == "True"
    )
    own = f'namespace="{stage.kube.namespace}",pipeline="clicks"'
    # the operator reads the driver itself: Prometheus learns of the first rows a scrape later
    rows = f"sum(trimtab_records_total{{{own}}})"
    stage.wait_long("Prometheus knows of rows", 60, lambda: (stage.metric(rows) or 0) > 0)
    assert stage.metric(f"sum(trimtab_lag_records{{{own}}})") is None
    assert "lag" not in stage.status()


@LONG
def test_two_topics_are_joined(stage: Stage) -> None:
    """examples/90-joined-streams: each order with its payment, once."""
    stage.forget()
    folder = REPO / "examples/90-joined-streams"
    topics = yaml.safe_load((folder / "kafka.yaml").read_text())
    topics["metadata"]["name"] = "joins"
    example = yaml.safe_load((folder / "pipeline.yaml").read_text())["spec"]
    shared = {"volumeClaim": {"shared": True, "storageClassName": "shared"}}
    source = {"kafka": {"cluster": "joins", "topics": ["orders", "payments"],
                        "startingOffsets": "earliest"}}  # fmt: skip
    sink = {"kafka": {"cluster": "joins", "topic": "paid-orders"}}
    stage.apply(topics, yaml.safe_load((folder / "transform.yaml").read_text()))
    stage.wait_long("the second Kafka", 240, lambda: stage.kafka_ready("joins"))
    for topic in ("orders", "payments"):
        lines = "".join(f"o{number}:{topic}\n" for number in range(PAIRS))
        tool(stage, "ConsoleProducer", "--topic", topic, "--property", "parse.key=true",
             "--property", "key.separator=:", text=lines)  # fmt: skip
    parts = {"source": source, "sink": sink, "transform": example["transform"]}
    stage.apply(pipeline(**parts, checkpoint=shared, tuning=pinned(2)))
    stage.wait_ready()
    stage.wait_long("all pairs", 240, lambda: joined(stage) >= PAIRS)
    assert joined(stage) == PAIRS
    stage.kube.call("delete", "tkc", "joins")


def tool(stage: Stage, name: str, *arguments: str, text: str | None = None) -> str:
    """One of Kafka's tools in the broker's pod."""
    command = ("kafka", f"org.apache.kafka.tools.{name}", "--bootstrap-server", "localhost:9092")
    stdin = ("-i",) if text else ()
    return stage.kube.call("exec", *stdin, "joins-kafka-0", "--", *command, *arguments, text=text)


def joined(stage: Stage) -> int:
    """Records of the topic of pairs."""
    said = tool(stage, "GetOffsetShell", "--topic", "paid-orders")
    return sum(int(line.rpartition(":")[2]) for line in said.split())
