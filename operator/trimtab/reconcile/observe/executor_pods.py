"""Why executors are missing: the API server's answer, else what their pods report. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.api.common import moment
from trimtab.api.packages import INSTALLER
from trimtab.api.quantities import parse_amount
from trimtab.ports import Manifest, Name
from trimtab.reconcile.observe.containers import (
    CONFIG_REASONS,
    IMAGE_REASONS,
    statuses,
)
from trimtab.reconcile.observe.installer import not_installed
from trimtab.workloads.common import COMPONENT_LABEL, PIPELINE_LABEL

RECENT_S = 120.0
"""A failed executor explains missing ones for this long: Spark replaces it at once."""

_QUOTA = re.compile(
    r"exceeded quota: (?P<name>\S+), requested: (?P<requested>\S+),"
    r" used: (?P<used>\S+), limited: (?P<limited>\S+)"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why executors are missing."""

    reason: str
    message: str
    refused: bool = False
    """Whether waiting will not help: the trial that asked for them ends at once."""


def by_pipeline(pods: Iterable[Manifest]) -> dict[Name, list[Manifest]]:
    """The executor pods of each pipeline."""
    found: dict[Name, list[Manifest]] = defaultdict(list)
    for pod in pods:
        if name := pipeline_of(pod):
            found[name].append(pod)
    return found


def pipeline_of(pod: Manifest) -> Name | None:
    """The pipeline that an executor pod belongs to; None for any other pod."""
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    if labels.get(COMPONENT_LABEL) != "executor" or PIPELINE_LABEL not in labels:
        return None
    return meta["namespace"], labels[PIPELINE_LABEL]


def cause(
    refused: str, pods: Sequence[Manifest], last_failed: Manifest | None, now_s: float
) -> Cause | None:
    """The clearest known cause; None if none is known.

    `refused` is the API server's answer to the driver.
    """
    if refused:
        return _refusal(refused)
    found = [c for pod in pods if (c := _waiting(pod))]
    if found:
        return next((c for c in found if c.refused), found[0])
    return _failure(last_failed, now_s) if last_failed else None


def _refusal(answer: str) -> Cause:
    if quota := _QUOTA.search(answer):
        return Cause("QuotaExceeded", _no_room(quota), refused=True)
    if "violates PodSecurity" in answer:
        reason = "PodSecurityViolated"
    elif "denied" in answer:
        reason = "AdmissionDenied"
    else:
        reason = "ExecutorsRefused"
    return Cause(reason, f"the API server refuses executor pods: {answer}", refused=True)


def _no_room(quota: re.Match[str]) -> str:
    """What the quota lacks for one more executor, for each resource that it limits."""
    requested, used, limited = (_amounts(quota[k]) for k in ("requested", "used", "limited"))
    words = []
    for resource, asked in requested.items():
        said = f"{resource} {used.get(resource, '?')} of {limited.get(resource, '?')} used"
        short = _short(asked, used.get(resource), limited.get(resource))
        lacks = f", {short} too little" if short else ""
        words.append(f"{said}, an executor needs {asked}{lacks}")
    return f"the ResourceQuota {quota['name']} has no room for an executor: {'; '.join(words)}"


def _amounts(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.rstrip(".").split(","))
    return {name: value for name, _, value in pairs}


def _short(asked: str, used: str | None, limited: str | None) -> str:
    """By how much the quota is too small, in the unit of the request; empty if unknown."""
    if used is None or limited is None:
        return ""
    try:
        short = parse_amount(asked) + parse_amount(used) - parse_amount(limited)
    except ValueError:
        return ""
    unit = asked.lstrip("0123456789.")
    return f"{short / parse_amount(f'1{unit}'):g}{unit}"


def _waiting(pod: Manifest) -> Cause | None:
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            why = condition.get("message", "")
            return Cause("Unschedulable", f"no node fits executor {name}: {why}")
    for container in statuses(status):
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason, said = waiting.get("reason", ""), waiting.get("message", "")
        if reason in IMAGE_REASONS:
            message = f"executor {name}: {container['image']}: {said or reason}"
            return Cause("ImageCannotStart", message, refused=reason != "ErrImagePull")
        if reason in CONFIG_REASONS:
            return Cause("ExecutorCannotStart", f"executor {name}: {said or reason}", refused=True)
    return None


def failed(pod: Manifest) -> Manifest | None:
    """How the container of an executor pod ended by itself, and not well; None if it did not."""
    if "deletionTimestamp" in pod["metadata"]:
        return None
    for container in statuses(pod.get("status") or {}):
        state = (container.get("state") or {}).get("terminated")
        if state and state.get("exitCode"):
            return {**state, "container": container.get("name")}
    return None


def _failure(pod: Manifest, now_s: float) -> Cause | None:
    state = failed(pod)
    if state is None or now_s - moment(state.get("finishedAt")) > RECENT_S:
        return None
    if state["container"] == INSTALLER:
        reason, words = not_installed(state, "resources.executor.memory")
        return Cause(reason, f"executor {pod['metadata']['name']}: {words}")
    why = state.get("reason") or "no reason given"
    name, code = pod["metadata"]["name"], state["exitCode"]
    message = f"executors fail: {name} ended with exit code {code} ({why})"
    if why == "OOMKilled":
        message += ": raise resources.executor.memory"
    return Cause("ExecutorsFail", message)
