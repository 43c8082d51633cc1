"""A Kafka cluster's children: safe pods, volumes that stay, names that fit."""

from __future__ import annotations

import re

import pytest
from tests.unit.workloads.manifests import LONGEST, Json, changed, example, kafka_children, pods

from trimtab.api.memory import BROKER_MIN_BYTES
from trimtab.api.quantities import format_quantity
from trimtab.workloads.kafka import bootstrap_servers, cluster_id

KAFKA = example("kafka")


def by_kind(manifest: Json = KAFKA) -> dict[str, Json]:
    return {child["kind"]: child for child in kafka_children(manifest)}


def test_no_pod_has_rights_that_it_does_not_need() -> None:
    templates = pods(kafka_children(KAFKA))
    assert len(templates) == 2
    for template in templates:
        pod = template["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_volumes_stay_unless_their_deletion_is_asked_for(policy: str) -> None:
    manifest = changed(KAFKA, "deletionPolicy", policy)
    found = by_kind(manifest)["StatefulSet"]["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert found == {"whenDeleted": policy, "whenScaled": "Retain"}
    assert by_kind()["StatefulSet"]["spec"]["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain", "whenScaled": "Retain",
    }  # fmt: skip


def test_a_broker_is_probed_at_its_start_and_after() -> None:
    (broker,) = by_kind()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert broker[probe]["tcpSocket"] == {"port": "client"}
    start = broker["startupProbe"]
    assert start["failureThreshold"] * start["periodSeconds"] >= 60


def test_the_heap_is_half_of_the_memory() -> None:
    (broker,) = by_kind()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    heap = next(e["value"] for e in broker["env"] if e["name"] == "KAFKA_HEAP_OPTS")
    assert heap == "-Xms512m -Xmx512m"
    assert broker["resources"]["limits"] == {"memory": "1Gi"}
    least = changed(KAFKA, "resources.memory", format_quantity(BROKER_MIN_BYTES))
    (broker,) = by_kind(least)["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "KAFKA_HEAP_OPTS", "value": "-Xms256m -Xmx256m"} in broker["env"]


def test_the_voters_find_each_other_before_they_are_ready() -> None:
    children = by_kind(changed(KAFKA, "replicas", 3))
    assert children["Service"]["spec"]["publishNotReadyAddresses"] is True
    assert children["StatefulSet"]["spec"]["podManagementPolicy"] == "Parallel"
    lines = dict(
        line.split("=", 1)
        for line in children["ConfigMap"]["data"]["server.properties"].splitlines()
    )
    assert len(lines["controller.quorum.voters"].split(",")) == 3
    assert lines["min.insync.replicas"] == "2"
    assert lines["auto.create.topics.enable"] == "false"


def test_one_broker_needs_no_copies() -> None:
    text = by_kind()["ConfigMap"]["data"]["server.properties"]
    assert "default.replication.factor=1\n" in text
    assert "min.insync.replicas=1\n" in text


def test_brokers_spread_over_zones_and_nodes_but_start_on_one() -> None:
    stateful_set = by_kind(changed(KAFKA, "replicas", 3))["StatefulSet"]["spec"]
    found = stateful_set["template"]["spec"]["topologySpreadConstraints"]
    keys = [each["topologyKey"] for each in found]
    assert keys == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    assert {each["whenUnsatisfiable"] for each in found} == {"ScheduleAnyway"}
    for each in found:
        assert each["labelSelector"] == stateful_set["selector"]


def test_a_broker_takes_its_rack_from_its_zone() -> None:
    (broker,) = by_kind()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    names = [variable["name"] for variable in broker["env"]]
    overrides = next(e["value"] for e in broker["env"] if e["name"] == "KAFKA_OVERRIDES")
    assert "broker.rack=$(TRIMTAB_ZONE)" in overrides.split()
    # Kubernetes puts in only what stands before
    assert names.index("TRIMTAB_ZONE") < names.index("KAFKA_OVERRIDES")
    assert "RackAwareReplicaSelector\n" in by_kind()["ConfigMap"]["data"]["server.properties"]


def test_the_cluster_id_follows_from_the_name_alone() -> None:
    assert cluster_id("n", "events") == cluster_id("n", "events")
    names = [("n", "events"), ("n", "other"), ("m", "events")]
    assert len({cluster_id(*name) for name in names}) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{21}", cluster_id(*n)) for n in names)


def test_the_topics_job_is_named_by_what_it_makes() -> None:
    one, other = by_kind()["Job"], by_kind(changed(KAFKA, "topics", [{"name": "a"}]))["Job"]
    assert one["metadata"]["name"] == by_kind()["Job"]["metadata"]["name"]
    assert one["metadata"]["name"] != other["metadata"]["name"]
    turned = changed(KAFKA, "topics", KAFKA["spec"]["topics"][::-1])
    assert by_kind(turned)["Job"]["metadata"]["name"] == one["metadata"]["name"]
    (container,) = one["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "topics"
    assert "clicks:12::1" in container["args"]
    forever = changed(KAFKA, "topics", [{"name": "a", "retentionMs": -1}])
    (container,) = by_kind(forever)["Job"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == "a:1:-1:1", "as retention.ms is written for Kafka"


def test_names_and_labels_of_the_longest_cluster_fit() -> None:
    children = kafka_children(example("kafka", name=LONGEST))
    assert {child["kind"] for child in children} == {
        "ConfigMap", "Service", "NetworkPolicy", "StatefulSet", "Job",
    }  # fmt: skip
    for child in children:
        assert len(child["metadata"]["name"]) <= 63, child["kind"]
    assert all(len(v) <= 63 for t in pods(children) for v in t["metadata"]["labels"].values())
    # as the status keeps it
    assert len(bootstrap_servers(LONGEST, "n" * 63, 5)) <= 1024
