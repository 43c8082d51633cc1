"""An operator process that is killed right after a write leaves what one that lives leaves.

The proxy kills it when the API server has done the write and before the operator hears of it. Which
writes are hit: every sixth, one life; with TRIMTAB_LONG=1, each of them, one life for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.faults.life import Life, compared, started
from tests.faults.record import Row, record
from tests.long import WHOLE

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(3600 if WHOLE else 600)]

STEP = 6
Lived = Callable[[Callable[[int], bool]], Life]


@pytest.fixture(scope="module")
def lived(kubeconfig: Path, token: str, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """A whole life whose operator is killed after the writes of these numbers."""
    numbers = count()

    def live(dies: Callable[[int], bool]) -> Life:
        name = f"crashes-{next(numbers)}"
        with started(kubeconfig, token, tmp_path_factory.mktemp(name), name) as life:

            def written(number: int) -> None:
                if dies(number):
                    life.operator.kill()

            life.proxy.after_write = written
            life.live()
        return life

    return live


@pytest.fixture(scope="module")
def unhurt(lived: Lived) -> Life:
    return lived(lambda _: False)


def test_a_life_has_all_that_is_to_be_survived(unhurt: Life) -> None:
    words = Counter((call.verb, call.resource) for call in unhurt.proxy.writes)
    assert len(unhurt.proxy.writes) > 30
    assert words["delete", "pods"] == 2, "the driver and the broker restart"
    assert words["delete", "jobs"] == 1
    assert words["patch", "streampipelines"] >= 4
    made, edited, deleted = (chapter.state for chapter in unhurt.chapters)
    assert made["Pod/clicks-driver-0"] != edited["Pod/clicks-driver-0"]
    kept = {"ConfigMap/clicks-transform", "ServiceAccount/default"}
    assert deleted.keys() == kept | {"PersistentVolumeClaim/clicks-checkpoint"}


def test_an_operator_that_is_killed_again_and_again_gets_as_far(unhurt: Life, lived: Lived) -> None:
    life = lived(lambda number: number % STEP == 0)
    assert life.deaths >= len(unhurt.proxy.writes) // STEP - 1
    check(unhurt, life)


@pytest.mark.skipif(not WHOLE, reason="make test-faults")
def test_a_kill_after_any_one_write_changes_nothing_in_the_end(unhurt: Life, lived: Lived) -> None:
    down_s: list[float] = []
    for number in range(1, len(unhurt.proxy.writes) + 1):
        life = lived(lambda count, number=number: count == number)  # type: ignore[misc]
        down_s += life.down_s
        check(unhurt, life, f"killed after write {number}, {life.proxy.writes[number - 1].words}")
    said = "the log of the next process: it goes on from the status"
    record(Row("operator-killed", len(down_s), unwell_s=max(down_s), said=said))


def check(unhurt: Life, life: Life, when: str = "") -> None:
    """The same objects at the end of each chapter, and nothing that was said twice."""
    assert compared(unhurt, life) == [], when
    assert life.operator.tracebacks() == [], when
    twice = Counter(life.events) - Counter(unhurt.events)
    assert not twice, when
