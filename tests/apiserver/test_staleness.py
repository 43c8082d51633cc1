"""Old lists, and events of watches that are lost, late or repeated.

An operator that believes something old must not write what undoes something newer, and a full list
must heal what an event did not tell. The operator lists everything each 3 s here, not each 300.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.life import LIMIT_S, Life, Turns, started
from tests.faults.record import Book
from tests.faults.rules import HANG, Disorder, Fault, Repeat, drop, expired, keep
from tests.faults.world import differences
from tests.long import WHOLE

from trimtab.api.kinds import watched_in

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(600)]

RESYNC_S = 3.0
SLACK_S = 60.0
"""For ticks and the controllers' steps on a busy machine; what is lost for good never arrives."""
LOST_S = 1.0
LATE_S = 2.0
STEPS = 5
"""Of the controllers until a broker and its topics are as an edit says."""
TRIES = 5 if WHOLE else 1
SEEN = watched_in(("stale",))
"""By an operator of one namespace."""
KINDS = {kind.plural for kind in SEEN}
PARENTS = {kind.plural for kind in SEEN if kind.ours}
OLD = {"everything": KINDS, "parents": PARENTS, "children": KINDS - PARENTS}
Shape = dict[str, Any]


@pytest.fixture(scope="module")
def turns(
    kubeconfig: Path, token: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Turns]:
    folder = tmp_path_factory.mktemp("stale")
    with started(kubeconfig, token, folder, "stale", RESYNC_S) as life:
        yield Turns(life)
        assert life.operator.tracebacks() == []


@pytest.mark.parametrize("which", OLD)
@pytest.mark.parametrize("when", ["at its start", "later"])
def test_old_lists_undo_nothing(turns: Turns, book: Book, which: str, when: str) -> None:
    life, log = turns.life, turns.life.operator.written()
    old = life.proxy.past(OLD[which])
    turns.turn()
    turns.arrived(LIMIT_S)
    life.settle("the turn")
    before, began_s = asked(life), time.monotonic()
    with life.proxy.in_the_past(old) as served:
        if when == "at its start":
            life.operator.kill()
        life.until("old lists are served", lambda: {c.resource for c in served} >= OLD[which])
        life.settle("with old lists")
    assert list(differences(before, asked(life))) == []
    said = life.operator.said("it has changed since it was read", since=log)
    book.note("stale-list", turns.arrived(LIMIT_S) - began_s, said)


def asked(life: Life) -> Shape:
    """What every object asks for, and its uid: an object that is made again is another one."""
    found = {}
    for key, each in life.world.everything().items():
        meta = each["metadata"]
        found[key] = {"uid": meta["uid"], "generation": meta.get("generation")}
        found[key] |= {k: part for k, part in each.items() if k not in {"metadata", "status"}}
    return found


DISORDERS: dict[str, tuple[Callable[[], Disorder], float]] = {
    "events-lost": (lambda: Disorder(drop), RESYNC_S),
    "events-late": (lambda: Disorder(keep, delay_s=LATE_S), RESYNC_S + LATE_S),
    "events-repeated": (lambda: Disorder(Repeat()), RESYNC_S),
    "watch-expired": (lambda: Disorder(expired), RESYNC_S),
}


@pytest.mark.parametrize("fault", DISORDERS)
def test_events_in_disorder_cost_at_most_one_full_list(
    turns: Turns, book: Book, fault: str
) -> None:
    make, limit_s = DISORDERS[fault]
    for _ in range(TRIES):
        with turns.life.proxy.disorder(make()) as disorder:
            began_s = turns.turn()
            time.sleep(LOST_S)
        assert disorder.hit
        book.note(fault, turns.arrived(limit_s + SLACK_S) - began_s, "")
        turns.life.settle(fault)


def test_silent_watches_cost_a_full_list_for_each_step(turns: Turns, book: Book) -> None:
    """Old ones end, and new ones get no answer: what the controllers do is told by lists alone."""
    with (
        turns.life.proxy.disorder(Disorder(expired)),
        turns.life.proxy.fault(Fault(HANG, verbs={"watch"})) as fault,
    ):
        began_s = turns.turn()
        took_s = turns.arrived(STEPS * RESYNC_S + SLACK_S) - began_s
    assert fault.hit
    book.note("watch-silent", took_s, "")


def test_what_is_deleted_stays_so_when_events_from_before_come_again(turns: Turns) -> None:
    """The operator does not take them for a pipeline that is there."""
    with turns.life.proxy.disorder(Disorder(Repeat())) as disorder:
        turns.life.delete()
        turns.life.settle("deleted")
        assert disorder.hit
        assert turns.life.world.everything().keys() == {
            "ConfigMap/clicks-transform", "PersistentVolumeClaim/clicks-checkpoint",
            "ServiceAccount/default",
        }  # fmt: skip
