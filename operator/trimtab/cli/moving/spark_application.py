"""A SparkApplication of the Kubeflow or the Apache operator as fields of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.api.kinds import SPARK_GROUPS
from trimtab.cli.moving.found import NO_JVM, NO_PLACE, Found, pod_memory
from trimtab.cli.moving.spark_conf import IMAGE_ADVICE, from_conf
from trimtab.ports import Manifest

_MEANT = {"type", "mode", "sparkVersion", "sparkConf", "hadoopConf", "driver", "executor",
          "runtimeVersions", "pythonVersion"}  # fmt: skip
_ADVICE = {
    "mainClass": NO_JVM,
    "deps": "put packages and jars into an image FROM trimtab-pipeline",
    "restartPolicy": "a pipeline always restarts",
    "image": IMAGE_ADVICE,
    "imagePullSecrets": "write podTemplate.imagePullSecrets: [{name: ...}]",
    "dynamicAllocation": "trimtab decides how many executors run",
    "monitoring": "trimtab has its own metrics (docs/metrics.md)",
    "volumes": "Secrets for Kafka are mounted by source.kafka; write others into volumes",
}
_ADVICE_OF_PODS = {
    "serviceAccount": "each pipeline has accounts of its own; write serviceAccount.annotations",
    "affinity": "write podTemplate.driver.affinity or podTemplate.executor.affinity",
    "priorityClassName": "write podTemplate.priorityClassName, or that of one of the two",
    "volumeMounts": "write volumes, each with its mountPath",
}
_OF_PODS = {"cores", "coreRequest", "coreLimit", "memory", "memoryOverhead", "env", "instances",
            "labels", "annotations", "nodeSelector", "tolerations"}  # fmt: skip


def is_one(manifest: Manifest) -> bool:
    """Whether it is a SparkApplication."""
    group = str(manifest.get("apiVersion", "")).partition("/")[0]
    return group in SPARK_GROUPS and str(manifest.get("kind", "")).endswith("SparkApplication")


def from_application(manifest: Manifest) -> Found:
    """What a SparkApplication says; every field that has no place is noted by its path."""
    given: dict[str, Any] = manifest.get("spec") or {}
    spec: dict[str, Any] = given.get("template", given)  # a ScheduledSparkApplication
    found = Found(name=(manifest.get("metadata") or {}).get("name"))
    for role in ("driver", "executor"):
        _pods(role, spec.get(role) or {}, found)
    hadoop = {f"spark.hadoop.{key}": str(v) for key, v in (spec.get("hadoopConf") or {}).items()}
    conf = {key: str(value) for key, value in (spec.get("sparkConf") or {}).items()}
    found.add(from_conf(conf | hadoop))
    allocation = spec.get("dynamicAllocation") or {}
    for field, path in (("minExecutors", "min"), ("maxExecutors", "max")):
        if field in allocation:
            found.set(f"limits.executors.{path}", int(allocation[field]))
    if spec.get("type", "Python") not in {"Python", "Sql"}:
        found.note(f"spec.type: {spec['type']}", NO_JVM)
    told = _MEANT | _script(spec, found)
    for field, value in spec.items():
        if field not in told:
            found.note(f"spec.{field}: {_short(value)}", _ADVICE.get(field, NO_PLACE))
    return found


def _script(spec: Mapping[str, Any], found: Found) -> set[str]:
    """Take over the script that it runs, if it is one; returns the fields that say so."""
    for file, arguments in (("mainApplicationFile", "arguments"), ("pyFiles", "driverArgs")):
        if str(spec.get(file, "")).endswith(".py"):
            found.run(spec[file], [str(each) for each in spec.get(arguments) or ()])
            return {file, arguments}
    return set()


def _pods(role: str, said: Mapping[str, Any], found: Found) -> None:
    for source, path in (
        ("cores", "cores" if role == "executor" else ""), ("coreRequest", "cpuRequest"),
    ):  # fmt: skip
        if source in said and path:
            found.set(f"resources.{role}.{path}", said[source])
    if "memory" in said:
        size = pod_memory(str(said["memory"]), said.get("memoryOverhead"))
        if size:
            found.set(f"resources.{role}.memory", size)
    if role == "executor" and "instances" in said:
        found.set("tuning.initial.executors", int(said["instances"]))
    if said.get("env"):
        found.set("env", said["env"])
    for field in ("labels", "annotations", "tolerations", "nodeSelector"):
        if said.get(field):
            found.set(f"podTemplate.{role}.{field}", said[field])
    for field in (each for each in said if each not in _OF_PODS):
        words = f"spec.{role}.{field}: {_short(said[field])}"
        found.note(words, _ADVICE_OF_PODS.get(field, NO_PLACE))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
