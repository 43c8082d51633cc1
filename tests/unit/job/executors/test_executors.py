from __future__ import annotations

from typing import Any

import pytest

from trimtab.api.knobs import PROCESS, ZONE
from trimtab.api.placement import ZONE_LABEL
from trimtab.job.executors.executors import STEP_TIMEOUT_S, Executors, pick_to_remove
from trimtab.job.executors.locality import Locality
from trimtab.job.executors.placement import SELECTOR, Step, steps
from trimtab.job.telemetry.driver_state import ExecutorStates

KEY = SELECTOR + ZONE_LABEL


class Ids(list[str]):
    """A Scala Seq."""

    apply = list.__getitem__
    size = list.__len__


class Spark:
    """SparkContext, its JVM and its scheduler; executors come when the test says so."""

    def __init__(self, running: int) -> None:
        self.ids = Ids(str(n) for n in range(running))
        self.keys: dict[str, str] = {}
        self.asked: list[tuple[int, str | None]] = []
        self.decommissioned: list[str] = []
        self._jvm = self

    def __getattr__(self, name: str) -> Any:
        """`a.b.c()` of the JVM, whatever it is."""
        return self

    def __call__(self, *_: Any) -> Any:
        return self

    def conf(self) -> Spark:
        return self

    def contains(self, key: str) -> bool:
        return key in self.keys

    def set(self, key: str, value: str) -> None:
        self.keys[key] = value

    def remove(self, key: str) -> None:
        del self.keys[key]

    def getExecutorIds(self) -> Ids:  # noqa: N802 -- Spark's name
        return self.ids

    def requestTotalExecutors(self, target: int, _tasks: int, _hosts: Any) -> None:  # noqa: N802
        self.asked.append((target, self.keys.get(KEY)))

    def decommissionExecutor(self, executor: str, *_: Any) -> None:  # noqa: N802
        self.decommissioned.append(executor)


class Desk:
    """Executors with a clock to set."""

    def __init__(
        self, running: int, scope: int | None, plan: list[Step] | None = None, **weights: int
    ) -> None:
        self.spark, self.now = Spark(running), 0.0
        self.locality = Locality(self.spark)
        self.locality.set_scope(scope)
        self.executors = Executors(
            self.spark, plan or [Step(running)], self.locality, lambda _: weights, lambda: self.now
        )

    @property
    def waits(self) -> str | None:
        return self.spark.keys.get("spark.locality.wait.process")

    def come(self, count: int) -> None:
        self.spark.ids.extend(str(len(self.spark.ids) + n) for n in range(count))
        self.executors.states()


def test_the_youngest_go_first_and_nobody_twice() -> None:
    assert pick_to_remove({"2", "10", "9"}, {"10"}, 1) == ["9"]
    assert pick_to_remove({"1", "2"}, set(), 0) == []
    assert pick_to_remove({"1", "2"}, set(), -3) == []


def test_pending_is_what_was_asked_and_has_not_come() -> None:
    assert ExecutorStates(requested=4, running=1, decommissioning=0).pending == 3
    assert ExecutorStates(requested=1, running=3, decommissioning=2).pending == 0


def test_without_a_scope_it_is_one_absolute_target_and_no_selector() -> None:
    desk = Desk(1, None, a=1)
    desk.executors.scale(4)
    desk.come(3)
    assert desk.spark.asked == [(4, None)]
    assert desk.spark.keys == {}


def test_new_executors_are_asked_for_place_by_place_and_the_selector_goes() -> None:
    desk = Desk(1, ZONE, a=1, b=2)
    desk.executors.scale(4)
    assert desk.spark.asked == [(2, "a")]
    assert desk.executors.states().pending == 3, "all that were asked for, not only this step's"
    desk.come(1)
    assert desk.spark.asked == [(2, "a"), (4, "b")]
    desk.come(1)
    assert desk.spark.keys[KEY] == "b"
    desk.come(1)
    assert KEY not in desk.spark.keys
    assert desk.spark.asked == [(2, "a"), (4, "b")]


