"""`trimtab size`: figures from options or from a pipeline, and words for what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.test_explain import pipeline

from trimtab.cli import main

NOTES = [
    "--record-ms", "8", "--batch-ms", "800", "--executors", "4", "--cores", "4",
    "--partitions", "16", "--record-bytes", "1000",
]  # fmt: skip


def size(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["size", *arguments])


def test_given_figures_are_derived_line_by_line() -> None:
    said = size(*NOTES, "--heap", "768Mi").output
    assert "1600  800 ms / 8 ms × 16 slots" in said
    assert "of 4 × 768 MiB: far below it" in said
    assert "50 ms  800 ms / 16 slots: the most that one step may take" in said
    assert "p95.8  of a task is the median of a batch" in said


def test_a_pipeline_gives_what_it_has_learned_and_options_win(tmp_path: Path) -> None:
    file = tmp_path / "clicks.json"
    file.write_text(json.dumps(pipeline()))
    said = size("-f", str(file), "--record-bytes", "1000").output
    assert "2 executors × 1 cores" in said
    assert "12 partitions on 2 slots" in said
    assert "8000 ms /" in said  # 0.8 of the trigger of 10 s
    said = size("-f", str(file), "--record-bytes", "1000", "--executors", "3").output
    assert "3 executors × 1 cores" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--record-ms", "8"], "give --executors, --cores, --partitions, --record-bytes"),
        ([*NOTES, "--heap", "7x"], "--heap: '7x' is not a quantity"),
        ([*NOTES, "--record-ms", "0"], "record_s must be above 0"),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_said(arguments: list[str], says: str) -> None:
    result = size(*arguments)
    assert result.exit_code == 1
    assert says in result.output


def test_a_pipeline_without_figures_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "clicks.json"
    file.write_text(json.dumps(pipeline(None)))
    result = size("-f", str(file), "--record-bytes", "1000")
    assert result.exit_code == 1
    assert "no figures yet" in result.output
