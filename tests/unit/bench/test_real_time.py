"""The bench of real-time mode: its manifests, and the page that it writes."""

from __future__ import annotations

from typing import Any

import pytest

from bench import real_time
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec


@pytest.mark.parametrize("contender", real_time.CONTENDERS)
def test_each_contender_is_a_pipeline_that_is_taken(contender: str) -> None:
    spec = StreamPipelineSpec.model_validate(real_time.pipeline(contender, 1)["spec"])
    assert (spec.wants == "realTime") is contender.startswith("real time")
    topics = KafkaClusterSpec.model_validate(real_time.kafka()["spec"]).topics
    assert {"clicks-1", "alerts-1"} <= {topic.name for topic in topics}


def run(contender: str, p95_ms: int) -> dict[str, Any]:
    return {
        "contender": contender, "p50_ms": 9, "p95_ms": p95_ms, "p99_ms": 400, "p100_ms": 1500,
        "windows": [[90, 20], [100, 310]], "effective": {"trigger": "10s", "executors": 2},
        "decisions": ["ExecutorsRaised: more slots"],
    }  # fmt: skip


@pytest.mark.parametrize(("p95_ms", "verdict"), [(200, "met"), (201, "**missed**")])
def test_the_page_says_whether_the_target_is_met(p95_ms: int, verdict: str) -> None:
    text = real_time.page([run("real time", p95_ms)], "abc")
    assert f"| real time | 9 ms | {p95_ms} ms | 400 ms | 1,500 ms | 20, 310 ms | 10s | 2 |" in text
    assert f"200 ms was wanted of real time: {verdict}." in text
    assert "- ExecutorsRaised: more slots" in text
