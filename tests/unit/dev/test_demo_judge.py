"""The demo's verdict: it must fail for each thing that it promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dev.demo.judge import Phase, Verdict, allowed, judge, phases
from dev.demo.watch import Sample

from trimtab.tuning.capacity.model import Model

PLAN = [Phase(0, 60, 25), Phase(60, 210, 280)]
DECISIONS = [
    {"t": 30.0, "action": "Change", "reason": "TriggerShortened"},
    {"t": 50.0, "action": "Keep", "reason": "TrialKept"},
    {"t": 75.0, "action": "Change", "reason": "ExecutorsRaised"},
]
GOOD = {"produced": 10, "delivered": 10, "lost": 0, "duplicated": 0}


def sample(t: float, batch: int, **changes: Any) -> Sample:
    rate = 25.0 if t < 60 else 280.0
    executors = 1 if t < 90 else 4
    records = rate * 5
    base = Sample(
        t=t, load=rate, lag=100.0, lag_s=1.0, p95=30.0 if 80 <= t < 150 else 6.0, regime="Within",
        bottleneck="None", executors=executors, running=executors, trigger=5.0, batch=batch,
        records=records, duration=0.1 + (1.0 + 0.008 * records) / executors,
        executors_min=executors, reason="WithinBounds", decisions=(), pauses={}, changes={},
    )  # fmt: skip
    return replace(base, **changes)


def run(**changes: Any) -> list[Sample]:
    return [replace(sample(5.0 * i, i), **changes) for i in range(42)]


def verdict(samples: list[Sample], delivery: dict[str, int] = GOOD, **kwargs: Any) -> Verdict:
    return judge(samples, PLAN, kwargs.get("decisions", DECISIONS), delivery, 15.0)


def test_a_good_run_passes() -> None:
    seen = verdict(run())
    assert seen.faults == []
    assert seen.phases[1].allowed == [4, 5]
    assert (seen.phases[1].detect_s, seen.phases[1].recover_s) == (15.0, 85.0)


@pytest.mark.parametrize(
    ("samples", "delivery", "words"),
    [
        (run(p95=6.0), GOOD, "never broken"),
        (run(p95=20.0), GOOD, "not held"),
        (run(p95=None), GOOD, "not held"),
        (run(executors=1), GOOD, "allowed are"),
        (run(), GOOD | {"lost": 1}, "1 records were lost"),
        (run(), GOOD | {"duplicated": 2}, "2 records came twice"),
    ],
)
def test_each_broken_promise_is_a_fault(
    samples: list[Sample], delivery: dict[str, int], words: str
) -> None:
    assert words in " ".join(verdict(samples, delivery).faults)


def test_where_none_holds_the_bound_those_are_allowed_that_carry_the_most() -> None:
    """Twelve tasks take three waves on four executors and on five."""
    model = Model(out_s=0.0, fixed=0.0, per_record=((4, 0.01),), tasks=12, waves=True)
    assert allowed(model, 300, 5.0, 5, (0.5, 0.8)) == [4, 5]
    assert allowed(model, 390, 5.0, 5, (0.5, 0.8)) == [4, 5]
    assert allowed(model, 390, 5.0, 6, (0.5, 0.8)) == [6]


def test_without_a_kept_trigger_it_fails() -> None:
    assert "no change of the trigger was kept" in verdict(run(), decisions=[]).faults


def test_the_schedule_becomes_phases() -> None:
    assert phases([(60, 25), (150, 280)]) == PLAN
