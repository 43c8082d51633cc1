"""A secured KafkaCluster's pods: what they listen at and mount; and how pipelines reach it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.unit.reconcile.stage import Stage
from tests.unit.workloads.manifests import CONFIG, Json, changed, example, kafka_children

from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.workloads.kafka import brokers
from trimtab.workloads.kafka.children import children
from trimtab.workloads.kafka.material import Material
from trimtab.workloads.kafka.topics import topics_job

PLAIN = example("kafka")
SECURED = changed(PLAIN, "security", {"users": ["reports"]})
WITHOUT_LOGINS = changed(PLAIN, "security", {"scram": False})
HELD = Material(stores="s1", users="u1")


def made(manifest: Json, kind: str, material: Material | None = HELD) -> Json:
    spec = KafkaClusterSpec.model_validate(manifest["spec"])
    found = [
        *children(manifest, spec, CONFIG, None, material),
        topics_job(manifest, spec, CONFIG, material),
    ]
    return next(child for child in found if child["kind"] == kind)


def properties(manifest: Json) -> dict[str, str]:
    text = made(manifest, "ConfigMap")["data"]["server.properties"]
    return dict(line.split("=", 1) for line in text.splitlines())


@pytest.mark.parametrize(
    ("manifest", "client"), [(SECURED, "SASL_SSL"), (WITHOUT_LOGINS, "SSL")], ids=["scram", "tls"]
)
def test_nothing_but_the_probe_of_a_secured_broker_is_plain_text(
    manifest: Json, client: str
) -> None:
    found = properties(manifest)
    listeners = dict(each.split("://") for each in found["listeners"].split(","))
    protocols = dict(each.split(":") for each in found["listener.security.protocol.map"].split(","))
    assert protocols.pop("CLIENT") == client
    assert protocols == {"PEERS": "SSL", "LOCAL": "PLAINTEXT", "CONTROLLER": "SSL"}
    assert listeners["LOCAL"].startswith("localhost:"), "nobody outside the pod reaches it"
    for peers in ("peers", "controller"):
        assert found[f"listener.name.{peers}.ssl.client.auth"] == "required"
    assert found["inter.broker.listener.name"] == "PEERS"


def container(manifest: Json, kind: str) -> Json:
    (found,) = made(manifest, kind)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_brokers_mount_their_certificate_and_are_probed_on_loopback() -> None:
    broker = container(SECURED, "StatefulSet")
    env = {each["name"]: each.get("value") for each in broker["env"]}
    assert env["PROBE_PORT"] == "9095"
    assert "LOCAL://localhost:9095" in str(env["KAFKA_OVERRIDES"])
    volumes = made(SECURED, "StatefulSet")["spec"]["template"]["spec"]["volumes"]
    (tls,) = (v["projected"]["sources"] for v in volumes if v["name"] == "tls")
    names = [source["secret"]["name"] for source in tls]
    assert names == ["events-kafka-broker", "events-kafka-ca-cert"]
    assert "events-kafka-authority" not in str(volumes), "no pod sees the key of the authority"


def test_the_job_shows_the_brokers_certificate_and_has_a_file_for_each_user() -> None:
    job = made(SECURED, "Job")
    env = {each["name"]: each["value"] for each in container(SECURED, "Job")["env"]}
    assert env == {
        "KAFKA_CLIENT_CONFIG": "/etc/kafka/peer.properties", "KAFKA_USERS": "/etc/kafka-users",
    }  # fmt: skip
    assert container(SECURED, "Job")["args"][1].endswith(":9094")
    volumes = {v["name"]: v for v in job["spec"]["template"]["spec"]["volumes"]}
    users = [s["secret"]["items"][0]["path"] for s in volumes["users"]["projected"]["sources"]]
    assert users == ["pipelines", "reports"]
    assert "security.protocol=SSL" in made(SECURED, "ConfigMap")["data"]["peer.properties"]
    assert "users" not in {v["name"] for v in _volumes(WITHOUT_LOGINS)}


def _volumes(manifest: Json) -> list[Json]:
    found: list[Json] = made(manifest, "Job")["spec"]["template"]["spec"]["volumes"]
    return found


def test_other_keys_replace_brokers_and_other_logins_make_another_job() -> None:
    spec = KafkaClusterSpec.model_validate(SECURED["spec"])
    other = dataclasses.replace(HELD, stores="s2")
    assert brokers.choices(spec, HELD) != brokers.choices(spec, other)
    login = dataclasses.replace(HELD, users="u2")
    assert brokers.choices(spec, HELD) == brokers.choices(spec, login)
    names = {made(SECURED, "Job", each)["metadata"]["name"] for each in (HELD, other, login)}
    assert len(names) == 2


def test_a_cluster_without_security_is_as_before() -> None:
    found = str(kafka_children(PLAIN))
    assert not any(word in found for word in ("PEERS", "tls", "PROBE_PORT", "peer.properties"))


def reached(**cluster: Any) -> Json:
    """The job document of a pipeline of such a cluster."""
    stage = Stage.at_rest()
    kafka = stage.get("KafkaCluster", "events")
    kafka["spec"] |= cluster
    stage.cluster.put(kafka)
    stage.tick()
    return dict(stage.get("ConfigMap", "clicks-job"))


def test_pipelines_log_in_by_themselves() -> None:
    text = str(reached(security={}))
    assert "events-kafka-user-pipelines" in text
    assert "events-kafka-ca-cert" in text
    assert "SASL_SSL" in text or "scram-sha-512" in text
    assert "events-kafka-user-pipelines" not in str(reached())
