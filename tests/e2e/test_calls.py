"""A stage that waits for a remote service, end to end: calls in flight are tuned, not executors."""

from __future__ import annotations

import pytest
import yaml
from dev.localcluster.paths import REPO
from tests.e2e.conftest import Stage, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

RATE = 280.0
CALLS = {4, 5, 6}
"""8 ms a call and about a second beside it: at a trigger of 5 s, 3 calls would need 95 % of the
time and 4 calls 76 %, of which at most 80 % are used; 5 or 6 where a busy machine makes it two.
"""


def test_calls_in_flight_go_from_one_to_what_the_load_needs(stage: Stage) -> None:
    example = REPO / "examples/20-remote-calls/transform.yaml"
    stage.apply(*(m for m in yaml.safe_load_all(example.read_text()) if m))
    calls = {
        "module": "prices:transform",
        "configMap": "prices-transform",
        "params": {"wait_ms": "8", "timeout_s": "2"},
    }
    pinned = {"executors": 1, "trigger": "5s", "maxOffsetsPerTrigger": 20_000}
    stage.apply(pipeline(transform={"python": calls}, tuning={"pinned": pinned}))
    stage.wait_ready()
    stage.start_load([(30.0, 25.0), (400.0, RATE)])

    def in_flight() -> int:
        return int((stage.status().get("effective") or {}).get("maxInFlight") or 0)

    def judged() -> bool:
        reasons = [d["reason"] for d in stage.status().get("decisions") or []]
        return "CallsRaised" in reasons[:-1] and stage.condition("GoalMet")["status"] == "True"

    stage.wait("the calls are raised and judged", 300, judged)
    stage.next_step()
    assert in_flight() in CALLS
    reasons = [d["reason"] for d in stage.status()["decisions"]]
    assert reasons.count("CallsRaised") <= 2
    assert "ExecutorsRaised" not in reasons
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
