"""A pipeline's children: what is safe, what restarts a driver, what outlives the pipeline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workloads.manifests import (
    CONFIG,
    LONGEST,
    Json,
    changed,
    example,
    inputs,
    pipeline_children,
    pods,
)

from trimtab.api.contract import Job
from trimtab.job.definition import parse_options
from trimtab.workloads.common import HASH_ANNOTATION
from trimtab.workloads.pipeline import IDENTITY_ANNOTATION

PIPELINE = example("pipeline")


def driver(manifest: Json = PIPELINE) -> Json:
    template: Json = pipeline_children(manifest)["StatefulSet"]["spec"]["template"]["spec"]
    return template


def test_the_driver_has_no_rights_that_it_does_not_need() -> None:
    pod = driver()
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] >= 1000
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    assert not [v for v in pod["volumes"] if "hostPath" in v]
    assert all("sizeLimit" in v.get("emptyDir", {"sizeLimit": ""}) for v in pod["volumes"])
    assert "ephemeral-storage" in container["resources"]["requests"]


def test_the_driver_knows_its_node_and_zone() -> None:
    (container,) = driver()["containers"]
    fields = {
        each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in container["env"]
        if "valueFrom" in each
    }
    assert fields["TRIMTAB_NODE"] == "spec.nodeName"
    assert fields["TRIMTAB_ZONE"] == "metadata.labels['topology.kubernetes.io/zone']"


def test_the_role_names_the_one_document_and_no_secret() -> None:
    rules = pipeline_children(PIPELINE)["Role"]["rules"]
    resources = {r: rule for rule in rules for r in rule["resources"]}
    assert set(resources) == {"pods", "configmaps"}
    assert resources["configmaps"]["resourceNames"] == ["clicks-tuning"]
    assert set(resources["configmaps"]["verbs"]) == {"get", "list", "watch"}
    assert "*" not in {verb for rule in rules for verb in rule["verbs"]}


def test_at_most_one_driver_and_only_we_replace_it() -> None:
    spec = pipeline_children(PIPELINE)["StatefulSet"]["spec"]
    assert (spec["replicas"], spec["updateStrategy"]) == (1, {"type": "OnDelete"})
    suspended = changed(PIPELINE, "suspend", True)
    assert pipeline_children(suspended)["StatefulSet"]["spec"]["replicas"] == 0


def test_the_driver_has_time_to_finish_its_batch() -> None:
    slow = changed(PIPELINE, "drainTimeout", "2m")
    assert driver(slow)["terminationGracePeriodSeconds"] == 135


def test_the_driver_is_ready_when_it_says_so() -> None:
    (container,) = driver()["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert container["readinessProbe"]["httpGet"]["port"] in ports
    assert container["livenessProbe"]["httpGet"] == {"path": "/live", "port": "metrics"}
    assert container["resources"]["limits"] == {"memory": "1536Mi"}
    assert container["terminationMessagePolicy"] == "File"


def test_the_driver_looks_where_the_pod_has_its_documents() -> None:
    pod = driver()
    mounted = {m["name"]: Path(m["mountPath"]) for m in pod["containers"][0]["volumeMounts"]}
    maps = {v["name"]: v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v}
    options = parse_options(pod["containers"][0]["args"][1:], {})
    assert (options.job.parent, options.settings.parent) == (mounted["job"], mounted["tuning"])
    assert (options.job.name, options.settings.name) == ("job.json", "settings.json")
    assert options.modules == mounted["modules"]
    job = pipeline_children(PIPELINE)["ConfigMap"]["metadata"]["name"]
    assert maps == {"job": job, "tuning": "clicks-tuning", "modules": "clicks-transform"}
    assert job.startswith("clicks-job-")


def test_the_job_document_says_what_the_spec_says() -> None:
    job = Job.from_json(pipeline_children(PIPELINE)["ConfigMap"]["data"]["job.json"])
    assert job.transform.module == "clicks:transform"
    assert job.transform.params == {"wait_ms": "8"}
    assert job.source.topics == ["clicks"]
    assert job.executors
    assert job.executors.memory_bytes == 900 << 20
    assert job.executors.scratch_bytes is None, "an older driver would not know it"
    assert job.checkpoint_uri.endswith("/g1/query")


def test_env_and_nodes_reach_driver_and_executors() -> None:
    own = changed(PIPELINE, "env", [{"name": "LOG_LEVEL", "value": "info"}])
    own = changed(own, "nodeSelector", {"disk": "ssd"})
    job = Job.from_json(pipeline_children(own)["ConfigMap"]["data"]["job.json"])
    assert job.executors
    assert job.executors.env == {"LOG_LEVEL": "info"}
    assert job.executors.node_selector == driver(own)["nodeSelector"] == {"disk": "ssd"}
    assert {"name": "LOG_LEVEL", "value": "info"} in driver(own)["containers"][0]["env"]


def test_a_retained_claim_has_no_owner_and_everything_else_has() -> None:
    for kind, child in pipeline_children(PIPELINE).items():
        owners = child["metadata"].get("ownerReferences", [])
        assert bool(owners) == (kind != "PersistentVolumeClaim"), kind
    deleted = pipeline_children(changed(PIPELINE, "checkpoint.deletionPolicy", "Delete"))
    (owner,) = deleted["PersistentVolumeClaim"]["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("uid-1", True)


def test_a_change_of_the_deletion_policy_reaches_the_claim() -> None:
    def stamp(manifest: Json) -> str:
        claim = pipeline_children(manifest)["PersistentVolumeClaim"]
        hash_: str = claim["metadata"]["annotations"][HASH_ANNOTATION]
        return hash_

    retained = changed(PIPELINE, "checkpoint.deletionPolicy", "Retain")
    deleted = changed(PIPELINE, "checkpoint.deletionPolicy", "Delete")
    assert stamp(PIPELINE) == stamp(retained) != stamp(deleted)
    again = PIPELINE | {"metadata": PIPELINE["metadata"] | {"uid": "uid-2"}}
    assert stamp(again) == stamp(PIPELINE), "a new pipeline of the same name adopts it as it is"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("source.kafka.topics", ["other"]),
        ("sink.outputMode", "update"),
        ("transform.shufflePartitions", 4),
        ("checkpoint.generation", 2),
    ],
)
def test_a_checkpoint_belongs_to_topics_and_mode(path: str, value: Any) -> None:
    def identity(manifest: Json) -> str:
        claim = pipeline_children(manifest)["PersistentVolumeClaim"]
        words: str = claim["metadata"]["annotations"][IDENTITY_ANNOTATION]
        return words

    assert identity(changed(PIPELINE, path, value)) != identity(PIPELINE)
    for same, other in (
        ("goal.latency.target", "3s"),
        ("source.kafka", {"bootstrapServers": "a:9093,b:9093", "topics": ["clicks"]}),
        ("sink.kafka.topic", "other"),
    ):
        assert identity(changed(PIPELINE, same, other)) == identity(PIPELINE), same


def test_a_shared_checkpoint_is_mounted_by_the_executors_too() -> None:
    def told(manifest: Json) -> tuple[Any, str | None]:
        children = pipeline_children(manifest)
        job = Job.from_json(children["ConfigMap"]["data"]["job.json"])
        assert job.executors
        modes = children["PersistentVolumeClaim"]["spec"]["accessModes"]
        return modes, job.executors.checkpoint_claim

    shared = changed(PIPELINE, "checkpoint.volumeClaim.shared", True)
    assert told(shared) == (["ReadWriteMany"], "clicks-checkpoint")
    assert told(PIPELINE) == (["ReadWriteOnce"], None)


AWAY = changed(PIPELINE, "checkpoint", {"uri": "s3a://bucket/path/", "generation": 2})


def test_a_checkpoint_under_a_uri_has_no_claim_and_a_place_of_its_own() -> None:
    children = pipeline_children(AWAY)
    assert "PersistentVolumeClaim" not in children
    pod = children["StatefulSet"]["spec"]["template"]["spec"]
    assert "checkpoint" not in {v["name"] for v in pod["volumes"]}
    assert "checkpoint" not in {m["name"] for m in pod["containers"][0]["volumeMounts"]}
    job = Job.from_json(children["ConfigMap"]["data"]["job.json"])
    meta = PIPELINE["metadata"]
    own = f"{meta['namespace']}/{meta['name']}"
    assert job.checkpoint_uri == f"s3a://bucket/path/{own}/g2/query"
    assert job.executors
    assert job.executors.checkpoint_claim is None


def test_the_driver_remembers_what_a_checkpoint_under_a_uri_belongs_to() -> None:
    def identity(manifest: Json) -> str | None:
        meta = pipeline_children(manifest)["StatefulSet"]["metadata"]
        words: str | None = meta["annotations"].get(IDENTITY_ANNOTATION)
        return words

    assert identity(PIPELINE) is None, "its claim does"
    assert identity(AWAY) is not None
    for path, value in (("sink.outputMode", "update"), ("checkpoint.uri", "s3a://other/path")):
        assert identity(changed(AWAY, path, value)) != identity(AWAY)


def test_the_inputs_of_a_pipeline_that_says_nothing_new_are_those_of_older_operators() -> None:
    assert inputs(PIPELINE) == "2b995cd046", "another hash restarts every driver at an upgrade"


def test_an_upgrade_of_the_operator_restarts_no_driver() -> None:
    upgraded = replace(CONFIG, pipeline_image="pipeline:2")
    assert inputs(PIPELINE, upgraded) == inputs(PIPELINE)
    own = changed(PIPELINE, "image", "mine:1")
    assert inputs(changed(PIPELINE, "image", "mine:2")) != inputs(own) != inputs(PIPELINE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("goal.latency.target", "3s"),
        ("limits.executors.max", 4),
        ("limits.cores", 4),
        ("tuning.mode", "Observe"),
        ("tuning.pinned", {"executors": 2}),
        ("tuning.bounds", {"higher": 0.9, "lower": 0.4}),
        ("suspend", True),
        ("checkpoint.deletionPolicy", "Delete"),
        ("sparkUI", {"enabled": False}),
        ("source.kafka.startingOffsets", "latest"),
        ("source.kafka.failOnDataLoss", False),
    ],
)
def test_an_edit_of_goal_limits_tuning_or_source_restarts_no_driver(path: str, value: Any) -> None:
    assert inputs(changed(PIPELINE, path, value)) == inputs(PIPELINE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("transform.python.params", {"wait_ms": "9"}),
        ("source.kafka.topics", ["other"]),
        ("sink.kafka.topic", "other"),
        ("checkpoint.generation", 2),
        ("env", [{"name": "A", "value": "1"}]),
        ("sparkConf", {"spark.sql.shuffle.partitions": "8"}),
        ("nodeSelector", {"disk": "ssd"}),
        ("resources.driver.memory", "2Gi"),
        ("resources.executor.memory", "1Gi"),
        ("resources.executor.scratch", "1Gi"),
        ("resources.executor.cores", 2),
        ("drainTimeout", "30s"),
        ("hangTimeout", "1h"),
        ("sparkUI", {"enabled": True}),
        ("eventLog", {"uri": "s3a://bucket/events"}),
        ("listeners", ["shop.Seen"]),
        ("source.kafka.includeHeaders", True),
        ("transform.python.modulesFrom", {"image": f"jobs@sha256:{'0' * 64}"}),
    ],
)
def test_an_edit_of_the_job_or_the_pods_restarts_the_driver(path: str, value: Any) -> None:
    assert inputs(changed(PIPELINE, path, value)) != inputs(PIPELINE)


def test_other_sql_restarts_the_driver() -> None:
    plain = changed(PIPELINE, "transform.python", None)
    one = changed(plain, "transform.sql", "SELECT key, value FROM source")
    other = changed(plain, "transform.sql", "SELECT key, upper(value) AS value FROM source")
    assert len({inputs(one), inputs(other), inputs(PIPELINE)}) == 3


def test_other_code_in_the_config_map_restarts_the_driver() -> None:
    one, other = {"data": {"clicks.py": "a"}}, {"data": {"clicks.py": "b"}}
    assert inputs(PIPELINE, modules=one) != inputs(PIPELINE, modules=other)
    relabelled = one | {"metadata": {"labels": {"a": "b"}}}
    assert inputs(PIPELINE, modules=relabelled) == inputs(PIPELINE, modules=one)
    packed, packed_anew = (one | {"binaryData": {"lib.whl": each}} for each in ("QQ==", "Qg=="))
    found = [inputs(PIPELINE, modules=each) for each in (one, packed, packed_anew)]
    assert len(set(found)) == 3


def test_names_and_labels_of_the_longest_pipeline_fit() -> None:
    children = list(pipeline_children(example("pipeline", name=LONGEST)).values())
    for child in children:
        assert len(child["metadata"]["name"]) <= 63, child["kind"]
        assert all(len(value) <= 63 for value in child["metadata"]["labels"].values())
        # a StatefulSet's pods carry <name>-<ten characters of a hash> as a label
        assert child["kind"] != "StatefulSet" or len(child["metadata"]["name"]) + 11 <= 63
    assert all(len(v) <= 63 for t in pods(children) for v in t["metadata"]["labels"].values())


def test_the_same_spec_gives_the_same_children() -> None:
    assert pipeline_children(PIPELINE) == pipeline_children(example("pipeline"))


def test_an_upgrade_hashes_the_inputs_as_before() -> None:
    """Another hash restarts every driver that runs: what is new must not be in it unless said."""
    spec = {
        "goal": {"latency": {"target": "15s"}},
        "source": {"kafka": {"bootstrapServers": "k:9092", "topics": ["in"]}},
        "transform": {"sql": "SELECT key, value FROM source"},
        "sink": {"kafka": {"bootstrapServers": "k:9092", "topic": "out"}},
    }
    meta = {"name": "clicks", "namespace": "n", "uid": "uid-1", "generation": 1}
    manifest = {"kind": "StreamPipeline", "metadata": meta, "spec": spec}
    assert inputs(manifest) == "0cf2534729"
