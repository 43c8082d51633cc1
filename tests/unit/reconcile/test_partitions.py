"""Partitions of the topic: asked for in a pipeline's status, made by its KafkaCluster."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, Stage, series
from tests.unit.workloads.manifests import Json, changed, example

from trimtab.api.reasons import Reason

FEW = [{"name": "clicks", "partitions": 2}, {"name": "clicks-out", "partitions": 2}]
ALLOWED = {"executors": {"min": 1, "max": 8}, "topicPartitions": 32}


def stage(limits: Json | None = None, topics: list[Json] | None = None) -> Stage:
    """Two executors at work on two partitions, with far more coming in."""
    made = Stage()
    made.cluster.put(changed(example("kafka"), "topics", FEW if topics is None else topics))
    initial = {"executors": 2, "trigger": "5s", "maxOffsetsPerTrigger": 2500}
    made.put_pipeline(
        "clicks", limits=ALLOWED if limits is None else limits,
        tuning={"initial": initial, "dwell": {"up": 2, "down": 6}},
    )  # fmt: skip
    made.tick()
    jobs_done(made)
    made.running()
    return made


def jobs_done(made: Stage) -> None:
    for key, found in list(made.cluster.objects.items()):
        if key[0] == "Job" and not found.get("status"):
            made.cluster.put(found | {"status": {"succeeded": 1}})


def overload(made: Stage, batch: int, **values: Any) -> None:
    made.overload(batch, **({"partitions": 2.0, "executors": 2.0, "batch_executors_min": 2,
                             "batch_duration_seconds": 12.0} | values))  # fmt: skip
    made.tick()


def until_asked(made: Stage) -> int:
    for batch in range(20, 30):
        overload(made, batch)
        wish = made.status()["controller"]["settings"].get("topic_partitions")
        if wish:
            return int(wish)
    raise AssertionError(made.condition("Tuning"))


def job(made: Stage) -> list[str]:
    """What the one topics Job is told to make."""
    (found,) = [o for k, o in made.cluster.objects.items() if k[0] == "Job"]
    arguments: list[str] = found["spec"]["template"]["spec"]["containers"][0]["args"]
    return arguments[2:]


def kafka(made: Stage) -> Json:
    return made.get("KafkaCluster", "events")


def test_what_is_asked_is_made_by_the_cluster_and_no_spec_is_touched() -> None:
    made = stage()
    specs = copy.deepcopy((kafka(made)["spec"], made.get("StreamPipeline", "clicks")["spec"]))
    wish = until_asked(made)
    assert made.status()["decisions"][-1]["reason"] == Reason.PARTITIONS_RAISED
    assert "topicPartitions" not in made.document()["settings"]
    overload(made, 40)
    assert job(made) == [f"clicks:{wish}::1", "clicks-out:2::1"]
    assert kafka(made)["status"].get("raised", []) == [], "not before it is done"
    jobs_done(made)
    overload(made, 41)
    assert kafka(made)["status"]["raised"] == [{"name": "clicks", "partitions": wish}]
    told = [e for e in made.cluster.events if e[0] == "PartitionsRaised"]
    assert len(told) == 2, "the pipeline's decision and the cluster's deed"
    assert (kafka(made)["spec"], made.get("StreamPipeline", "clicks")["spec"]) == specs
    made.tick()
    assert all(key[0] != "KafkaCluster" for _, key in made.cluster.writes)


def test_a_raised_topic_outlives_the_pipeline_that_asked() -> None:
    made = stage()
    wish = until_asked(made)
    made.tick()
    jobs_done(made)
    made.tick()
    del made.cluster.objects["StreamPipeline", NAMESPACE, "clicks"]
    made.start_operator()
    made.tick()
    made.tick()
    assert job(made) == [f"clicks:{wish}::1", "clicks-out:2::1"]
    assert kafka(made)["status"]["raised"] == [{"name": "clicks", "partitions": wish}]


def test_a_limit_that_was_lowered_bounds_what_is_asked() -> None:
    made = stage()
    until_asked(made)
    made.edit("limits.topicPartitions", 3)
    made.tick()
    assert job(made)[0] == "clicks:3::1"


def test_without_leave_it_is_advice_told_once() -> None:
    made = stage({"executors": {"min": 1, "max": 8}})
    for batch in range(20, 26):
        overload(made, batch)
    advice = made.status()["partitionsAdvice"]
    assert advice["partitions"] >= 8
    assert "allow it by limits.topicPartitions" in advice["reason"]
    assert len([e for e in made.cluster.events if e[0] == "PartitionsAdvice"]) == 1
    assert job(made)[0] == "clicks:2::1"
    made.see(series("clicks", made.clock.now_s + 10, batch_id=50, partitions=32.0))
    made.tick()
    assert made.status().get("partitionsAdvice") is None, "there are as many now"


@pytest.mark.parametrize(
    ("topics", "reader", "words"),
    [
        ([{"name": "clicks-out"}], None, "does not list the topic 'clicks'"),
        (None, {}, "StreamPipeline 'other' reads 'clicks' too, without limits.topicPartitions"),
        (None, {"topicPartitions": 8}, "'other' reads 'clicks' too, and keeps state"),
        (None, {"pattern": "click."}, "'other' reads 'clicks' too, without limits.topicPartitions"),
    ],
)
def test_what_forbids_it(topics: list[Json] | None, reader: Json | None, words: str) -> None:
    made = stage(topics=topics)
    if reader is not None:
        limits = dict(reader)
        by = limits.pop("pattern", None)
        named = {"topicPattern": by} if by else {"topics": ["clicks"]}
        made.put_pipeline(
            "other", limits={"executors": {"min": 1, "max": 1}} | limits,
            source={"kafka": {"cluster": "events"} | named},
        )  # fmt: skip
        made.running("other")
    for batch in range(20, 26):
        made.overload(
            batch, partitions=2.0, executors=2.0, batch_executors_min=2,
            batch_duration_seconds=12.0,
        )  # fmt: skip
        answers = made.metrics.answers
        made.see(series("other", made.clock.now_s + 10, state_rows=5.0))
        made.metrics.answers = {
            q: [*answers.get(q, ()), *made.metrics.answers.get(q, ())] for q in answers
        }
        made.tick()
    assert "topic_partitions" not in made.status()["controller"]["settings"]
    tuning = next(c for c in made.status()["conditions"] if c["type"] == "Tuning")
    assert tuning["reason"] == Reason.TOPIC_FIXED
    assert words in tuning["message"]
