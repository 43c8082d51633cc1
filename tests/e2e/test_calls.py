"""A stage that waits for a remote service, end to end: calls in flight are tuned, not executors."""

from __future__ import annotations

import math

import pytest
import yaml
from dev.localcluster.paths import REPO
from tests.e2e.conftest import Stage, pipeline
from tests.long import LONG

from trimtab.tuning.controller_state import ControllerState

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

RATE, CALL_S, TRIGGER_S, USED = 280.0, 0.008, 5.0, 0.8
SLOTS = 2
"""Of the quickstart's executor; each of them has as many calls in flight as `maxInFlight` says."""

JITTER = 1.1
"""The rate that comes in over the one that is sent, at most, from sample to sample."""


def fewest(rate: float, call_s: float, beside_s: float) -> int:
    """Calls per slot that carry the load in the part of the trigger that is used for them."""
    return math.ceil(rate * call_s / USED / (1 - min(beside_s / TRIGGER_S, 0.9)) / SLOTS)


@LONG
def test_calls_in_flight_go_from_one_to_what_the_load_needs(stage: Stage) -> None:
    example = REPO / "examples/20-remote-calls/transform.yaml"
    stage.apply(*(m for m in yaml.safe_load_all(example.read_text()) if m))
    calls = {
        "module": "prices:transform",
        "configMap": "prices-transform",
        "params": {"wait_ms": f"{CALL_S * 1000:.0f}", "timeout_s": "2"},
    }
    pinned = {"executors": 1, "trigger": f"{TRIGGER_S:.0f}s", "maxOffsetsPerTrigger": 20_000}
    stage.apply(pipeline(transform={"python": calls}, tuning={"pinned": pinned}))
    stage.wait_ready()
    stage.start_load([(30.0, 25.0), (400.0, RATE)])

    def in_flight() -> int:
        return int((stage.status().get("effective") or {}).get("maxInFlight") or 0)

    least = fewest(RATE, CALL_S, beside_s=0.0)

    def judged() -> bool:
        # a raise on the first, smaller batches of the new load may be too small for the next ones
        reasons = [d["reason"] for d in stage.status().get("decisions") or []]
        enough = "CallsRaised" in reasons[:-1] and in_flight() >= least
        return enough and stage.condition("GoalMet")["status"] == "True"

    stage.wait("the calls are raised and judged", 300, judged)
    stage.next_step()
    taught = ControllerState.from_dict(stage.status()["controller"]).points
    one = [p for p in taught if p.in_flight == 1]
    call_s, beside_s = max(p.call_s for p in one), max(p.duration_s - p.waiting for p in one)
    most = fewest(JITTER * RATE, call_s, beside_s)
    assert least <= in_flight() <= most, f"{beside_s:.1f} s of a batch were beside its calls"
    reasons = [d["reason"] for d in stage.status()["decisions"]]
    assert reasons.count("CallsRaised") <= 2
    assert "ExecutorsRaised" not in reasons
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
