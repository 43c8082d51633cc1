from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from trimtab.api.contract import Settings
from trimtab.job.lifecycle.settings_watch import Inbox, Refused, follow_file, judge, start


def text(**changes: Any) -> str:
    document = {"schema": 1, "generation": 5, "pipelineUid": "uid", "settings": {"executors": 2}}
    return json.dumps(document | changes)


def test_takes_a_newer_generation() -> None:
    verdict = judge(text(), "uid", newest=4)
    assert isinstance(verdict, Settings)
    assert verdict.settings.executors == 2


@pytest.mark.parametrize("newest", [5, 6])
def test_ignores_what_is_not_newer(newest: int) -> None:
    assert judge(text(), "uid", newest) is None
    assert judge(text(schema=9), "uid", newest) is None


@pytest.mark.parametrize(
    ("document", "word"),
    [
        (text(schema=2), "schema"),
        (text(settings={"warp": 9}), "warp"),
        (text(extra=1), "extra"),
        (text(settings={"executors": -1}), "executors"),
        (text(pipelineUid="other"), "other"),
    ],
)
def test_refuses_what_it_does_not_understand(document: str, word: str) -> None:
    verdict = judge(document, "uid", newest=4)
    assert isinstance(verdict, Refused)
    assert verdict.generation == 5
    assert word in verdict.why


def test_refuses_what_is_no_json_without_a_generation() -> None:
    verdict = judge("{", "uid", newest=4)
    assert isinstance(verdict, Refused)
    assert verdict.generation is None


def test_the_inbox_keeps_the_newest_and_reports_refusals() -> None:
    woken: list[int] = []
    refused: list[int] = []
    inbox = Inbox(Settings.from_json(text(generation=1)), lambda: woken.append(1), refused.append)
    inbox.offer(text(generation=2))
    inbox.offer(text(generation=3, settings={"executors": 7}))
    inbox.offer(text(generation=4, schema=2))
    inbox.offer(text(generation=2))
    taken = inbox.take()
    assert taken is not None
    assert taken.generation == 3
    assert inbox.take() is None
    assert (len(woken), refused) == (2, [4])


def test_follows_a_file_over_changes_and_absence(tmp_path: Path) -> None:
    file, stopping = tmp_path / "settings.json", threading.Event()
    file.write_text("a")
    texts = follow_file(file, stopping)
    assert next(texts) == "a"
    file.unlink()
    file.write_text("b")
    assert next(texts) == "b"
    stopping.set()
    assert list(texts) == []


def test_each_document_goes_to_its_reader_the_reflex_first() -> None:
    got: list[tuple[str, str]] = []
    inbox = Inbox(Settings.from_json(text(generation=1)), lambda: None, lambda _: None)
    inbox.offer = lambda found: got.append(("settings", found))  # type: ignore[method-assign]
    documents = iter([{"settings.json": "a", "reflex.json": "r"}, {"settings.json": "b"}, {}])
    start(documents, inbox, lambda found: got.append(("reflex", found))).join()
    assert got == [
        ("reflex", "r"), ("settings", "a"), ("reflex", ""), ("settings", "b"), ("reflex", ""),
    ]  # fmt: skip
