"""The demo's verdict: it must fail for each thing that it promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dev.demo.deploy import EXAMPLE
from dev.demo.drive import HIGH, LOW
from dev.demo.judge import Capacity, Phase, Verdict, judge, late, measured_capacity
from dev.demo.watch import Sample
from dev.demo.work import known_work
from tests.unit.dev.demo_run import DECISIONS, GOOD, PLAN, WORK, run

from trimtab.tuning.capacity.model import Model


def verdict(
    samples: list[Sample], delivery: dict[str, int] = GOOD, *,
    decisions: list[dict[str, Any]] | None = None, plan: list[Phase] = PLAN,
) -> Verdict:  # fmt: skip
    told = DECISIONS if decisions is None else decisions
    return judge(samples, plan, told, delivery, WORK)


def test_a_good_run_passes() -> None:
    seen = verdict(run())
    assert seen.faults == []
    assert seen.phases[1].allowed == [3]
    assert (seen.phases[1].detect_s, seen.phases[1].recover_s) == (15.0, 85.0)


@pytest.mark.parametrize(
    ("samples", "delivery", "words"),
    [
        (run(p95=20.0), GOOD, "not held"),
        (run(p95=None, lag_s=None), GOOD, "not held"),
        (run(lag_s=20.0), GOOD, "not held"),
        (run(executors=1), GOOD, "allowed are"),
        (run(), GOOD | {"lost": 1}, "1 records were lost"),
        (run(), GOOD | {"duplicated": 2}, "2 records came twice"),
    ],
)
def test_each_broken_promise_is_a_fault(
    samples: list[Sample], delivery: dict[str, int], words: str
) -> None:
    assert words in " ".join(verdict(samples, delivery).faults)


def test_a_run_that_stays_at_one_executor_fails_though_its_own_figures_say_one_is_enough() -> None:
    """Batches far larger and faster than the work allows, as a wrong fit would have them."""
    samples = [replace(s, p95=6.0) for s in run(executors=1, running=1, executors_min=1)]
    samples = [replace(s, records=10 * s.t + 100, duration=1.0 + 0.001 * s.t) for s in samples]
    capacity = measured_capacity(samples, WORK)
    assert capacity.model
    assert capacity.model.sustainable(2, 5.0) > 1_000, "the figures alone would let it pass"
    assert "phase 1 (180/s): 1 executors, allowed are [3]" in verdict(samples).faults


def test_a_goal_that_was_never_broken_passes_where_the_load_was_too_much_for_what_ran() -> None:
    assert verdict(run(p95=6.0)).faults == []


def test_a_step_that_what_ran_could_carry_proves_nothing() -> None:
    """Three executors all the time carry 180/s."""
    faults = verdict(run(p95=6.0, executors=3, running=3, executors_min=3)).faults
    assert any("nothing was proved" in fault for fault in faults)


BACK = [Phase(0, 60, 25, recent_peak=180), Phase(60, 210, 180, recent_peak=180)]
"""A peak that has been there shortly before, and comes back."""


def test_a_peak_that_comes_back_soon_must_find_its_executors() -> None:
    three = run(p95=6.0, executors=3, running=3, executors_min=3)
    assert verdict(three, plan=BACK).faults == []
    faults = verdict(run(p95=6.0), plan=BACK).faults
    assert "phase 0 (25/s): 1 executors, allowed are [3]" in faults


def test_a_peak_that_comes_back_soon_must_not_break_the_goal() -> None:
    seen = run(executors=3, running=3, executors_min=3)
    assert any("had been there before" in fault for fault in verdict(seen, plan=BACK).faults)


def test_the_example_needs_more_than_one_executor_and_most_of_what_it_may_have() -> None:
    """By the known work alone; each executor more carries clearly more."""
    work = known_work(EXAMPLE)
    capacity = Capacity(work, None, 5.0)
    assert capacity.allowed(LOW) == [1]
    assert capacity.allowed(HIGH) == [3]
    assert [work.ceiling(p) for p in (1, 2, 3)] == [125.0, 187.5, 375.0]


def test_the_batch_limit_of_the_example_lets_in_what_its_executors_carry() -> None:
    """At the trigger of 5 s that the law finds; at the first one of 10 s more than the load."""
    text = (EXAMPLE / "pipeline.yaml").read_text()
    assert "trigger: 10s, maxOffsetsPerTrigger: 2500" in text
    work = known_work(EXAMPLE)
    assert work.ceiling(work.most) < 2500 / 5
    assert 1.3 * HIGH < 2500 / 10


def test_where_none_holds_the_bound_those_are_allowed_that_carry_the_most() -> None:
    """Six tasks take two waves on two executors and one on three."""
    model = Model(out_s=0.0, fixed=0.0, per_record=((6, 0.02),), tasks=6, waves=True)
    capacity = Capacity(WORK, model, 5.0)
    assert capacity.allowed(290) == [3]
    assert capacity.allowed(110) == [2, 3]
    assert capacity.fewest(110) == 2
    assert capacity.fewest(1_000) == 3


def test_without_a_kept_trigger_it_fails() -> None:
    assert "no change of the trigger was kept" in verdict(run(), decisions=[]).faults


def test_a_trial_of_the_trigger_that_ended_because_the_load_changed_proves_nothing() -> None:
    told = [d | {"t": 65.0} if d["action"] == "Keep" else d for d in DECISIONS]
    assert "no change of the trigger was kept" in verdict(run(), decisions=told).faults


@pytest.mark.parametrize(
    ("p95", "lag_s", "expected"),
    [(6.0, 1.0, False), (16.0, 1.0, True), (6.0, 16.0, True), (None, 1.0, False),
     (None, 16.0, True), (None, None, None)],
)  # fmt: skip
def test_late_by_the_last_batch_or_by_what_waits(
    p95: float | None, lag_s: float | None, expected: bool | None
) -> None:
    assert late(replace(run()[0], p95=p95, lag_s=lag_s), 15.0) is expected
