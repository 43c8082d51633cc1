"""What a latency goal is held against: never the last batch alone."""

from __future__ import annotations

import pytest
from tests.unit.reconcile.stage import Stage, series

from trimtab.tuning.snapshot import Batch, Signals, observed_latency

BATCH = Batch(
    run=1, id=5, committed_at_s=100.0, records=250, duration_s=2.0, overhead_s=0.1,
    settings_generation=1, executors_min=1, latency_s=3.0,
)  # fmt: skip


def signals(**seen: float | Batch | None) -> Signals:
    known = {"sampled_at_s": 110.0, "settings_generation": 1, "rejected_generation": 0}
    return Signals(**{**known, "batch": BATCH, **seen})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "seconds", "words"),
    [
        ({}, 3.0, "p95 3.0 s"),
        ({"running_s": 2.0, "running_records": 9, "lag_s": 2.0}, 3.0, "p95 3.0 s"),
        ({"running_s": 7200.0, "running_records": 9}, 7200.0, "running batch has taken 7200 s"),
        ({"running_s": 7200.0, "lag_records": 9e6}, 7200.0, "running batch has taken 7200 s"),
        ({"lag_s": 100.0}, 95.0, "records wait for up to 100.0 s, p95 95.0 s"),
        ({"batch": None, "running_s": 60.0, "running_records": 9}, 60.0, "has taken 60 s"),
    ],
)
def test_the_largest_counts_and_says_what_it_is(
    seen: dict[str, float | None], seconds: float, words: str
) -> None:
    found = observed_latency(signals(**seen), 0.95)
    assert found is not None
    assert found.seconds == pytest.approx(seconds)
    assert words in found.words


def test_unknown_is_not_zero() -> None:
    assert observed_latency(signals(batch=None), 0.95) is None
    assert observed_latency(signals(batch=None, running_s=9.0), 0.95) is None


def test_a_batch_that_hangs_breaks_the_goal() -> None:
    stage = Stage.at_rest()
    assert stage.condition("GoalMet") == ("True", "GoalMet")
    hangs = {"batch_running_seconds": 7200.0, "batch_running_records": 250.0, "lag_records": 9e6}
    stage.see(series("clicks", stage.clock.now_s + 10, **hangs))
    stage.tick()
    assert stage.condition("GoalMet") == ("False", "LatencyAboveTarget")
    assert stage.status()["goal"]["observed"] == "2h"
