"""The first rule in whole runs: kept where the goal is, broken where the plant breaks a half."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.simulation.test_closed_loop import case, plant

from trimtab.simulation.run import simulate
from trimtab.tuning.diagnosis.flow import State, check


def states(**changes: Any) -> Counter[State]:
    """How often each state was seen after five minutes."""
    run = simulate(case(**changes), 1)
    seen = [
        check(tick.signals, tick.after.settings.trigger_s)
        for tick in run.ticks
        if tick.at_s >= 300 and tick.signals is not None
    ]
    return Counter(found.state for found in seen if found is not None)


def test_a_pipeline_that_holds_its_goal_flows() -> None:
    assert set(states()) == {State.FLOWING}


def test_a_limit_that_keeps_records_out_starves_the_slots() -> None:
    """400 records each 2 s, for 300/s that come in: the slots could do four times as much."""
    limit = {"maxOffsetsPerTrigger": 400, "trigger": 2, "executors": 4}
    found = states(plant=plant(), tuning={"pinned": limit}, start=limit)
    assert found.most_common(1)[0][0] is State.STARVED


def test_a_sink_that_takes_most_of_a_batch_blocks() -> None:
    found = states(plant=plant(sink={0: 1.0, 10_000: 6.0}), tuning={"pinned": {"executors": 4}})
    assert found.most_common(1)[0][0] is State.BLOCKED
