"""What the driver's pod reports: running, starting, or why it does not start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimtab.api.contract import DRIVER_STATE_ANNOTATION, EXECUTORS_ANNOTATION, FORM
from trimtab.api.modules import COPIER
from trimtab.api.packages import INSTALLER
from trimtab.api.quantities import parse_quantity
from trimtab.ports import Manifest
from trimtab.reconcile.observe.containers import (
    IMAGE_REASONS,
    last_end,
    log,
    not_started,
    statuses,
)
from trimtab.reconcile.observe.installer import not_copied, not_installed
from trimtab.workloads.common import COMPONENT_LABEL, INPUTS_ANNOTATION
from trimtab.workloads.ownership import controller

OUTDATED = (
    "the image holds an older trimtab than the operator, and the cluster may refuse the executors"
    " that it makes: build the image anew on the present one; its driver"
)
"""What precedes the words of a driver whose image is too old to say more."""

MAX_REASON = 64
"""Maximum characters of a reason in a condition or an Event."""


@dataclass(frozen=True, slots=True)
class DriverPod:
    """The state of the driver's pod. `failure` is (reason, message) of what keeps it down."""

    exists: bool = False
    ready: bool = False
    terminating: bool = False
    inputs: str = ""
    uid: str = ""
    memory: int = 0
    """Bytes that the pod may use; 0 if unknown."""
    job: str = ""
    """The ConfigMap with its job document."""
    account: str = ""
    """Its service account."""
    failure: tuple[str, str] | None = None
    executors_refused: str = ""
    """The API server's answer when the driver asked for executors; empty if they are granted."""


def drivers(pods: Iterable[Manifest]) -> Mapping[str, tuple[str, ...]]:
    """The names of all drivers' pods, by the uid of the StatefulSet that made them."""
    found: dict[str, tuple[str, ...]] = {}
    for pod in pods:
        owner, labels = controller(pod), pod["metadata"].get("labels") or {}
        if owner and labels.get(COMPONENT_LABEL) == "driver":
            found[owner["uid"]] = (*found.get(owner["uid"], ()), pod["metadata"]["name"])
    return found


def made_by(pod: Manifest | None, stateful_set: Manifest | None) -> Manifest | None:
    """The pod if this StatefulSet made it; any pod could have its name and its labels."""
    owner = controller(pod) if pod else None
    known = stateful_set["metadata"]["uid"] if stateful_set else None
    return pod if owner and owner["uid"] == known else None


def driver_pod(pod: Manifest | None) -> DriverPod:
    """Read the pod; None if there is none."""
    if pod is None:
        return DriverPod()
    meta, status = pod["metadata"], pod.get("status", {})
    conditions = status.get("conditions") or []
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return DriverPod(
        exists=True,
        ready=ready,
        terminating="deletionTimestamp" in meta,
        inputs=(meta.get("annotations") or {}).get(INPUTS_ANNOTATION, ""),
        uid=meta.get("uid", ""),
        memory=_memory(pod),
        job=_job(pod),
        account=(pod.get("spec") or {}).get("serviceAccountName", ""),
        failure=None if ready else _announced(meta) or _failure(pod) or _outdated(pod),
        executors_refused=(meta.get("annotations") or {}).get(EXECUTORS_ANNOTATION, ""),
    )


def _memory(pod: Manifest) -> int:
    (container, *_) = (pod.get("spec") or {}).get("containers") or [{}]
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory", 0)
    return parse_quantity(limit)


def _job(pod: Manifest) -> str:
    volumes = (pod.get("spec") or {}).get("volumes") or []
    return next((v["configMap"]["name"] for v in volumes if v["name"] == "job"), "")


def _announced(meta: Manifest) -> tuple[str, str] | None:
    """What the driver wrote on its own pod while it waits for a failure to heal."""
    text = (meta.get("annotations") or {}).get(DRIVER_STATE_ANNOTATION, "")
    reason, separator, message = text.partition(": ")
    return (reason[:64], message) if separator else None


def _failure(pod: Manifest) -> tuple[str, str] | None:
    status = pod.get("status", {})
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return "Unschedulable", f"no node fits the driver: {condition.get('message', '')}"
    for container in statuses(status):
        state = container.get("state", {})
        waiting = state.get("waiting") or {}
        reason = waiting.get("reason", "")
        if reason in IMAGE_REASONS:
            return "ImageCannotStart", f"{container['image']}: {waiting.get('message', reason)}"
        ended = last_end(container)
        if container.get("name") == COPIER and (
            failed := not_copied(waiting, ended or {}, _image(pod, COPIER))
        ):
            return failed
        if (words := not_started(container)) is not None:
            return "DriverCannotStart", words
        if ended and ended.get("exitCode"):
            if container.get("name") == INSTALLER:
                return not_installed(ended, "resources.driver.memory")
            return _ended(ended)
    return None


def _image(pod: Manifest, name: str) -> str:
    """The image of an init container as its spec has it; its status may have a hash alone."""
    containers = (pod.get("spec") or {}).get("initContainers") or []
    return next((each["image"] for each in containers if each["name"] == name), "the image")


def _outdated(pod: Manifest) -> tuple[str, str] | None:
    """A driver of 0.1.0 does not know the liveness probe: it is stopped, and drains well."""
    if "deletionTimestamp" in pod["metadata"]:
        return None
    for container in pod.get("status", {}).get("containerStatuses") or []:
        ended = last_end(container)
        if ended and not _current(log(ended)):
            return "DriverFailed", f"{OUTDATED} does not answer the liveness probe"
    return None


def _current(told: Manifest) -> bool:
    """Whether a termination log is that of a driver of the operator's own release."""
    form = told.get("form")
    return isinstance(form, int) and form >= FORM


def _ended(ended: Manifest) -> tuple[str, str]:
    """The reason in the driver's termination log, else how the container ended."""
    text, told = ended.get("message") or "", log(ended)
    if {"reason", "message"} <= told.keys():
        reason, words = str(told["reason"])[:MAX_REASON], str(told["message"])
        return reason, words if _current(told) else f"{OUTDATED} said: {words}"
    if ended.get("reason") == "OOMKilled":
        return "DriverOutOfMemory", "the driver ran out of memory: raise resources.driver.memory"
    tail = text.strip().splitlines()[-1:] or [ended.get("reason", "no reason given")]
    return "DriverFailed", f"the driver ended with exit code {ended['exitCode']}: {tail[0][:300]}"
