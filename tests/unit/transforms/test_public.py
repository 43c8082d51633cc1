"""What users' transforms import."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import trimtab.transforms


def test_the_public_package_is_small() -> None:
    assert trimtab.transforms.__all__ == ["pending_map", "try_udf"]
    doc = trimtab.transforms.pending_map.__doc__
    assert doc is not None
    assert "maxInFlight" in doc


@pytest.mark.parametrize(
    ("column", "inputs", "words"),
    [("error", ("value",), "error is the column of what went wrong"), ("amount", (), "at least")],
)
def test_a_function_that_may_raise_needs_inputs_and_a_column_of_its_own(
    column: str, inputs: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        trimtab.transforms.try_udf(Any, float, column, *inputs)  # type: ignore[arg-type]


def test_what_python_workers_load_stays_small() -> None:
    """Every Python worker of an executor loads the stage's module anew."""
    script = "import sys, trimtab.job.pending.stage; print('pydantic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.strip() == "False"
