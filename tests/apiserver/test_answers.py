"""An API server that refuses, hangs or resets: when it does so no longer, all is as the spec says.

While it lasts, a person can read what is wrong. Each fault hits one sort of calls of the operator,
while somebody edits; afterwards the edit must have come through.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.faults.life import Turns, started
from tests.faults.record import Book
from tests.faults.rules import HANG, LOST, RESET, Disorder, Fault, expired
from tests.long import WHOLE

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]

RESYNC_S = 3.0
LASTS_S = 35.0 if WHOLE else 6.0
"""The whole outlasts the 30 s after which a call that hangs is given up."""
HEALS_S = 120.0
"""After the fault: the operator may have to start again, and waits up to 20 s between two tries."""
CALLS: dict[str, Collection[str]] = {
    "writes": ("patch", "put", "post", "delete"), "reads": ("list", "get"), "watches": ("watch",),
}  # fmt: skip
WORDS: dict[int | str, str] = {
    401: "401 Unauthorized", 403: "made by a test", 404: "404 Not Found", 409: "409 Conflict",
    410: "410 Gone", 422: "made by a test", 429: "429 Too Many Requests", 500: "500 Internal",
    504: "504 Gateway", HANG: "timed out", RESET: "closed connection",
    LOST: "closed connection",
}  # fmt: skip
"""By answer, what the log says of reads and writes while it lasts. Watches have kopf's words."""
FEW = {
    (403, "writes"), (409, "writes"), (429, "writes"), (LOST, "writes"), (500, "reads"),
    (RESET, "watches"), (410, "watches"),
}  # fmt: skip
"""What is tried always; the whole with TRIMTAB_LONG=1."""
ALL = [
    (answer, calls) for calls in CALLS for answer in WORDS if (answer, calls) != (LOST, "watches")
]
TRIED = [pytest.param(*each, id=f"{each[0]}-{each[1]}") for each in ALL if WHOLE or each in FEW]


@pytest.fixture(scope="module")
def turns(
    kubeconfig: Path, token: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Turns]:
    folder = tmp_path_factory.mktemp("answers")
    with started(kubeconfig, token, folder, "answers", RESYNC_S) as life:
        yield Turns(life)


@pytest.mark.parametrize(("answer", "calls"), TRIED)
def test_an_edit_comes_through_once_the_api_server_answers(
    turns: Turns, book: Book, answer: int | str, calls: str
) -> None:
    life = turns.life
    log, fault = life.operator.written(), Fault(answer, CALLS[calls], retry_after_s=1)
    with ExitStack() as faults:
        faults.enter_context(life.proxy.fault(fault))
        if calls == "watches":  # those that are open go on without a fault
            faults.enter_context(life.proxy.disorder(Disorder(expired)))
        turns.turn()
        life.go_on(LASTS_S)
    ended_s = time.monotonic()
    took_s = turns.arrived(HEALS_S) - ended_s
    life.settle("the API server answers again")
    assert fault.hit
    said = life.operator.said("failed" if calls == "watches" else WORDS[answer], since=log)
    assert said or (answer == HANG and (calls == "watches" or not WHOLE))
    if calls != "watches":
        assert life.operator.tracebacks(log) == []
    book.note(f"answer-{answer}", took_s, said)


@pytest.mark.parametrize("answer", [403, 500, RESET, HANG] if WHOLE else [500])
def test_an_operator_that_starts_meanwhile_says_why_it_cannot(
    turns: Turns, answer: int | str
) -> None:
    life = turns.life
    log = life.operator.written()
    with life.proxy.fault(Fault(answer)) as fault:
        life.operator.end()
        life.operator.start()
        life.until("it says why", lambda: bool(life.operator.said(WORDS[answer], since=log)))
        life.go_on(5)
    assert fault.hit
    life.settle("the API server answers again")
    assert life.operator.tracebacks(log) == []
