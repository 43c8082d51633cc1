"""The First Rule of dataflow tuning (seed 000): no stage starved, none blocked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import batch, signals

from trimtab.tuning.diagnosis.flow import State, check


def seen(records_waiting: float = 300.0, busy: float | None = 0.7, **parts: Any) -> Any:
    """100 records/s at a trigger of 5 s, whose batches take 2 s."""
    last = batch(records=500, duration_s=2.0, **parts)
    return replace(
        signals(batch=last, input_rate=100.0, input_rate_long=100.0, lag_records=records_waiting),
        executor_capacity=busy,
    )


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({}, State.FLOWING, "nothing waits"),
        ({"busy": 0.1}, State.FLOWING, ""),
        ({"busy": 0.49, "records_waiting": 1501.0}, State.STARVED,
         "1501 records wait at the source, but the slots work 49% of their time"),
        ({"busy": 0.49, "records_waiting": 1499.0}, State.FLOWING, ""),
        ({"busy": 0.51, "records_waiting": 9000.0}, State.FLOWING, ""),
        ({"sink_s": 0.6, "state_s": 0.5}, State.BLOCKED,
         "writing 0.6 s and the commit of state 0.5 s of a batch of 2.0 s"),
        ({"sink_s": 0.6, "state_s": 0.3}, State.FLOWING, ""),
        ({"state_s": 1.2, "busy": 0.1, "records_waiting": 9000.0}, State.BLOCKED, "1.2 s"),
    ],
)  # fmt: skip
def test_each_half_of_the_rule(changes: dict[str, Any], state: State, words: str) -> None:
    found = check(seen(**changes), 5.0)
    assert found is not None
    assert found.state is state
    assert words in found.evidence


def test_what_is_unknown_is_no_verdict() -> None:
    known = seen()
    assert check(replace(known, batch=None), 5.0) is None
    assert check(replace(known, lag_records=None), 5.0) is None
    assert check(replace(known, input_rate=None, input_rate_long=None), 5.0) is None
    assert check(replace(known, executor_capacity=None, slots_busy=None), 5.0) is None
    idle = replace(known, executor_capacity=None, slots_busy=0.2, lag_records=9000.0)
    last_sample = check(idle, 5.0)
    assert last_sample is not None
    assert "the slots work 20% of their time" in last_sample.evidence
