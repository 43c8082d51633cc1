"""The certificates and passwords of a secured KafkaCluster: made, renewed in steps, made anew."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.reconcile.brokers import Kafka
from tests.unit.reconcile.stage import NAMESPACE

from trimtab.adapters.certificates import OwnCertificates
from trimtab.errors import BadInputError
from trimtab.ports import Key
from trimtab.reconcile.decide.keys import AUTHORITY_DAYS, BROKER_DAYS, Keys, renewed

DAY_S = 86_400.0
NOW_S = 1_900_000_000.0
HOSTS = ["events-kafka-0.events-kafka.n.svc"]
CERTIFICATES = OwnCertificates()


def then(keys: Keys, days: float, *, settled: bool = True) -> Keys:
    return renewed(keys, HOSTS, NOW_S + days * DAY_S, CERTIFICATES, settled=settled)


def signed(keys: Keys) -> bool:
    """Whether the newest authority has signed the brokers' certificate."""
    assert keys.authority
    assert keys.broker
    return CERTIFICATES.signed(keys.broker.certificate, keys.authority.certificate)


def test_all_is_made_once_and_stays() -> None:
    first = then(Keys(), 0, settled=False)
    assert first.authority
    assert first.trusted == first.authority.certificate
    assert signed(first)
    assert then(first, 1) == first


def test_the_certificate_of_the_brokers_is_renewed_in_time() -> None:
    first = then(Keys(), 0)
    assert then(first, 0.6 * BROKER_DAYS) == first
    later = then(first, 0.7 * BROKER_DAYS, settled=False)
    assert later.broker != first.broker
    assert (later.authority, later.trusted) == (first.authority, first.trusted)


def test_an_authority_is_trusted_before_it_signs_and_until_it_ends() -> None:
    old = then(Keys(), 0)
    day = 0.7 * AUTHORITY_DAYS
    old = then(old, day - 200)  # its brokers' certificate is young
    both = then(old, day)
    assert both.authority != old.authority
    assert both.authority
    assert old.authority
    assert both.trusted == both.authority.certificate + old.authority.certificate
    assert both.broker == old.broker, "brokers do not know the new authority yet"
    assert then(both, day + 1, settled=False) == both
    moved = then(both, day + 1)
    assert signed(moved)
    assert moved.trusted == both.trusted, "clients may still know the old one only"
    ended = then(moved, AUTHORITY_DAYS + 1)
    assert ended.trusted == both.authority.certificate


@pytest.mark.parametrize("lost", ["authority", "broker", "trusted"])
def test_what_is_lost_or_spoilt_is_made_anew(lost: str) -> None:
    first = then(Keys(), 0)
    again = then(replace(first, **{lost: "" if lost == "trusted" else None}), 1)
    assert signed(again)
    assert again.authority
    assert again.trusted.startswith(again.authority.certificate)
    if lost != "authority":
        assert again.authority == first.authority


# through the loop

SECURED = {"security": {"tls": True, "scram": True, "users": ["reports"]}}


def secret(name: str) -> Key:
    return ("Secret", NAMESPACE, f"events-kafka-{name}")


def value(kafka: Kafka, name: str, key: str) -> str:
    return base64.b64decode(kafka.cluster.objects[secret(name)]["data"][key]).decode()


def stores(kafka: Kafka) -> list[Any]:
    pods = [kafka.pod(ordinal) for ordinal in range(3)]
    return [pod and pod["metadata"]["annotations"]["trimtab.dev/choices-hash"] for pod in pods]


def test_a_secured_cluster_has_its_secrets_and_is_ready_once_its_users_are_made() -> None:
    kafka = Kafka(**SECURED)
    kafka.settle(jobs=False)
    assert kafka.condition("Ready")[:2] == ("False", "TopicsPending")
    names = ("authority", "ca-cert", "broker", "user-pipelines", "user-reports")
    assert all(secret(name) in kafka.cluster.objects for name in names)
    assert value(kafka, "user-reports", "username") == "reports"
    assert len(value(kafka, "user-reports", "password")) > 40
    assert value(kafka, "broker", "broker.pem").startswith("-----BEGIN PRIVATE KEY-----")
    kafka.settle()
    assert kafka.condition("Ready")[0] == "True"


def test_a_quiet_tick_writes_nothing() -> None:
    kafka = Kafka.running(**SECURED)
    kafka.tick()
    kafka.tick()
    assert kafka.cluster.writes == []


def test_a_deleted_login_is_made_anew_and_set_and_no_broker_is_replaced() -> None:
    kafka = Kafka.running(**SECURED)
    (job,) = kafka.jobs()
    password = value(kafka, "user-pipelines", "password")
    del kafka.cluster.objects[secret("user-pipelines")]
    before = stores(kafka)
    kafka.settle()
    assert value(kafka, "user-pipelines", "password") != password
    (later,) = kafka.jobs()
    assert later["metadata"]["name"] != job["metadata"]["name"]
    assert stores(kafka) == before


def test_a_renewed_certificate_replaces_the_brokers_one_after_another() -> None:
    kafka = Kafka.running(**SECURED)
    before = stores(kafka)
    del kafka.cluster.objects[secret("broker")]
    replaced = []
    for _ in range(30):
        gone = kafka.tick()
        assert len(gone) <= 1
        replaced += gone
        kafka.controllers()
        kafka.kubelet()
    assert replaced == [f"events-kafka-{n}" for n in (2, 1, 0)]
    assert set(stores(kafka)).isdisjoint(before)
    assert kafka.condition("Ready")[0] == "True"


def test_an_operator_that_may_not_keep_secrets_says_what_to_allow() -> None:
    kafka = Kafka(**SECURED)
    get = kafka.cluster.get

    def refusing(key: Key) -> Any:
        if key[0] == "Secret":
            raise BadInputError("secrets is forbidden")
        return get(key)

    kafka.cluster.get = refusing  # type: ignore[method-assign]
    kafka.tick()
    kafka.tick()
    status, reason, message = kafka.condition("Stalled")
    assert (status, reason) == ("True", "SecretsNotAllowed")
    assert "kafkaSecurity.enabled=true" in message
    assert ("StatefulSet", NAMESPACE, "events-kafka") not in kafka.cluster.objects


def test_a_foreign_secret_of_that_name_is_left_alone() -> None:
    kafka = Kafka(**SECURED)
    kafka.cluster.put({
        "apiVersion": "v1", "kind": "Secret", "data": {},
        "metadata": {"name": "events-kafka-broker", "namespace": NAMESPACE},
    })  # fmt: skip
    kafka.tick()
    kafka.tick()
    assert kafka.condition("Stalled")[:2] == ("True", "NameTaken")
    assert kafka.cluster.objects[secret("broker")]["data"] == {}
