"""Pipelines on a Kafka that Strimzi runs: its listener, its user, its topic."""

from __future__ import annotations

import copy
import json

import pytest
from tests import strimzi
from tests.unit.reconcile.stage import NAMESPACE, Stage
from tests.unit.reconcile.test_partitions import ALLOWED, overload, until_asked
from tests.unit.workloads.manifests import Json

from trimtab.api.connection import KafkaConnection
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.kafka_client import Security
from trimtab.api.v1alpha1.kafka_reference import StrimziReference
from trimtab.errors import BadInputError, UnknownKindError
from trimtab.ports import Key, Manifest
from trimtab.reconcile.observe.strimzi import reached
from trimtab.workloads.names import driver_account

TRUSTED = {
    "trustedCertificates": [{"secretName": "events-cluster-ca-cert", "certificate": "ca.crt"}]
}
SCRAM = {
    "type": "scram-sha-512", "username": "clicks",
    "passwordSecret": {"secretName": "clicks-login", "password": "password"},
}  # fmt: skip
MUTUAL = {
    "type": "tls",
    "certificateAndKey": {
        "secretName": "clicks-login", "certificate": "user.crt", "key": "user.key",
    },
}  # fmt: skip


def named(listener: str, user: str | None = "clicks") -> StrimziReference:
    return StrimziReference(name="events", listener=listener, user=user)


@pytest.mark.parametrize(
    ("listener", "user", "security"),
    [
        ("plain", None, {}),
        ("scram", "scram-sha-512", {"tls": TRUSTED, "authentication": SCRAM}),
        ("tls", "tls", {"tls": TRUSTED, "authentication": MUTUAL}),
    ],
)
def test_a_listener_and_a_user_say_how_a_kafka_is_reached(
    listener: str, user: str | None, security: Json
) -> None:
    found = reached(
        named(listener, user and "clicks"), strimzi.kafka(), strimzi.user(user) if user else None
    )
    wanted = Security.model_validate(security)
    assert found == KafkaConnection(strimzi.address(listener), wanted)


@pytest.mark.parametrize(
    ("listener", "user", "words"),
    [
        ("nine", None, "no listener 'nine', but own, plain, public, scram, tls"),
        ("plain", "tls", "asks for no login: remove user"),
        ("scram", None, "asks for a login (scram-sha-512): write user"),
        ("scram", "tls", "'clicks' logs in by tls, but the listener 'scram'"),
        ("own", "tls", "has the authentication custom: write bootstrapServers"),
        ("public", None, "has a certificate of its own: write bootstrapServers"),
    ],
)
def test_what_does_not_fit_is_said(listener: str, user: str | None, words: str) -> None:
    known = strimzi.user(user) if user else None
    found = reached(named(listener, user and "clicks"), strimzi.kafka(), known)
    assert isinstance(found, tuple)
    assert found[0] == "InvalidSpec"
    assert words in found[1]


def test_a_user_of_another_kafka_does_not_fit() -> None:
    other = strimzi.user("scram-sha-512")
    other["metadata"]["labels"]["strimzi.io/cluster"] = "logs"
    found = reached(named("scram"), strimzi.kafka(), other)
    assert isinstance(found, tuple)
    assert "'clicks' belongs to logs: its label strimzi.io/cluster must be events" in found[1]


def test_what_strimzi_has_not_told_yet_is_waited_for() -> None:
    kafka, user = strimzi.kafka(), strimzi.user("scram-sha-512")
    untold = {k: v for k, v in user.items() if k != "status"}
    for found in (
        reached(named("scram"), kafka | {"status": {}}, user),
        reached(named("scram"), kafka, untold),
    ):
        assert isinstance(found, tuple)
        assert found[0] == "StrimziNotReady"


def stage(partitions: int = 2) -> Stage:
    """A pipeline from a Kafka of Strimzi to another topic of it."""
    made = Stage()
    del made.cluster.objects["KafkaCluster", NAMESPACE, "events"]
    for each in (strimzi.kafka(), strimzi.user("tls"), strimzi.topic("clicks", partitions)):
        made.cluster.put(each)
    reference = {"name": "events", "listener": "tls", "user": "clicks"}
    made.put_pipeline(
        "clicks", source={"kafka": {"strimzi": reference, "topics": ["clicks"]}},
        sink={"kafka": {"strimzi": reference, "topic": "clicks-out"}}, limits=ALLOWED,
        tuning={
            "initial": {"executors": 2, "trigger": "5s", "maxOffsetsPerTrigger": 2500},
            "dwell": {"up": 2, "down": 6},
        },
    )  # fmt: skip
    return made