def test_executors_that_do_not_come_to_their_place_are_taken_anywhere() -> None:
    desk = Desk(1, ZONE, a=1, b=1)
    desk.executors.scale(3)
    desk.now = STEP_TIMEOUT_S + 1
    desk.executors.states()
    assert desk.spark.asked == [(2, "a"), (3, None)]
    assert KEY not in desk.spark.keys


def test_the_pipelines_own_selector_wins() -> None:
    desk = Desk(1, ZONE, a=1)
    desk.spark.keys[KEY] = "mine"
    desk.executors.scale(2)
    desk.come(1)
    assert desk.spark.keys[KEY] == "mine"


@pytest.mark.parametrize("target", [1, 5])
def test_nothing_waits_until_executors_have_come_or_gone(target: int) -> None:
    desk = Desk(3, PROCESS)
    assert desk.waits == "1s"
    desk.executors.scale(target)
    assert desk.waits == "0s"
    desk.executors.states()
    assert desk.waits == "0s"
    if target == 1:
        assert desk.spark.decommissioned == ["2", "1"]
        del desk.spark.ids[1:]
        desk.executors.states()
    else:
        desk.come(2)
    assert desk.waits == "1s"


def test_executors_leave_between_two_batches_only() -> None:
    desk = Desk(3, None)
    desk.executors.batch_begins()
    desk.executors.scale(2)
    states = desk.executors.states()
    assert desk.spark.decommissioned == [], "a task could end just as its executor goes"
    assert (states.running, states.staying) == (3, 3)
    desk.executors.batch_ended()
    desk.executors.batch_begins()
    assert desk.spark.decommissioned == ["2"]
    assert desk.executors.states().staying == 2, "the batch that begins is not given the third"
    desk.executors.states()
    assert desk.spark.decommissioned == ["2"]


def test_executors_leave_at_once_where_no_batch_is_written() -> None:
    desk = Desk(3, None)
    desk.executors.batch_begins()
    desk.executors.scale(2)
    desk.executors.batch_ended()
    desk.executors.states()
    assert desk.spark.decommissioned == ["2"]


def test_the_executors_of_a_start_are_placed_too() -> None:
    plan = steps(0, 3, {"a": 1, "b": 2}, ZONE)
    desk = Desk(0, ZONE, plan)
    desk.spark.keys |= plan[0].selector  # the application was started with it
    assert desk.executors.requested == 3
    desk.come(1)
    assert (desk.spark.asked, desk.spark.keys[KEY]) == ([(3, "b")], "b")
    desk.come(2)
    assert KEY not in desk.spark.keys
    assert desk.spark.asked == [(3, "b")]


def test_an_executor_that_goes_without_being_released_is_lost() -> None:
    desk = Desk(3, None)
    desk.executors.states()
    desk.executors.scale(2)
    desk.spark.ids.remove("2")
    desk.executors.states()
    assert desk.executors.lost == 0
    desk.spark.ids.remove("1")
    desk.executors.states()
    desk.executors.states()
    assert desk.executors.lost == 1


def test_executors_that_others_delete_are_released_between_two_batches() -> None:
    desk = Desk(3, None)
    desk.executors.batch_begins()
    desk.executors.give_way(["1"])
    desk.executors.states()
    assert desk.spark.decommissioned == []
    desk.executors.batch_ended()
    desk.executors.states()
    desk.executors.states()
    assert desk.spark.decommissioned == ["1"]
    assert desk.executors.requested == 3
    desk.spark.ids.remove("1")
    desk.executors.states()
    assert desk.executors.lost == 0


def test_one_that_must_go_and_one_too_many_are_the_same_if_they_can_be() -> None:
    desk = Desk(3, None)
    desk.executors.states()
    desk.executors.give_way(["0"])
    desk.executors.scale(2)
    desk.executors.states()
    assert desk.spark.decommissioned == ["0"]
