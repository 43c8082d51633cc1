"""Spark's settings as fields of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trimtab.api.reserved import env_faults, spark_faults
from trimtab.cli.moving.found import Found, pod_memory

_NUMBERS = {
    "spark.sql.shuffle.partitions": "transform.shufflePartitions",
    "spark.executor.instances": "tuning.initial.executors",
    "spark.dynamicAllocation.minExecutors": "limits.executors.min",
    "spark.dynamicAllocation.maxExecutors": "limits.executors.max",
    "spark.executor.cores": "resources.executor.cores",
}
_CPU = {
    "spark.kubernetes.executor.request.cores": "resources.executor.cpuRequest",
    "spark.kubernetes.driver.request.cores": "resources.driver.cpuRequest",
}
_ENV = re.compile(r"spark\.(executorEnv|kubernetes\.driverEnv)\.(?P<name>.+)")
_SECRET_ENV = re.compile(r"spark\.kubernetes\.(driver|executor)\.secretKeyRef\.(?P<name>.+)")
_OF_PODS = re.compile(
    r"spark\.kubernetes\.((?P<role>driver|executor)\.(?P<kind>node\.selector|label|annotation)"
    r"|node\.selector)\.(?P<name>.+)"
)
_FIELDS = {"node.selector": "nodeSelector", "label": "labels", "annotation": "annotations"}
_OF_THE_LAUNCH = re.compile(
    r"spark\.(master|submit\..*|app\.name|driver\.(cores|memory|memoryOverhead|host|port)"
    r"|executor\.(instances|memory|memoryOverhead)|dynamicAllocation\..*|kubernetes\..*)$"
)
IMAGE = "spark.kubernetes.container.image"
IMAGE_ADVICE = (
    "an image of yours begins with FROM trimtab-pipeline; write it into spec.image"
    " (docs/migration.md)"
)


def from_conf(conf: Mapping[str, str]) -> Found:
    """What settings say; those that trimtab sets itself are noted with what to write instead."""
    found = Found()
    env: dict[str, object] = {}
    for key, value in conf.items():
        _take(key, value, found, env)
    if env:
        names = {name for name in env if not env_faults([name])}
        found.set("env", [{"name": name, **env[name]} for name in sorted(names)])  # type: ignore[dict-item]
        for name in sorted(env.keys() - names):
            found.note(f"env {name}", "trimtab sets it itself")
    _sizes(conf, found)
    return found


def _take(key: str, value: str, found: Found, env: dict[str, object]) -> None:
    if key in _NUMBERS:
        found.set(_NUMBERS[key], int(value))
    elif key in _CPU:
        found.set(_CPU[key], value)
    elif key == IMAGE:
        found.note(f"the image {value}", IMAGE_ADVICE)
    elif each := _ENV.fullmatch(key):
        env.setdefault(each["name"], {"value": value})
    elif each := _SECRET_ENV.fullmatch(key):
        name, _, of_secret = value.partition(":")
        source = {"valueFrom": {"secretKeyRef": {"name": name, "key": of_secret}}}
        env.setdefault(each["name"], source)
    elif each := _OF_PODS.fullmatch(key):
        _pod(found, each["role"], each["kind"] or "node.selector", each["name"], value)
    elif faults := spark_faults({key: value}):
        if not _OF_THE_LAUNCH.match(key):
            found.note(f"sparkConf {key}={value}", faults[0].partition(": ")[2] or faults[0])
    elif not _OF_THE_LAUNCH.match(key):
        found.fields.setdefault("sparkConf", {})[key] = value


def _pod(found: Found, role: str | None, kind: str, name: str, value: str) -> None:
    path = f"podTemplate.{role}.{_FIELDS[kind]}" if role else _FIELDS[kind]
    if kind != "node.selector" and (name.startswith("spark") or "trimtab.dev/" in name):
        found.note(f"the {kind} {name}", "the name is reserved; choose another")
    else:
        found.fields.setdefault(path, {})[name] = value


def _sizes(conf: Mapping[str, str], found: Found) -> None:
    for role in ("driver", "executor"):
        heap = conf.get(f"spark.{role}.memory")
        if heap is None:
            continue
        size = pod_memory(heap, conf.get(f"spark.{role}.memoryOverhead"))
        if size is None:
            found.note(f"spark.{role}.memory={heap}", f"write resources.{role}.memory")
        else:
            found.set(f"resources.{role}.memory", size)
