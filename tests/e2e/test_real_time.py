"""Real-time mode, end to end: a slot for each partition, a goal below a second, exact changes."""

from __future__ import annotations

import pytest
import yaml
from dev.localcluster.paths import REPO
from tests.e2e.conftest import Stage, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

PARTITIONS, CORES = 6, 2


@LONG
def test_a_goal_below_a_second_is_met_and_changes_lose_and_duplicate_nothing(stage: Stage) -> None:
    example = yaml.safe_load((REPO / "examples/96-real-time/pipeline.yaml").read_text())["spec"]
    made = {
        "execution": example["execution"], "transform": example["transform"],
        "goal": {"latency": {"percentile": 95, "target": "900ms"}},
        "tuning": {"mode": "Auto"},
    }  # fmt: skip
    stage.apply(pipeline(**made))
    stage.wait_ready()
    stage.start_load([(900.0, 100.0)])
    stage.wait_effective(executors=PARTITIONS // CORES)
    assert stage.status()["execution"] == "real time"
    stage.wait_long("the goal is met", 240, lambda: stage.condition("GoalMet")["status"] == "True")
    driver = stage.uid("clicks-driver-0")
    pinned = {"mode": "Auto", "pinned": {"trigger": "7s"}}
    stage.apply(pipeline(**made | {"tuning": pinned}))
    stage.wait_effective(trigger="7s")
    assert stage.uid("clicks-driver-0") == driver, "another interval restarts the query alone"
    stage.apply(pipeline(**made | {"tuning": pinned, "execution": "microBatch"}))
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered(ledger=False)  # the transform leaves no trace of offsets
    assert (result["lost"], result["duplicated"]) == (0, 0)
    assert result["delivered"] == result["produced"] > 1_000
    reasons = stage.kube.call("get", "events", "-o", "jsonpath={.items[*].message}")
    assert "6 partitions need a slot each at once" in reasons
