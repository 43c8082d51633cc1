"""What users' transforms import."""

from __future__ import annotations

import subprocess
import sys

import trimtab.transforms


def test_the_public_package_is_small() -> None:
    assert trimtab.transforms.__all__ == ["pending_map"]
    doc = trimtab.transforms.pending_map.__doc__
    assert doc is not None
    assert "maxInFlight" in doc


def test_what_python_workers_load_stays_small() -> None:
    """Every Python worker of an executor loads the stage's module anew."""
    script = "import sys, trimtab.job.pending.stage; print('pydantic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.strip() == "False"
