"""Before and after a change of executors: what counts as a gain."""

from __future__ import annotations

import pytest
from tests.unit.tuning.test_decision import open_trial

from trimtab.tuning.capacity.load import Load
from trimtab.tuning.regime import Band
from trimtab.tuning.trials.comparison import Comparison, more_capacity

OVER = Load(100.0, 100.0, 100.0, 0.0, 1.3, None, 5.0)
"""Still above the bounds after the change."""


@pytest.mark.parametrize(
    ("times", "put_in", "doubt", "helped"),
    [
        (0.96, 1.1, 0.0, True), (0.9, 1.1, 0.0, False), (0.9, 1.1, 0.15, True),
        (0.7, 1.1, 0.15, False), (1.0, 2.0, 0.0, False), (1.0, 3.0, 0.15, False),
        (0.88, 0.5, 0.15, False),
    ],
)  # fmt: skip
def test_the_more_uneven_batches_are_the_less_a_small_raise_can_be_refuted(
    times: float, put_in: float, doubt: float, *, helped: bool
) -> None:
    """Fewer executors have to carry as much, however uneven batches are."""
    seen = Comparison(open_trial(), OVER, Band(0.85, 0.75), times, put_in, doubt)
    assert more_capacity(seen)[0] is helped


@pytest.mark.parametrize(("slowdown", "helped"), [(1.0, False), (1.5, True)])
def test_the_least_slowdown_of_a_late_batch_refutes_nothing(
    slowdown: float, *, helped: bool
) -> None:
    """By how much the work before it was slower is not known, only by how much at least."""
    trial = open_trial(load_before=1.0, slowdown=slowdown, rate=55.0, rate_before=100.0)
    seen = Comparison(trial, OVER, Band(0.85, 0.75), None, 2.0)
    assert more_capacity(seen)[0] is helped
