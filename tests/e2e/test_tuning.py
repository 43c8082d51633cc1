"""The main job, end to end: the quickstart holds its goal by itself when the load steps.

At first a policy lets it only recommend, and somebody approves; then the policy goes.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.e2e.conftest import Json, Stage, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

TARGET_S = 15.0
HOLD_S = 20.0


def policy(**spec: Any) -> Json:
    kind = {"apiVersion": "trimtab.dev/v1alpha1", "kind": "TuningPolicy"}
    return kind | {"metadata": {"name": "careful"}, "spec": spec}


# beside other files' pipelines, two cores cannot meet the goal with any settings
@pytest.mark.alone
def test_a_load_step_that_one_executor_cannot_carry_is_met_with_more(stage: Stage) -> None:
    stage.forget()
    source = {"kafka": {"cluster": "events", "topics": ["clicks"], "startingOffsets": "latest"}}
    stage.apply(policy(mode="Recommend"), pipeline(source=source))
    stage.wait_ready()
    home = f'namespace="{stage.kube.namespace}"'
    p95 = f'max(trimtab_batch_record_latency_seconds{{{home},quantile="0.95"}})'
    lag_s = f"max(trimtab_lag_seconds{{{home}}})"
    stage.start_load([(30.0, 25.0), (600.0, 180.0), (400.0, 25.0)])
    met_since = float("inf")

    def executors() -> int:
        return int((stage.status().get("effective") or {}).get("executors", 1))

    def late() -> bool:
        seen = [stage.metric(figure) for figure in (p95, lag_s)]
        return any(value is None or value > TARGET_S for value in seen)

    def raise_was_judged() -> bool:
        """A trial that the next step ends early would teach the wrong capacity."""
        reasons = [d["reason"] for d in stage.status().get("decisions") or []]
        return "ExecutorsRaised" in reasons[:-1]

    def approved() -> bool:
        """Somebody approves each recommendation, until there are more executors."""
        standing = stage.status().get("recommendation")
        if standing:
            stage.kube.call(
                "annotate", "--overwrite", "spl", "clicks",
                f"trimtab.dev/approve={standing['generation']}",
            )  # fmt: skip
        return executors() > 1

    def goal_held_with_more_executors() -> bool:
        nonlocal met_since
        met = executors() > 1 and raise_was_judged() and not late()
        met_since = min(met_since, time.monotonic()) if met else float("inf")
        return time.monotonic() - met_since >= HOLD_S

    stage.wait("executors are recommended, approved and there", 200, approved)
    told = stage.status()
    assert told["policies"] == [
        {"field": "mode", "value": "Recommend", "policy": "TuningPolicy/careful"}
    ]
    assert told["adviceRecord"]["approved"] >= 1
    home_of = f'pipeline_namespace="{stage.kube.namespace}"'
    mode = f'max(trimtab_pipeline_mode_info{{{home_of},mode="Recommend"}})'
    stage.wait("Prometheus has the mode in force", 60, lambda: stage.metric(mode) == 1)
    stage.kube.call("delete", "tuningpolicy", "careful")
    stage.wait("the goal is met and held", 560, goal_held_with_more_executors)
    stage.next_step()
    # One is enough on a quiet machine; where the capacity was measured on a busy one, the bounds
    # allow two. The demo asks for exactly what its run shows.
    stage.wait("executors are released", 380, lambda: executors() <= 2)
    stage.next_step()
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
    reasons = [d["reason"] for d in stage.status()["decisions"]]
    assert "ExecutorsRaised" in reasons
    assert "ExecutorsReleased" in reasons
