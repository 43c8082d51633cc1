"""An operator that dies right after any of its writes leaves what one that lives leaves.

Each write with TRIMTAB_LONG=1 (`make test-faults`), every third always: a life takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.long import WHOLE
from tests.unit.reconcile.life import Life

STEP = 1 if WHOLE else 3


def lived(dies: Callable[[int], bool]) -> Life:
    life = Life(dies)
    life.live()
    return life


@pytest.fixture(scope="module")
def unhurt() -> Life:
    return lived(lambda _: False)


def test_the_life_has_all_that_is_to_be_survived(unhurt: Life) -> None:
    reasons = [d["reason"] for d in unhurt.decided]
    assert reasons[:2] == ["ExecutorsRaised", "TrialKept"]
    assert "Clamped" in reasons
    generations = dict(sorted(unhurt.documents))
    assert generations["uid-clicks"] >= 5
    assert unhurt.starts == 4, "the first, after an edit, after a suspension, in the second life"
    assert unhurt.condition("Ready") == ("True", "QueryRunning")
    assert unhurt.mortal.count > 50


def test_a_crash_after_any_one_write_changes_nothing_in_the_end(unhurt: Life) -> None:
    end = unhurt.end()
    for number in range(1, unhurt.mortal.count + 1, STEP):
        life = lived(lambda count, number=number: count == number)  # type: ignore[misc]
        assert life.kills == 1
        assert list(differences(end, life.end())) == [], f"killed after write {number}"
        assert told_once(life)


def test_an_operator_that_dies_at_every_write_gets_as_far(unhurt: Life) -> None:
    life = lived(lambda _: True)
    assert life.kills > 50
    assert list(differences(unhurt.end(), life.end())) == []
    assert told_once(life)


def told_once(life: Life) -> bool:
    """Whether no decision of a generation is in the status or told by Event twice."""
    recorded = [(d["generation"], d["action"], d["reason"]) for d in life.decided]
    return len(set(recorded)) == len(recorded) and len(set(life.cluster.events)) == len(
        life.cluster.events
    )


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two trees differ, and how."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from differences(one.get(key), other.get(key), f"{path}/{key}")
    elif one != other:
        yield path, one, other
