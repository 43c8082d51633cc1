"""What the status says of how the query runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.stage import Stage, series

BATCHES = "micro-batches: the transform keeps state or runs Python; the driver's log has more"


def said(*samples: dict[str, Any]) -> str | None:
    """`status.execution` after these samples of the driver, one tick each."""
    stage = Stage()
    stage.put_pipeline(
        "clicks", execution="auto", goal={"latency": {"target": "900ms"}},
        transform={"sql": "SELECT key, value FROM source"},
    )  # fmt: skip
    stage.running()
    for number, each in enumerate(samples):
        stage.see(series("clicks", stage.clock.now_s + 10, batch_id=5 + number, **each))
        stage.tick()
    found: str | None = stage.status().get("execution")
    return found


@pytest.mark.parametrize(
    ("samples", "execution"),
    [
        ([{}], None),
        ([{"real_time": 1}], "real time"),
        ([{"real_time": 0}], BATCHES),
        ([{"real_time": 1}, {}], "real time"),
    ],
    ids=["before the first start", "real time", "batches", "between two starts"],
)
def test_what_the_driver_has_not_said_is_not_guessed(
    samples: list[dict[str, Any]], execution: str | None
) -> None:
    assert said(*samples) == execution
