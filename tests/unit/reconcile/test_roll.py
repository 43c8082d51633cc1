"""Brokers are replaced one at a time, all others in sync, and never by an upgrade alone."""

from __future__ import annotations

import copy

import pytest
from tests.unit.reconcile.brokers import SET, Kafka

from trimtab.reconcile.decide.roll import next_one
from trimtab.reconcile.observe.brokers import Broker, Brokers
from trimtab.workloads.common import HASH_ANNOTATION
from trimtab.workloads.kafka.brokers import CHOICES_ANNOTATION

LAST, MIDDLE, FIRST = "events-kafka-2", "events-kafka-1", "events-kafka-0"


def images(kafka: Kafka) -> list[str | None]:
    """The template that each broker runs, by its annotation."""
    pods = [kafka.pod(ordinal) for ordinal in range(3)]
    return [p["metadata"]["annotations"].get(CHOICES_ANNOTATION) if p else None for p in pods]


def test_an_edit_replaces_one_broker_after_the_other() -> None:
    kafka = Kafka.running()
    before = images(kafka)
    kafka.edit("resources.memory", "2Gi")
    assert kafka.tick() == [], "the StatefulSet controller has not seen the new template"
    assert kafka.condition("Ready")[:2] == ("False", "BrokersRolling"), "though all are in sync"
    kafka.controllers()
    for number, name in enumerate((LAST, MIDDLE, FIRST)):
        assert kafka.tick() == [name]
        assert kafka.condition("Ready")[:2] == ("False", "BrokersRolling")
        assert kafka.tick() == [], "it has no pod"
        kafka.controllers()
        assert kafka.tick() == [], "it starts"
        kafka.report(2 - number, ready=False)
        assert kafka.tick() == [], "it is not in sync"
        assert "not in sync yet: " + name in kafka.condition("Ready")[2]
        kafka.report(2 - number)
    assert kafka.tick() == []
    assert kafka.condition("Ready")[:2] == ("True", "BrokersReady")
    assert all(now != old for now, old in zip(images(kafka), before, strict=True))
    replaced = [message for reason, message in kafka.cluster.events if reason == "BrokerReplaced"]
    assert len(replaced) == 3


def test_a_single_broker_is_replaced_too() -> None:
    kafka = Kafka.running(replicas=1)
    kafka.edit("resources.memory", "2Gi")
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == [FIRST]
    kafka.controllers()
    kafka.kubelet()
    assert kafka.tick() == []
    assert kafka.condition("Ready")[0] == "True"


def test_a_new_default_image_waits_for_consent() -> None:
    kafka = Kafka.running()
    kafka.start_operator("kafka:2")
    for _ in range(3):
        assert kafka.tick() == []
        kafka.controllers()
    revision = kafka.cluster.objects[SET]["status"]["updateRevision"]
    assert kafka.status["updateRevision"] == revision
    assert kafka.condition("Ready")[:2] == ("True", "BrokersReady"), "they run as the spec says"
    status, reason, words = kafka.condition("UpdateAvailable")
    assert (status, reason) == ("True", "WaitsForConsent")
    assert f"trimtab.dev/roll={revision}" in words
    assert "3 of 3 brokers" in words
    kafka.consent(revision)
    for name in (LAST, MIDDLE, FIRST):
        assert kafka.tick() == [name]
        assert kafka.tick() == []
        kafka.controllers()
        kafka.kubelet()
    assert kafka.tick() == []
    assert kafka.condition("UpdateAvailable")[:2] == ("False", "UpToDate")
    assert "updateRevision" not in kafka.status or kafka.status["updateRevision"] is None


def test_consent_is_for_one_revision() -> None:
    kafka = Kafka.running()
    kafka.start_operator("kafka:2")
    kafka.tick()
    kafka.controllers()
    kafka.consent(kafka.cluster.objects[SET]["status"]["updateRevision"])
    kafka.settle()
    kafka.start_operator("kafka:3")
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == []
    assert kafka.condition("UpdateAvailable")[0] == "True"


def test_a_broker_that_comes_back_by_itself_takes_the_upgrade_along() -> None:
    kafka = Kafka.running()
    kafka.start_operator("kafka:2")
    kafka.tick()
    kafka.controllers()
    del kafka.cluster.objects[kafka.key(1)]
    kafka.controllers()
    kafka.kubelet()
    assert kafka.tick() == []
    assert "2 of 3 brokers" in kafka.condition("UpdateAvailable")[2]


