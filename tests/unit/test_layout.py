"""The layout of the sources: what would break imports or grow out of hand."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 300
MAX_FUNCTION = 50


def test_operator_is_a_source_root_and_no_package() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()
    assert [p.name for p in (ROOT / "operator").glob("*.py")] == []


@pytest.mark.parametrize("paths", [".", "operator", f".{os.pathsep}operator"])
def test_the_operator_module_of_python_wins(paths: str) -> None:
    search = os.pathsep.join(str(ROOT / p) for p in paths.split(os.pathsep))
    script = "import importlib.machinery as m; print(m.PathFinder.find_spec('operator').origin)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": search}, cwd=ROOT, capture_output=True, text=True,
        check=True, timeout=30,
    )  # fmt: skip
    found = Path(done.stdout.strip())
    assert found.name == "operator.py"
    assert ROOT / "operator" not in found.parents


SOURCES = sorted((ROOT / "operator" / "trimtab").rglob("*.py"))


def test_no_source_file_grows_out_of_hand() -> None:
    assert len(SOURCES) > 50
    long = {str(f): n for f in SOURCES if (n := len(f.read_text().splitlines())) > MAX_LINES}
    assert long == {}


def test_no_function_grows_out_of_hand() -> None:
    long = {
        f"{file}:{node.name}": lines
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION
    }
    assert long == {}
