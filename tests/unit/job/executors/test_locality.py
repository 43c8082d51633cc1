"""How near tasks run, and where new executors go."""

from __future__ import annotations

from collections import Counter

import pytest

from trimtab.api.knobs import ANY, NODE, PROCESS, ZONE
from trimtab.api.placement import HOST_LABEL, ZONE_LABEL
from trimtab.errors import UnavailableError
from trimtab.job.executors.locality import (
    NO_WAIT,
    WAIT,
    WAIT_KEYS,
    Locality,
    preferred,
    scope_loads,
)
from trimtab.job.executors.locality import wait_is_inert as inert
from trimtab.job.executors.placement import (
    Broker,
    Places,
    Step,
    leaders_by_place,
    steps,
)


class Conf(dict[str, str]):
    """The live SparkConf, and every write to it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def set(self, key: str, value: str) -> None:
        self.writes += 1
        self[key] = value

    def remove(self, key: str) -> None:
        del self[key]


def test_nothing_is_touched_where_nobody_asks_for_a_scope() -> None:
    conf = Conf()
    locality = Locality(conf)
    locality.set_scope(None)
    locality.settle(settled=False)
    locality.settle(settled=True)
    assert conf.writes == 0


def test_tasks_wait_in_the_process_scope_alone() -> None:
    conf = Conf()
    locality = Locality(conf)
    for other in (ANY, NODE, ZONE, None):
        for scope, wait in ((PROCESS, WAIT), (other, NO_WAIT)):
            locality.set_scope(scope)
            assert {conf[key] for key in WAIT_KEYS} == {wait}, scope


def test_nothing_waits_while_executors_come_or_go() -> None:
    conf = Conf()
    locality = Locality(conf)
    locality.settle(settled=False)
    locality.set_scope(PROCESS)
    assert conf.writes == 0
    locality.settle(settled=True)
    assert conf[WAIT_KEYS[0]] == WAIT
    locality.settle(settled=False)
    assert conf[WAIT_KEYS[0]] == NO_WAIT
    before = conf.writes
    locality.settle(settled=False)
    assert conf.writes == before, "asked twice a second, written only when it changes"


def test_the_wait_is_inert_above_the_number_of_partitions() -> None:
    assert inert(PROCESS, None, 4) is False
    assert inert(PROCESS, 4, 4) is False
    assert inert(PROCESS, 5, 4) is True
    assert inert(ANY, 5, 4) is None
    assert inert(None, 5, 4) is None


def test_the_load_of_a_scope_is_that_of_its_executors() -> None:
    """Three partitions are held by three of six executors, which would do all the work."""
    loads = dict.fromkeys("abcdef", 0.3)
    three = [("clicks", number) for number in range(3)]
    assert scope_loads(loads, three) == {"Process": pytest.approx(0.6), "Any": pytest.approx(0.3)}
    many = [("clicks", number) for number in range(12)]
    assert scope_loads(loads, many) == {"Process": pytest.approx(0.3), "Any": pytest.approx(0.3)}
    assert scope_loads({}, three) == scope_loads(loads, []) == {}


@pytest.mark.parametrize(
    ("topic", "partition", "hashed"),
    [("clicks", 0, -1357713492), ("clicks", 3, -1357713399), ("näh-π", 1, 108482949),
     ("orders.v2", 2, -390711772)],
)  # fmt: skip
def test_the_preferred_executor_is_that_of_kafkas_own_hash(
    topic: str, partition: int, hashed: int
) -> None:
    """`hashed` is what kafka-clients 3.9.2 gave for the TopicPartition."""
    assert [preferred(topic, partition, n) for n in (1, 7, 31)] == [hashed % n for n in (1, 7, 31)]


BROKERS = {1: Broker("node-1", "a"), 2: Broker("node-2", "b"), 3: Broker(None, "b")}


@pytest.mark.parametrize(
    ("scope", "expected"),
    [(PROCESS, {}), (NODE, {"node-1": 2, "node-2": 1}), (ZONE, {"a": 2, "b": 3}), (ANY, {})],
)
def test_places_weigh_as_many_partitions_as_they_lead(scope: int, expected: dict[str, int]) -> None:
    assert leaders_by_place([1, 2, 3, 3, 1, 99], BROKERS, scope) == expected


def test_new_executors_go_where_the_partitions_are_led() -> None:
    weights = Counter({"b": 2, "a": 4})
    assert steps(1, 4, weights, ZONE) == [Step(3, ZONE_LABEL, "a"), Step(4, ZONE_LABEL, "b")]
    assert steps(0, 1, weights, NODE) == [Step(1, HOST_LABEL, "a")]
    assert steps(2, 3, {"a": 1, "b": 1}, ZONE) == [Step(3, ZONE_LABEL, "a")]


@pytest.mark.parametrize("scope", [None, PROCESS, ANY])
def test_without_a_place_it_is_one_step_anywhere(scope: int | None) -> None:
    assert steps(1, 4, {"a": 1}, scope) == [Step(4)]


def test_down_or_with_no_known_place_it_is_one_step_anywhere() -> None:
    assert steps(4, 2, {"a": 1}, ZONE) == [Step(2)]
    assert steps(1, 4, {}, ZONE) == [Step(4)]


class Kafka:
    """Two brokers of which one has a rack."""

    down = False

    def brokers(self) -> dict[int, tuple[str, str | None]]:
        if self.down:
            raise UnavailableError("away")
        return {1: ("events-0.events.shop.svc", "a"), 2: ("10.0.0.7", None)}

    def leaders(self, topics: list[str]) -> list[int]:
        assert topics == ["clicks"]
        return [1, 2, 1]


def test_places_come_from_kafka_and_nodes_from_the_brokers_pods() -> None:
    places = Places(Kafka(), ["clicks"], {"events-0": "node-1"}.get)  # type: ignore[arg-type]
    assert places(ZONE) == {"a": 2}
    assert places(NODE) == {"node-1": 2}
    assert places(PROCESS) == places(ANY) == {}


def test_a_kafka_that_is_away_places_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kafka, "down", True)
    assert Places(Kafka(), ["clicks"], lambda _: None)(ZONE) == {}  # type: ignore[arg-type]


def test_without_a_kafka_no_place_is_better() -> None:
    assert Places.of(None, lambda _: "node-1")(ZONE) == {}