def job(made: Stage) -> Json:
    document: Json = json.loads(made.get("ConfigMap", "clicks-job")["data"]["job.json"])
    return document


def test_the_driver_gets_the_address_and_the_names_of_the_secrets() -> None:
    made = stage()
    made.tick()
    for end in ("source", "sink"):
        part = job(made)[end]
        assert part["bootstrapServers"] == strimzi.address("tls")
        assert (part["tls"], part["authentication"]) == (TRUSTED, MUTUAL)
    role = made.get("Role", driver_account("clicks"))
    (mounting,) = [rule for rule in role["rules"] if rule["resources"] == ["secrets"]]
    assert mounting["resourceNames"] == ["clicks-login", "events-cluster-ca-cert"]
    identity = made.get("PersistentVolumeClaim", "clicks-checkpoint")["metadata"]["annotations"]
    assert identity["trimtab.dev/sink"] == "topic clicks-out of events"


def test_a_new_address_restarts_the_driver_and_a_user_that_is_gone_stops_nothing() -> None:
    made = stage()
    made.tick()
    made.running()
    before = copy.deepcopy(made.get("StatefulSet", "clicks-driver"))
    gone = made.cluster.objects.pop(("KafkaUser", NAMESPACE, "clicks"))
    for _ in range(4):
        made.tick()
    assert made.condition("Stalled") == ("True", "StrimziNotFound")
    assert made.get("StatefulSet", "clicks-driver")["spec"] == before["spec"]
    made.cluster.put(gone)
    kafka = strimzi.kafka()
    kafka["status"]["listeners"][1]["bootstrapServers"] = "elsewhere:9093"
    made.cluster.put(kafka)
    for _ in range(5):
        made.tick()
    assert job(made)["source"]["bootstrapServers"] == "elsewhere:9093"
    assert made.condition("Stalled")[0] == "False"


@pytest.mark.parametrize(
    "error",
    [
        UnknownKindError("the API server does not know KafkaUser: are the CRDs installed?"),
        BadInputError("the API server refused: kafkausers is forbidden"),
    ],
)
def test_what_may_not_be_read_is_said(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    made = stage()
    get = made.cluster.get

    def refusing(key: Key) -> Manifest | None:
        if key[0] == "KafkaUser":
            raise error
        return get(key)

    monkeypatch.setattr(made.cluster, "get", refusing)
    made.tick()
    assert made.condition("Stalled") == ("True", "StrimziNotFound")
    (stalled,) = [c for c in made.status()["conditions"] if c["type"] == "Stalled"]
    assert str(error) in stalled["message"]


def test_more_partitions_are_asked_of_the_topic_once() -> None:
    made = stage()
    made.tick()
    made.running()
    wish = until_asked(made)
    overload(made, 40)
    live = made.get("KafkaTopic", "clicks")
    assert live["spec"]["partitions"] == wish
    assert live["metadata"]["labels"] == {"strimzi.io/cluster": "events"}
    overload(made, 41)
    assert all(key[0] != "KafkaTopic" for _, key in made.cluster.writes)
    live["spec"]["partitions"] = 2
    made.cluster.put(live)
    for batch in range(42, 46):
        overload(made, batch)
    assert made.get("KafkaTopic", "clicks")["spec"]["partitions"] == wish, "Kafka cannot go back"


@pytest.mark.parametrize("missing", ["gone", "of another Kafka", "of another name"])
def test_without_its_topic_nothing_is_asked(missing: str) -> None:
    made = stage()
    topic = made.cluster.objects.pop(("KafkaTopic", NAMESPACE, "clicks"))
    if missing == "of another Kafka":
        topic["metadata"]["labels"]["strimzi.io/cluster"] = "logs"
    elif missing == "of another name":
        topic["spec"]["topicName"] = "clicks.v2"
    if missing != "gone":
        made.cluster.put(topic)
    made.tick()
    made.running()
    for batch in range(20, 26):
        overload(made, batch)
    (tuning,) = [c for c in made.status()["conditions"] if c["type"] == "Tuning"]
    assert tuning["reason"] == Reason.TOPIC_FIXED
    assert "no KafkaTopic 'clicks' of the Kafka 'events': create one" in tuning["message"]
