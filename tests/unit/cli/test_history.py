"""`trimtab history` and `trimtab why`: what was decided, and why at some time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from trimtab.api.history import HISTORY_KEY, Entry, Numbers, packed
from trimtab.cli import main
from trimtab.cli.history import time_of
from trimtab.errors import BadInputError

NOW_S = 1_767_279_600.0
"""2026-01-01T15:00:00Z."""

RAISED = Entry(
    time="2026-01-01T10:00:00Z", action="Change", reason="ExecutorsRaised", generation=4,
    message="Cpu (slots busy 97%); load 1.30 at 280 records/s: executors 1 -> 3",
    changes=["executors 1 -> 3"], goal="p95 <= 15s", mode="Auto", cores=3,
    settings={"executors": 3.0, "trigger": 2.5, "maxOffsetsPerTrigger": 10_000.0},
    numbers=Numbers(load=1.3, input_rate=280.0, observed=19.2, bottleneck="Cpu", evidence="busy"),
)  # fmt: skip
KEPT = Entry(
    time="2026-01-01T10:02:00Z", action="Keep", reason="TrialKept", generation=4,
    message="load 1.30 -> 0.55",
)  # fmt: skip
RELEASED = RAISED.model_copy(
    update={"time": "2026-01-01T14:00:00Z", "reason": "ExecutorsReleased", "generation": 5,
            "changes": ["executors 3 -> 2"], "settings": {"executors": 2.0}, "numbers": None},
)  # fmt: skip


def ran(
    folder: Path, *arguments: str, entries: tuple[Entry, ...] = (RAISED, KEPT, RELEASED)
) -> Result:
    meta = {"name": "clicks-history", "namespace": "n"}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    document |= {"binaryData": {HISTORY_KEY: packed(entries)}}
    file = folder / "history.yaml"
    file.write_text(yaml.safe_dump(document))
    return CliRunner().invoke(main, [*arguments, "-f", str(file)])


def test_all_decisions_since_a_time_are_listed(tmp_path: Path) -> None:
    done = ran(tmp_path, "history", "--since", "2026-01-01T10:01:00Z")
    assert done.exit_code == 0, done.output
    head, *rows = done.output.splitlines()
    assert head.split() == ["TIME", "ACTION", "REASON", "LOAD", "CORES", "CHANGES"]
    assert [row.split()[2] for row in rows] == ["TrialKept", "ExecutorsReleased"]
    assert "executors 3 -> 2" in rows[1]


def test_they_are_had_as_json_with_all_numbers(tmp_path: Path) -> None:
    done = ran(tmp_path, "history", "--since", "2026-01-01T00:00:00Z", "-o", "json")
    first, *_ = json.loads(done.output)
    assert first["numbers"]["inputRate"] == 280.0
    assert first["settings"]["executors"] == 3.0


def test_nothing_in_that_time_is_said(tmp_path: Path) -> None:
    done = ran(tmp_path, "history", "--since", "1s")
    assert (done.exit_code, done.output) == (0, "nothing was decided in this time\n")


def test_why_says_what_was_in_force_what_led_to_it_and_what_came_next(tmp_path: Path) -> None:
    done = ran(tmp_path, "why", "--at", "2026-01-01T12:00:00Z")
    assert done.exit_code == 0, done.output
    text = done.output
    assert text.startswith("At 2026-01-01T12:00:00Z, 118m after the last decision")
    assert "executors 3, trigger 2500ms, maxOffsetsPerTrigger 10000 (generation 4)" in text
    assert "Because     2026-01-01T10:00:00Z Change ExecutorsRaised" in text
    assert (
        "Seen then   load 1.30, 280 records/s, held against the goal 19.2, bottleneck Cpu" in text
    )
    assert "Since then  2026-01-01T10:02:00Z Keep TrialKept" in text
    assert "Next        2026-01-01T14:00:00Z Change ExecutorsReleased" in text


@pytest.mark.parametrize(("at", "words"), [
    ("2025-12-31T00:00:00Z", "the history begins at 2026-01-01T10:00:00Z"),
    ("yesterday", "is not a duration"),
    ("25:00", "is not a time"),
    ("2026-13-01", "is not a time"),
])  # fmt: skip
def test_why_says_what_it_cannot_know(tmp_path: Path, at: str, words: str) -> None:
    done = ran(tmp_path, "why", "--at", at)
    assert done.exit_code == 1
    assert words in done.output


def test_a_file_without_a_history_is_told(tmp_path: Path) -> None:
    for text, words in ((": :", "not YAML"), ("kind: Secret", "one ConfigMap"),
                        ("kind: ConfigMap", "holds no history")):  # fmt: skip
        (tmp_path / "x").write_text(text)
        done = CliRunner().invoke(main, ["why", "--at", "1h", "-f", str(tmp_path / "x")])
        assert done.exit_code == 1
        assert words in done.output
    assert "name a pipeline" in CliRunner().invoke(main, ["why", "--at", "1h"]).output


@pytest.mark.parametrize(("text", "ago_s"), [
    ("2h", 7200.0), ("7d", 604_800.0), ("2026-01-01T14:00:00Z", 3600.0),
    ("2026-01-01T15:00:00+01:00", 3600.0),
    ("2026-01-01T14:00:00", 3600.0), ("14:00", 3600.0), ("16:00", 23 * 3600.0),
])  # fmt: skip
def test_times_are_read_in_utc_or_as_a_duration_ago(text: str, ago_s: float) -> None:
    assert NOW_S - time_of(text, NOW_S) == ago_s


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(BadInputError, match="not a time"):
        time_of("10-30", NOW_S)
