"""Policies in the closed loop: what they allow is done, what they forbid is not."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.simulation.plants import scenario
from tests.unit.tuning.governance.policies import namespaced

from trimtab.api.v1alpha1.limits import Limits
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.shapes import Load
from trimtab.tuning.governance.rules import rules

MIDNIGHT_S = datetime(2026, 11, 25, tzinfo=UTC).timestamp()
HOUR_S = 3600.0
WAVES = scenario(
    name="waves", duration=1800, tick=10, partitions=12, load={"step": [[0, 60], [300, 405]]},
    plant={"capacity": {1: 100, 12: 1200}, "waves": True, "batch": {"fixed_s": 0.3}},
    limits={"executors": {"min": 1, "max": 12}},
    start={"executors": 1, "trigger": 5},
)  # fmt: skip
"""Twelve tasks take three waves on five executors, two on six: 405/s need six."""


def governed(*, began_s: float = MIDNIGHT_S, seed: int = 1, **spec: Any) -> Run:
    above = rules([namespaced(**spec)]) if spec else rules([])
    return simulate(WAVES, seed, rules=above, began_s=began_s)


def executors(run: Run) -> list[int]:
    """The number of executors after each tick."""
    return [tick.after.settings.executors for tick in run.ticks]


def reasons(run: Run) -> set[str]:
    return {str(told.reason) for tick in run.ticks for told in tick.decision.told}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_small_steps_get_over_executors_that_add_nothing_by_themselves(seed: int) -> None:
    """Five executors carry no more than four; a policy that allows one at a time is no trap."""
    full = WAVES.model_copy(update={
        "load": Load.model_validate({"step": [[0, 200], [300, 375]]}),
        "start": WAVES.start.model_copy(update={"executors": 4}),
        "limits": Limits.model_validate({"executors": {"min": 4, "max": 12}}),
    })  # fmt: skip
    one = rules([namespaced(knobs={"executors": {"maxStep": 1}})])
    free, stepped = simulate(full, seed), simulate(full, seed, rules=one)
    assert executors(free)[-1] == executors(stepped)[-1] == 6
    ways = executors(stepped)
    assert max(b - a for a, b in itertools.pairwise(ways)) == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_range_is_never_left(seed: int) -> None:
    run = governed(seed=seed, knobs={"executors": {"min": 2, "max": 4}, "trigger": {"max": "3s"}})
    assert set(executors(run)[1:]) <= {2, 3, 4}
    assert all(tick.after.settings.trigger_s <= 3.0 for tick in run.ticks)


def test_a_locked_knob_does_not_move() -> None:
    run = governed(knobs={"executors": {"locked": True}})
    assert set(executors(run)) == {1}
    assert "Locked" in reasons(run)


NIGHT = {"windows": [{"start": "0 22 * * *", "duration": "2h"}]}


@pytest.mark.parametrize(
    ("began_s", "more"), [(MIDNIGHT_S - 1.5 * HOUR_S, True), (MIDNIGHT_S + HOUR_S, False)]
)
def test_changes_wait_for_their_window(began_s: float, more: bool) -> None:
    run = governed(began_s=began_s, **NIGHT)
    assert (max(executors(run)) > 1) is more
    assert ("WindowClosed" in reasons(run)) is not more


def test_when_the_window_opens_what_waited_is_done() -> None:
    run = governed(began_s=MIDNIGHT_S - 2 * HOUR_S - 900, **NIGHT)
    moved = [tick.at_s for tick in run.ticks if tick.after.settings.executors > 1]
    assert 900 <= moved[0] < 1000


def test_outside_a_window_a_pipeline_may_be_let_raise_but_not_release() -> None:
    run = governed(**NIGHT, outsideWindows="Raises", began_s=MIDNIGHT_S + HOUR_S)
    assert executors(run)[-1] == 12
    assert "ExecutorsReleased" not in reasons(run)
    assert "ExecutorsReleased" in reasons(governed())


def test_only_so_many_pauses_an_hour() -> None:
    paused = [
        tick.at_s
        for tick in governed(pausesPerHour=1).ticks
        if len(tick.after.paused_at_s) > len(tick.before.paused_at_s)
    ]
    assert len(paused) <= 1
    assert "ExecutorsRaised" in reasons(governed(pausesPerHour=0))


def test_policies_that_contradict_each_other_change_nothing() -> None:
    fighting = rules([
        namespaced("one", defaults={"catchUp": "60s"}),
        namespaced("other", defaults={"catchUp": "2m"}),
    ])  # fmt: skip
    run = simulate(WAVES, 1, rules=fighting)
    assert set(executors(run)) == {1}
    assert reasons(run) == {"PolicyConflict"}
