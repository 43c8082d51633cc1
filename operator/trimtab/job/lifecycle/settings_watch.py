"""Where new settings come from, and which of them are accepted.

In a cluster the driver watches one ConfigMap through the API; elsewhere it rereads a file whenever
it changes. A rejected document never stops the pipeline.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trimtab.api.contract import REFLEX_KEY, SETTINGS_KEY, Settings
from trimtab.errors import ContractError

log = logging.getLogger(__name__)

FILE_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Refused:
    """A rejected document: its generation, if it has one, and the reason."""

    generation: int | None
    why: str


def judge(text: str, pipeline_uid: str, newest: int) -> Settings | Refused | None:
    """The settings to apply; Refused; or None if they are not newer than `newest`."""
    try:
        settings = Settings.from_json(text)
    except ContractError as error:
        generation = _generation(text)
        old = generation is not None and generation <= newest
        return None if old else Refused(generation, str(error))
    if settings.pipeline_uid != pipeline_uid:
        why = f"they belong to pipeline {settings.pipeline_uid!r}, this is {pipeline_uid!r}"
        return Refused(settings.generation, why)
    return settings if settings.generation > newest else None


def _generation(text: str) -> int | None:
    try:
        document = json.loads(text)
    except ValueError:
        return None
    generation = document.get("generation") if isinstance(document, dict) else None
    return generation if type(generation) is int else None


class Inbox:
    """Holds the newest settings until they are applied."""

    def __init__(
        self, current: Settings, wake: Callable[[], None], refused: Callable[[int], None]
    ) -> None:
        """`wake` is called on new settings, `refused` with a rejected generation."""
        self._lock = threading.Lock()
        self._uid = current.pipeline_uid
        self._newest = current.generation
        self._waiting: Settings | None = None
        self._last_why: str | None = None
        self._wake = wake
        self._on_refused = refused

    def offer(self, text: str) -> None:
        """Receive a document as it was found; called from the watching thread."""
        with self._lock:
            verdict = judge(text, self._uid, self._newest)
            if isinstance(verdict, Settings):
                self._newest = verdict.generation
                self._waiting = verdict
        if isinstance(verdict, Settings):
            self._wake()
        elif isinstance(verdict, Refused):
            self._refuse(verdict)

    def _refuse(self, refused: Refused) -> None:
        if refused.why != self._last_why:
            log.warning("settings generation %s refused: %s", refused.generation, refused.why)
            self._last_why = refused.why
        if refused.generation is not None:
            self._on_refused(refused.generation)

    def take(self) -> Settings | None:
        """The newest settings, once; older ones are skipped."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
            return waiting


def follow_file(path: Path, stopping: threading.Event) -> Iterator[str]:
    """Yield the file's text whenever it changes; waits for a missing file."""
    seen: str | None = None
    while not stopping.is_set():
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            text = seen or ""
        if text and text != seen:
            seen = text
            yield text
        stopping.wait(FILE_POLL_S)


def start(
    documents: Iterator[Mapping[str, str]], inbox: Inbox, reflex: Callable[[str], None]
) -> threading.Thread:
    """Feed the inbox and the reflex from an endless iterator, in a thread of its own.

    Each item has the documents by key; `reflex` gets its own, empty if there is none.
    """

    def run() -> None:
        for found in documents:
            reflex(found.get(REFLEX_KEY, ""))
            if SETTINGS_KEY in found:
                inbox.offer(found[SETTINGS_KEY])

    thread = threading.Thread(target=run, name="trimtab-settings", daemon=True)
    thread.start()
    return thread
