"""A pipeline whose source is no Kafka: what its driver is told."""

from __future__ import annotations

import json

import pytest
from tests.unit.workloads.manifests import changed, example, inputs, pipeline_children, reached

from trimtab.api.contract import Job, SourceOptions
from trimtab.workloads import pipeline

KAFKA = changed(example("pipeline"), "sink", {"noop": {}})
RATE = changed(KAFKA, "source", {"rate": {"rowsPerSecond": 9}})


def test_only_a_driver_that_knows_the_source_runs_it() -> None:
    document = pipeline_children(RATE)["ConfigMap"]["data"]["job.json"]
    told = json.loads(document)
    assert told["schema"] == 2
    assert told["source"] == {"kind": "rate", "rowsPerSecond": 9, "partitions": 1}
    assert Job.from_json(document).secret_keys == ()
    assert pipeline.source_options(reached(RATE)) == SourceOptions()


def test_another_rate_restarts_the_driver_and_keeps_the_checkpoint() -> None:
    for path, value in (("source.rate.partitions", 2), ("source.rate.rowsPerSecond", 10)):
        edited = changed(RATE, path, value)
        assert inputs(edited) != inputs(RATE)
        assert pipeline.checkpoint_identity(reached(edited)) == identity()


def test_another_kind_of_source_needs_a_new_checkpoint() -> None:
    assert pipeline.checkpoint_identity(reached(KAFKA)) != identity()


@pytest.mark.parametrize("path", ["source.delta.uri", "source.delta.timeColumn"])
def test_another_table_needs_a_new_checkpoint_and_another_column_does_not(path: str) -> None:
    lake = {"uri": "s3a://lake/orders", "timeColumn": "changed"}
    first = changed(KAFKA, "source", {"delta": lake})
    other = changed(first, path, "s3a://lake/others")
    told = json.loads(pipeline_children(first)["ConfigMap"]["data"]["job.json"])
    assert (told["schema"], told["source"]) == (2, lake | {"kind": "delta"})
    assert inputs(first) != inputs(other)
    before, after = (pipeline.checkpoint_identity(reached(each)) for each in (first, other))
    assert (before == after) == (path != "source.delta.uri")


def identity() -> str:
    return pipeline.checkpoint_identity(reached(RATE))
