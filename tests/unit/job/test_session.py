from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.job.samples import job

from trimtab.api.contract import CHECKPOINT_DIRECTORY, Executors
from trimtab.api.memory import HEAP_MIN_BYTES, OVERHEAD_MIN_BYTES, POD_MIN_BYTES
from trimtab.job.definition import Options, parse_options
from trimtab.job.executors.pod_template import pod_template
from trimtab.job.query.stateful import PROVIDER_KEY
from trimtab.job.session import (
    MIB,
    POD_TEMPLATE,
    REDACTED,
    ROCKSDB,
    configuration,
    memory_split,
)
from trimtab.job.termination import JobFailureError, Reason

ENV = {
    "TRIMTAB_NAMESPACE": "shop",
    "TRIMTAB_POD_NAME": "clicks-0",
    "TRIMTAB_POD_IP": "10.0.0.7",
    "TRIMTAB_TUNING_CONFIGMAP": "clicks-tuning",
    "TRIMTAB_DRIVER_MEMORY_BYTES": str(1024 * MIB),
}
POD = {
    "image": "pipeline:1",
    "cores": 2,
    "cpuRequest": "100m",
    "memoryBytes": 900 * MIB,
    "labels": {"trimtab.dev/pipeline": "clicks"},
}


def options(env: dict[str, str]) -> Options:
    return parse_options([], env)


def test_local_mode_without_executor_pods() -> None:
    conf = configuration(job(), options({}), executors=None)
    assert "spark.master" not in conf, "spark-submit's own default: on all cores here"
    assert "spark.executor.instances" not in conf
    assert "spark.authenticate" not in conf, "all in one process: nobody to authenticate"


def test_client_mode_with_executor_pods() -> None:
    conf = configuration(job(executors=POD), options(ENV), executors=3)
    expected = {
        "spark.master": "k8s://https://kubernetes.default.svc",
        "spark.driver.host": "10.0.0.7",
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.kubernetes.namespace": "shop",
        "spark.kubernetes.driver.pod.name": "clicks-0",
        "spark.kubernetes.container.image": "pipeline:1",
        "spark.kubernetes.executor.request.cores": "100m",
        "spark.kubernetes.executor.label.trimtab.dev/pipeline": "clicks",
        "spark.kubernetes.executor.label.trimtab.dev/pipeline-uid": "uid",
        "spark.executor.instances": "3",
        "spark.executor.cores": "2",
        "spark.driver.memory": "640m",
        "spark.executor.memory": "516m",
        "spark.executor.memoryOverhead": "384m",
        "spark.decommission.enabled": "true",
        "spark.dynamicAllocation.enabled": "false",
        "spark.driver.port": "7078",
        "spark.driver.blockManager.port": "7079",
        "spark.blockManager.port": "7079",
        "spark.port.maxRetries": "0",
        "spark.authenticate": "true",
        "spark.kubernetes.executor.label.trimtab.dev/ports": "fixed",
    }
    assert {key: conf.get(key) for key in expected} == expected


def test_the_web_ui_is_served_on_request_and_only_shows() -> None:
    plain = configuration(job(executors=POD), options(ENV), executors=1)
    assert plain["spark.ui.enabled"] == "false"
    shown = configuration(job(executors=POD, sparkUI=True), options(ENV), executors=1)
    assert {k: v for k, v in shown.items() if plain.get(k) != v} == {
        "spark.ui.enabled": "true", "spark.ui.port": "4040", "spark.ui.killEnabled": "false",
        "spark.redaction.regex": REDACTED,
    }  # fmt: skip


