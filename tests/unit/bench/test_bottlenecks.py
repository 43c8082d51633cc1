"""The cases of `make demo-bottlenecks`: their objects are valid, their work is there."""

from __future__ import annotations

import pytest
from bench.bottlenecks import __main__ as bottlenecks
from bench.bottlenecks import work
from bench.bottlenecks.cases import CASES, Case, kafka, pipeline

from trimtab.api.kafka import KafkaClusterSpec
from trimtab.api.pipeline import StreamPipelineSpec
from trimtab.api.reasons import BottleneckKind, Reason


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_case_is_a_valid_pipeline_of_a_known_kind(case: Case) -> None:
    spec = StreamPipelineSpec.model_validate(pipeline(case)["spec"])
    topics = {topic.name for topic in KafkaClusterSpec.model_validate(kafka()["spec"]).topics}
    assert {*spec.source.kafka.topics, spec.sink.kafka.topic} <= topics
    assert BottleneckKind(case.kind)
    assert all(Reason(reason) for reason in case.expects)
    assert hasattr(work, case.function)


def test_a_row_says_what_was_named_moved_and_given() -> None:
    outcome = bottlenecks.Outcome(
        "Skew", {"Skew": 7, "Cpu": 1},
        [
            {"action": "Change", "reason": "PartitionsSplit", "time": "1",
             "message": "Skew (60%); load 1.9 at 160 records/s: minPartitions 1 -> 6, predicted"},
            {"action": "Keep", "reason": "TrialKept", "time": "2", "message": "load 1.9 -> 0.6; x"},
        ],
        {"p95": "50s"}, {"p95": "9s"},
    )  # fmt: skip
    row = bottlenecks.table([outcome], "abc").splitlines()[-1]
    assert row == (
        "| Skew | Skew 7, Cpu 1 | PartitionsSplit (minPartitions 1 -> 6) | TrialKept: load 1.9 ->"
        " 0.6 | 50s -> 9s |"
    )
