"""A Kafka cluster's children: safe pods, volumes that stay, names that fit."""

from __future__ import annotations

import dataclasses
import re

import pytest
from tests.unit.workloads.manifests import (
    CONFIG,
    LONGEST,
    ROOT,
    Json,
    changed,
    example,
    kafka_children,
    pods,
)

from trimtab.api.memory import BROKER_MIN_BYTES
from trimtab.api.quantities import format_quantity
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.workloads.kafka.brokers import CHOICES_ANNOTATION
from trimtab.workloads.kafka.children import children as children_of
from trimtab.workloads.kafka.names import bootstrap_servers, cluster_id

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
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert "memory" in container["resources"]["limits"]
            assert "ephemeral-storage" in container["resources"]["requests"]
        scratch = [v["emptyDir"] for v in pod["volumes"] if "emptyDir" in v]
        assert scratch
        assert all("sizeLimit" in each for each in scratch)


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_volumes_stay_unless_their_deletion_is_asked_for(policy: str) -> None:
    manifest = changed(KAFKA, "deletionPolicy", policy)
    found = by_kind(manifest)["StatefulSet"]["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert found == {"whenDeleted": policy, "whenScaled": "Retain"}
    assert by_kind()["StatefulSet"]["spec"]["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain", "whenScaled": "Retain",
    }  # fmt: skip


def broker(manifest: Json = KAFKA) -> Json:
    (found,) = by_kind(manifest)["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    made: Json = found
    return made


def test_a_broker_may_read_its_logs_for_an_hour_and_is_ready_by_its_own_state() -> None:
    for probe in ("startupProbe", "livenessProbe"):
        assert broker()[probe]["tcpSocket"] == {"port": "client"}
    start = broker()["startupProbe"]
    assert start["failureThreshold"] * start["periodSeconds"] == 3600
    assert start["periodSeconds"] <= 2, "a start waits for it"
    command = broker()["readinessProbe"]["exec"]["command"]
    assert command[-1] == "/opt/kafka/in_sync.py"
    assert (ROOT / "images/kafka/in_sync.py").exists()
    assert "POD_INDEX" in {variable["name"] for variable in broker()["env"]}


def test_a_drain_takes_one_of_several_brokers_at_a_time() -> None:
    assert "PodDisruptionBudget" not in by_kind(), "it would block the drain of a single one"
    children = by_kind(changed(KAFKA, "replicas", 3))
    budget = children["PodDisruptionBudget"]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == children["StatefulSet"]["spec"]["selector"]


def test_kubernetes_replaces_no_broker_by_itself() -> None:
    assert by_kind()["StatefulSet"]["spec"]["updateStrategy"] == {"type": "OnDelete"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("image", "kafka:2"), ("resources.memory", "2Gi"), ("spread", "Preferred"),
        ("podTemplate.priorityClassName", "streams"),
    ],
)  # fmt: skip
def test_what_is_chosen_for_the_pods_is_stamped_on_them(path: str, value: str) -> None:
    assert chosen(changed(KAFKA, path, value)) != chosen(KAFKA)


def test_what_is_not_for_the_pods_is_not() -> None:
    for path, value in (("storage.size", "5Gi"), ("topics", []), ("deletionPolicy", "Delete")):
        assert chosen(changed(KAFKA, path, value)) == chosen(KAFKA), path
    assert chosen(changed(KAFKA, "spread", "Required")) == chosen(KAFKA), "as by default"
    assert chosen(changed(KAFKA, "podTemplate", {})) == chosen(KAFKA), "nothing is asked for"
    newer = kafka_children(KAFKA, dataclasses.replace(CONFIG, kafka_image="kafka:2"))
    assert annotation(newer) == chosen(KAFKA), "an upgrade is not the user's choice"


def chosen(manifest: Json) -> str:
    return annotation(kafka_children(manifest))


def annotation(children: list[Json]) -> str:
    (stateful_set,) = (child for child in children if child["kind"] == "StatefulSet")
    found: str = stateful_set["spec"]["template"]["metadata"]["annotations"][CHOICES_ANNOTATION]
    return found


def test_the_heap_is_half_of_the_memory() -> None:
    heap = next(e["value"] for e in broker()["env"] if e["name"] == "KAFKA_HEAP_OPTS")
    assert heap == "-Xms512m -Xmx512m"
    assert broker()["resources"]["limits"] == {"memory": "1Gi"}
    least = changed(KAFKA, "resources.memory", format_quantity(BROKER_MIN_BYTES))
    assert {"name": "KAFKA_HEAP_OPTS", "value": "-Xms256m -Xmx256m"} in broker(least)["env"]


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


@pytest.mark.parametrize(
    ("spread", "nodes"), [(None, "DoNotSchedule"), ("Preferred", "ScheduleAnyway")]
)
def test_brokers_spread_over_zones_and_must_over_nodes(spread: str | None, nodes: str) -> None:
    manifest = changed(changed(KAFKA, "replicas", 3), "spread", spread)
    stateful_set = by_kind(manifest)["StatefulSet"]["spec"]
    found = stateful_set["template"]["spec"]["topologySpreadConstraints"]
    assert {each["topologyKey"]: each["whenUnsatisfiable"] for each in found} == {
        "topology.kubernetes.io/zone": "ScheduleAnyway", "kubernetes.io/hostname": nodes,
    }  # fmt: skip
    for each in found:
        assert each["labelSelector"] == stateful_set["selector"]
        assert each["maxSkew"] == 1, "two on one node only where there are too few nodes"
        assert "minDomains" not in each, "and with too few, they start all the same"
        assert each["nodeTaintsPolicy"] == "Honor", "a control plane is no node for them"


def test_the_template_of_the_claims_stays_as_it_was_made() -> None:
    made = by_kind(changed(KAFKA, "storage", {"size": "1Gi", "storageClassName": "fast"}))
    spec = KafkaClusterSpec.model_validate(changed(KAFKA, "storage", {"size": "5Gi"})["spec"])
    (*_, again) = children_of(KAFKA, spec, CONFIG, made["StatefulSet"])
    before = made["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert again["spec"]["volumeClaimTemplates"] == before
    assert again["metadata"] == made["StatefulSet"]["metadata"], "no write, so no revision"


def test_a_broker_takes_its_rack_from_its_zone() -> None:
    names = [variable["name"] for variable in broker()["env"]]
    overrides = next(e["value"] for e in broker()["env"] if e["name"] == "KAFKA_OVERRIDES")
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


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ({"retentionMs": -1}, "a:1:-1:1"), ({"retentionBytes": 1 << 20}, "a:1::1:1048576"),
        ({"partitions": 2, "retentionMs": 1000, "retentionBytes": -1}, "a:2:1000:1:-1"),
    ],
)  # fmt: skip
def test_a_topic_is_told_to_the_job_with_its_retention(topic: Json, words: str) -> None:
    pod = by_kind(changed(KAFKA, "topics", [{"name": "a"} | topic]))["Job"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["args"][-1] == words


def test_the_log_of_a_failed_try_stays() -> None:
    job = by_kind()["Job"]["spec"]
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    (container,) = job["template"]["spec"]["containers"]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_names_and_labels_of_the_longest_cluster_fit() -> None:
    children = kafka_children(changed(example("kafka", name=LONGEST), "replicas", 3))
    assert {child["kind"] for child in children} == {
        "ConfigMap", "Service", "NetworkPolicy", "PodDisruptionBudget", "StatefulSet", "Job",
    }  # fmt: skip
    for child in children:
        assert len(child["metadata"]["name"]) <= 63, child["kind"]
    assert all(len(v) <= 63 for t in pods(children) for v in t["metadata"]["labels"].values())
    # as the status keeps it
    assert len(bootstrap_servers(LONGEST, "n" * 63, 5)) <= 1024
