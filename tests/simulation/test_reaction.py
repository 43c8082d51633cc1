"""The reaction time that `trimtab explain` states is the one that the loop keeps."""

from __future__ import annotations

import pytest

from trimtab.cli.reaction import Pace
from trimtab.simulation.run import simulate
from trimtab.simulation.scenario import Scenario

STEP_S = 400.0
OFFSETS_S = (0.0, 1.0, 4.5, 9.9, 13.0, 21.0)
"""When the load steps, relative to samples and ticks."""


def decided_after(pace: Pace, up: int, down: int, loads: tuple[int, int], offset_s: float) -> float:
    """Seconds from a step of the load to the first change of settings."""
    step_s = STEP_S + offset_s
    scenario = Scenario.model_validate({
        "name": "step", "duration": STEP_S + 400, "tick": pace.tick_s, "partitions": 16,
        "load": {"step": [[0, loads[0]], [step_s, loads[1]]]},
        "plant": {
            "capacity": {p: 200.0 * p for p in range(1, 11)}, "batch": {"fixed_s": 0.3},
            "metrics": {"scrape_s": pace.scrape_s},
        },
        "goal": {"latency": {"target": 10 * pace.trigger_s, "catchUp": 600}},
        "limits": {"executors": {"min": 1, "max": 10}},
        "tuning": {"bounds": {"higher": 0.8, "lower": 0.5}, "dwell": {"up": up, "down": down}},
        "start": {"executors": 3, "trigger": pace.trigger_s, "maxOffsetsPerTrigger": 50_000},
    })  # fmt: skip
    changes = [tick.at_s for tick in simulate(scenario, 1).changes]
    assert [at for at in changes if STEP_S / 2 < at < step_s] == [], "it was at rest before"
    return next(at for at in changes if at >= step_s) - step_s


@pytest.mark.parametrize(
    ("scrape_s", "tick_s", "up"),
    [(5.0, 10.0, 2), (5.0, 10.0, 4), (15.0, 10.0, 2), (5.0, 30.0, 2), (30.0, 10.0, 1)],
)
def test_a_step_up_is_answered_in_time(scrape_s: float, tick_s: float, up: int) -> None:
    pace = Pace(scrape_s, tick_s, 2.0)
    taken = [decided_after(pace, up, 4, (300, 900), offset_s) for offset_s in OFFSETS_S]
    assert pace.raising_s(up) / 2 < max(taken) <= pace.raising_s(up)


@pytest.mark.parametrize(("trigger_s", "down"), [(2.0, 4), (2.0, 8), (20.0, 4)])
def test_a_fall_is_not_answered_before(trigger_s: float, down: int) -> None:
    pace = Pace(5.0, 10.0, trigger_s)
    taken = [decided_after(pace, 2, down, (450, 100), offset_s) for offset_s in OFFSETS_S]
    assert pace.releasing_s(down) <= min(taken) < 2 * pace.releasing_s(down) + 60
