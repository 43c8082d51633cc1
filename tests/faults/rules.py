"""The faults that a test asks the proxy for: which calls they hit, how, and how often. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tests.faults.calls import Call

Json = dict[str, Any]
HANG, RESET, LOST = "hang", "reset", "lost"
"""No answer; a connection that is reset; one that is reset after the API server has done it."""

REASONS = {
    401: "Unauthorized", 403: "Forbidden", 409: "Conflict", 410: "Expired", 422: "Invalid",
    429: "TooManyRequests", 500: "InternalError", 504: "Timeout",
}  # fmt: skip


@dataclass
class Fault:
    """Some calls go wrong, `times` of them or, with None, as long as the fault is there."""

    answer: int | str
    """A status code, or HANG, RESET or LOST."""
    verbs: Collection[str] = ()
    """Empty: all."""
    resources: Collection[str] = ()
    """Empty: all."""
    times: int | None = None
    retry_after_s: int | None = None
    said: str = "made by a test"
    hit: list[Call] = field(default_factory=list)
    """The calls that it has hit."""

    def takes(self, call: Call) -> bool:
        """Whether it hits a call; counts it if so."""
        due = self.times is None or len(self.hit) < self.times
        mine = due and _among(call.verb, self.verbs) and _among(call.resource, self.resources)
        if mine:
            self.hit.append(call)
        return mine

    @property
    def spent(self) -> bool:
        """Whether it hits nothing any more."""
        return self.times is not None and len(self.hit) >= self.times

    def body(self) -> Json:
        """The Status that an API server sends with such a code."""
        assert isinstance(self.answer, int)
        return status(self.answer, self.said)

    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        return {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}


def status(code: int, message: str) -> Json:
    """A failure as the API server words it."""
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": REASONS.get(code, "Unknown"), "message": message,
    }  # fmt: skip


def _among(name: str, names: Collection[str]) -> bool:
    return not names or name in names


@dataclass
class Disorder:
    """What happens to the events of watches: each line becomes some lines, after some seconds."""

    change: Callable[[bytes], list[bytes]]
    resources: Collection[str] = ()
    delay_s: float = 0.0
    hit: list[bytes] = field(default_factory=list)

    def lines(self, call: Call, line: bytes) -> list[bytes] | None:
        """What is sent in place of an event; None if it is left alone."""
        if not _among(call.resource, self.resources) or _type(line) == "BOOKMARK":
            return None
        self.hit.append(line)
        return self.change(line)


def _type(line: bytes) -> str:
    return str(json.loads(line).get("type", ""))


def drop(_: bytes) -> list[bytes]:
    """The event is lost."""
    return []


def keep(line: bytes) -> list[bytes]:
    """The event is passed on, late if the disorder has a delay."""
    return [line]


class Repeat:
    """Each event comes twice, and after it once more the one before it of the same kind."""

    def __init__(self) -> None:
        self._before: dict[str, bytes] = {}

    def __call__(self, line: bytes) -> list[bytes]:
        kind = str(json.loads(line)["object"].get("kind"))
        again = [self._before[kind]] if kind in self._before else []
        self._before[kind] = line
        return [line, line, *again]


def expired(_: bytes) -> list[bytes]:
    """The watch ends: the version that it began at is too old."""
    return [json.dumps({"type": "ERROR", "object": status(410, "too old")}).encode() + b"\n"]
