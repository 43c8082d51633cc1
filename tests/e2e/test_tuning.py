"""The main job, end to end: the quickstart holds its goal by itself when the load steps."""

from __future__ import annotations

import time

import pytest
from tests.e2e.conftest import Stage, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

TARGET_S = 15.0
HOLD_S = 20.0


# beside other files' pipelines, two cores cannot meet the goal with any settings
@pytest.mark.alone
def test_a_load_step_that_one_executor_cannot_carry_is_met_with_more(stage: Stage) -> None:
    stage.forget()
    source = {"kafka": {"cluster": "events", "topics": ["clicks"], "startingOffsets": "latest"}}
    stage.apply(pipeline(source=source))
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

    def goal_held_with_more_executors() -> bool:
        nonlocal met_since
        met = executors() > 1 and raise_was_judged() and not late()
        met_since = min(met_since, time.monotonic()) if met else float("inf")
        return time.monotonic() - met_since >= HOLD_S

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