def test_events_are_logged_on_request_in_files_that_are_closed_now_and_then() -> None:
    plain = configuration(job(executors=POD), options(ENV), executors=1)
    assert not [key for key in plain if key.startswith("spark.eventLog")]
    logged = configuration(job(executors=POD, eventLogUri="s3a://b/e"), options(ENV), executors=1)
    assert {k: v for k, v in logged.items() if plain.get(k) != v} == {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": "s3a://b/e",
        "spark.eventLog.compress": "true", "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "10m", "spark.redaction.regex": REDACTED,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["fs.s3a.secret.key", "fs.azure.account.key.x.dfs.core.windows.net", "a.passphrase", "a.token"],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert re.search(REDACTED, f"spark.hadoop.{name}")
    assert not re.search(REDACTED, "spark.hadoop.fs.s3a.endpoint")


def test_listeners_are_told_of_events_if_there_are_any() -> None:
    assert "spark.extraListeners" not in configuration(job(), options({}), executors=None)
    asked = job(listeners=["shop.Seen", "shop.Other"])
    keys = configuration(asked, options({}), executors=None)
    assert keys["spark.extraListeners"] == "shop.Seen,shop.Other"


def test_executors_get_the_environment_and_the_nodes_of_the_pipeline() -> None:
    pod = POD | {"env": {"LOG_LEVEL": "info"}, "nodeSelector": {"example.com/disk": "ssd"}}
    conf = configuration(job(executors=pod), options(ENV), executors=1)
    assert conf["spark.executorEnv.LOG_LEVEL"] == "info"
    assert conf["spark.kubernetes.executor.node.selector.example.com/disk"] == "ssd"


def executors(**changes: Any) -> Executors:
    return Executors.model_validate(POD | changes)


def test_executor_pods_are_told_their_node_and_zone() -> None:
    conf = configuration(job(executors=POD), options(ENV), executors=1)
    assert conf["spark.kubernetes.executor.podTemplateFile"] == str(POD_TEMPLATE)
    template = pod_template(executors(), ())
    (container,) = template["spec"]["containers"]
    fields = {e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"] for e in container["env"]}
    assert fields == {
        "TRIMTAB_NODE": "spec.nodeName",
        "TRIMTAB_ZONE": "metadata.labels['topology.kubernetes.io/zone']",
    }


def test_executor_pods_mount_the_checkpoint_only_where_it_is_shared() -> None:
    assert "checkpoint" not in {v["name"] for v in pod_template(executors(), ())["spec"]["volumes"]}
    spec = pod_template(executors(checkpointClaim="clicks-checkpoint"), ())["spec"]
    (volume,) = (v for v in spec["volumes"] if v["name"] == "checkpoint")
    assert volume["persistentVolumeClaim"] == {"claimName": "clicks-checkpoint"}
    mounts = {m["name"]: m["mountPath"] for m in spec["containers"][0]["volumeMounts"]}
    assert mounts["checkpoint"] == CHECKPOINT_DIRECTORY
    assert spec["securityContext"]["fsGroup"] == 10001, "as the driver's"


def test_executor_pods_are_restricted_and_hold_no_token() -> None:
    spec = pod_template(executors(), ())["spec"]
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    written = {m["mountPath"] for m in container["volumeMounts"]}
    assert written == {"/tmp", "/opt/work", "/var/data/spark-local-dir-1"}
    assert all("sizeLimit" in v["emptyDir"] for v in spec["volumes"])
    assert "ephemeral-storage" in container["resources"]["requests"]


def test_the_local_directory_is_as_large_as_is_said() -> None:
    for asked, limit in ((None, "20Gi"), (3 << 30, "3Gi")):
        volumes = pod_template(executors(scratchBytes=asked), ())["spec"]["volumes"]
        (local,) = (v for v in volumes if v["name"].startswith("spark-local-dir-"))
        assert local["emptyDir"] == {"sizeLimit": limit}


PARTS = {
    "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
    "imagePullPolicy": "Always",
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "priorityClassName": "high",
    "labels": {"team": "data"},
    "annotations": {"example.com/evict": "no"},
}


def test_executor_pods_have_what_users_add() -> None:
    conf = configuration(job(executors=POD | {"podTemplate": PARTS}), options(ENV), executors=1)
    prefix = "spark.kubernetes"
    assert conf[f"{prefix}.container.image.pullSecrets"] == "one,two"
    assert conf[f"{prefix}.container.image.pullPolicy"] == "Always"
    assert conf[f"{prefix}.executor.label.team"] == "data"
    assert conf[f"{prefix}.executor.label.trimtab.dev/pipeline"] == "clicks"
    assert conf[f"{prefix}.executor.annotation.example.com/evict"] == "no"
    plain = configuration(job(executors=POD), options(ENV), executors=1)
    assert plain[f"{prefix}.container.image.pullPolicy"] == "IfNotPresent"
    assert f"{prefix}.container.image.pullSecrets" not in plain


def test_the_template_of_executor_pods_holds_what_spark_has_no_key_for() -> None:
    spec, before = (
        pod_template(executors(**more), ())["spec"] for more in ({"podTemplate": PARTS}, {})
    )
    assert spec == before | {
        "tolerations": [{"key": "spot", "operator": "Exists"}], "priorityClassName": "high",
    }  # fmt: skip


def test_state_is_kept_by_rocksdb_within_the_memory_beside_the_heap() -> None:
    conf = configuration(job(executors=POD), options(ENV), executors=1)
    assert conf[PROVIDER_KEY].endswith(".RocksDBStateStoreProvider")
    assert conf[f"{ROCKSDB}.changelogCheckpointing.enabled"] == "true"
    assert conf[f"{ROCKSDB}.boundedMemoryUsage"] == "true"
    assert conf[f"{ROCKSDB}.maxMemoryUsageMB"] == "96"
    mine = {f"{ROCKSDB}.maxMemoryUsageMB": "300"}
    conf = configuration(job(executors=POD, sparkConf=mine), options(ENV), executors=1)
    assert conf[f"{ROCKSDB}.maxMemoryUsageMB"] == "300"


def test_the_users_keys_win_over_the_defaults() -> None:
    mine = {"spark.sql.session.timeZone": "Europe/Berlin", "spark.memory.fraction": "0.7"}
    conf = configuration(job(executors=POD, sparkConf=mine), options(ENV), executors=1)
    assert mine.items() <= conf.items()
    assert conf["spark.speculation"] == "false"


def test_a_reserved_name_ends_the_driver_with_words() -> None:
    mine = {"spark.speculation": "true", "spark.memory.fraction": "0.7"}
    pod = POD | {"env": {"LD_PRELOAD": "x"}}
    with pytest.raises(
        JobFailureError, match=r"'spark.speculation' is reserved.*'LD_PRELOAD'"
    ) as e:
        configuration(job(executors=pod, sparkConf=mine), options(ENV), executors=1)
    assert (e.value.reason, e.value.heals) == (Reason.SETTINGS_INVALID, False)


def test_says_what_is_missing_from_the_environment() -> None:
    with pytest.raises(JobFailureError, match="TRIMTAB_POD_IP"):
        configuration(job(executors=POD), options({}), executors=1)


def test_the_pod_is_heap_and_overhead_and_not_too_small() -> None:
    heap, overhead = memory_split(4000 * MIB)
    assert heap + overhead == 4000 * MIB
    assert overhead == 800 * MIB
    assert memory_split(POD_MIN_BYTES) == (HEAP_MIN_BYTES, OVERHEAD_MIN_BYTES)
    for size in (POD_MIN_BYTES - 1, 600 * MIB):
        with pytest.raises(JobFailureError, match="834Mi"):
            memory_split(size)


def test_the_options_of_the_jvms_are_those_that_were_advised() -> None:
    plain = configuration(job(executors=POD), options(ENV), executors=1)
    keys = {f"spark.{role}.extraJavaOptions" for role in ("driver", "executor")}
    assert not keys & plain.keys()
    pod = POD | {"javaOptions": "-XX:+UseParallelGC"}
    env = ENV | {"TRIMTAB_DRIVER_JAVA_OPTIONS": "-XX:+UseG1GC"}
    conf = configuration(job(executors=pod), options(env), executors=1)
    assert conf["spark.executor.extraJavaOptions"] == "-XX:+UseParallelGC"
    assert conf["spark.driver.extraJavaOptions"] == "-XX:+UseG1GC"
