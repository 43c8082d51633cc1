"""Storm's table of load and capacity (seed 002)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import signals

from trimtab.tuning.diagnosis.executors import executor_case


@pytest.mark.parametrize(
    ("load", "capacity", "spread", "name"),
    [
        (0.9, 0.9, (0.9, 0.95), "LoadHighCapacityHigh"),
        (0.9, 0.1, (0.1, 0.1), "LoadHighCapacityLow"),
        (0.1, 0.9, (0.9, 0.9), "LoadLowCapacityHigh"),
        (0.1, 0.1, (0.1, 0.1), "LoadLowCapacityLow"),
        (0.5, 0.5, (0.0, 1.0), "CapacityUneven"),
        (0.5, 0.5, None, "LoadHighCapacityHigh"),
    ],
)
def test_each_case_has_its_name_and_advice(
    load: float, capacity: float, spread: tuple[float, float] | None, name: str
) -> None:
    seen = replace(
        signals(), executor_load=load, executor_capacity=capacity, capacity_spread=spread
    )
    found = executor_case(seen)
    assert found is not None
    assert found.name == name
    assert found.advice


def test_a_measure_that_is_not_known_gives_no_case() -> None:
    assert executor_case(replace(signals(), executor_load=0.5)) is None
