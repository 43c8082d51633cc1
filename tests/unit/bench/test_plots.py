"""The picture of a workload says its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")
from bench.plots import picture, title
from bench.runs import Trace


def row(label: str, late_s: float, core_hours: float) -> dict[str, Any]:
    return {
        "workload": "step", "label": label, "slo_violation_s": late_s, "core_hours": core_hours,
        "oracle_h1_core_hours": 10.0,
    }  # fmt: skip


ROWS = [row("keda", 100, 13), row("trimtab as shipped", 4, 12), row("trimtab as shipped", 8, 14)]


def test_the_title_has_the_means_over_the_seeds_of_those_in_colour() -> None:
    assert title("step", [*ROWS, row("spark", 1, 30)]) == (
        "step\nseconds above the goal at core-hours / least: trimtab as shipped 6 s at 1.30,"
        " keda 100 s at 1.30"
    )
    assert title("other", ROWS) == "other"


def test_a_picture_is_made_whoever_ran(tmp_path: Path) -> None:
    for labels in (["trimtab as shipped", "keda", "spark"], ["spark"]):
        traces = [Trace(label, [0, 10], [1, 2], [3, 4], [0, 5], [1, 2]) for label in labels]
        picture(tmp_path / "step.png", "step", traces, ROWS)
        assert (tmp_path / "step.png").stat().st_size > 10_000
        (tmp_path / "step.png").unlink()