def test_brokers_of_an_operator_that_stamped_nothing_wait_for_consent_too() -> None:
    kafka = Kafka.running()
    for ordinal in range(3):
        pod = kafka.pod(ordinal)
        assert pod
        del pod["metadata"]["annotations"][CHOICES_ANNOTATION]
        pod["metadata"]["labels"]["controller-revision-hash"] = "older"
        kafka.cluster.put(pod)
    assert kafka.tick() == []
    assert kafka.condition("Ready")[0] == "True"
    assert kafka.condition("UpdateAvailable")[0] == "True"


def test_an_edit_that_does_not_start_stops_at_the_first_broker_and_can_be_mended() -> None:
    kafka = Kafka.running()
    kafka.edit("image", "no-such-image")
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == [LAST]
    kafka.controllers()
    for _ in range(3):
        assert kafka.tick() == []
    kafka.edit("image", None)
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == [LAST], "it does not serve, so it need not be waited for"
    kafka.controllers()
    kafka.kubelet()
    assert kafka.tick() == []
    assert kafka.condition("Ready")[0] == "True"


def test_where_no_broker_starts_an_edit_acts_all_the_same() -> None:
    kafka = Kafka()
    kafka.tick()
    kafka.controllers()
    kafka.edit("resources.memory", "512Mi")
    kafka.tick()
    kafka.controllers()
    assert [kafka.tick() for _ in range(3)] == [[LAST], [MIDDLE], [FIRST]]


def test_nothing_goes_while_what_would_come_is_the_old() -> None:
    kafka = Kafka.running()
    kafka.refuse("StatefulSet", "quota")
    kafka.edit("resources.memory", "2Gi")
    kafka.tick()
    kafka.controllers()
    assert [kafka.tick() for _ in range(3)] == [[], [], []]
    assert kafka.condition("Ready")[:2] == ("False", "ChildRefused")
    kafka.refuse("StatefulSet")
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == [LAST]


def test_what_the_watches_have_not_told_yet_is_read_before_a_broker_goes() -> None:
    kafka = Kafka.running()
    kafka.edit("resources.memory", "2Gi")
    kafka.tick()
    kafka.controllers()
    assert kafka.tick() == [LAST]
    kafka.controllers()
    kafka.report(2)
    kafka.loop.resync()
    kafka.report(2, ready=False)
    assert kafka.tick(listed=False) == []
    kafka.report(2)
    assert kafka.tick() == [MIDDLE]


def test_brokers_that_kubernetes_replaced_are_taken_over() -> None:
    kafka = Kafka.running()
    older = copy.deepcopy(kafka.cluster.objects[SET])
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    older["spec"]["updateStrategy"] = rolling
    older["metadata"]["annotations"][HASH_ANNOTATION] = "older"
    kafka.cluster.put(older)
    assert kafka.tick() == []
    writes = [how for how, key in kafka.cluster.writes if key == SET]
    assert writes[:2] == ["replace", "apply"], "an apply alone is refused"
    assert kafka.cluster.objects[SET]["spec"]["updateStrategy"] == {"type": "OnDelete"}
    kafka.controllers()
    kafka.tick()
    assert "replace" not in [how for how, _ in kafka.cluster.writes]
    assert kafka.condition("Ready")[0] == "True"


def broker(name: str, *, old: bool = True, **values: bool) -> Broker:
    return Broker(
        name, name, "r1" if old else "r2", "old" if old else "new",
        **({"started": True, "ready": True} | values),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "goes"),
    [
        ([broker("a"), broker("b"), broker("c")], "c"),
        ([broker("a"), broker("b"), broker("c", old=False)], "b"),
        ([broker("a"), broker("b")], None),
        ([broker("a"), broker("b", ready=False), broker("c")], "b"),
        ([broker("a"), broker("b", old=False, ready=False), broker("c")], None),
        ([broker("a", ready=False), broker("b", ready=False), broker("c")], None),
        ([broker("a"), broker("b"), broker("c", terminating=True)], None),
        ([broker("a", started=False, ready=False), broker("b", ready=False), broker("c")], "a"),
        ([broker("a", old=False), broker("b", old=False), broker("c", old=False)], None),
    ],
)
def test_which_broker_goes_next(found: list[Broker], goes: str | None) -> None:
    brokers = Brokers(3, tuple(found), "new", "r2")
    before = copy.deepcopy(brokers)
    chosen = next_one(brokers, "new", None)
    assert (chosen.name if chosen else None) == goes
    assert brokers == before
    assert next_one(Brokers(3, tuple(found), "new", ""), "new", None) is None
    assert next_one(Brokers(3, tuple(found), "old", "r2"), "new", None) is None
