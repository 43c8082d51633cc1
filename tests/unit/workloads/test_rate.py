"""A pipeline whose source is no Kafka: what its driver is told."""

from __future__ import annotations

import json

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


def identity() -> str:
    return pipeline.checkpoint_identity(reached(RATE))
