"""What the kubelet says of the containers of a pod."""

from __future__ import annotations

import json

from trimtab.api.modules import COPIER
from trimtab.api.packages import INSTALLER
from trimtab.ports import Manifest

IMAGE_REASONS = {
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
    "ImageInspectError",
}  # fmt: skip
CONFIG_REASONS = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
"""Reasons for which a container waits, as the kubelet names them."""

NEVER_STARTED = {"StartError", "ContainerCannotRun"}
"""Reasons for which a container ends that has never run."""


def statuses(pod_status: Manifest) -> list[Manifest]:
    """The statuses of the containers in the order in which these start, without others' init ones.

    Those that a mesh adds say nothing of the pipeline.
    """
    before = pod_status.get("initContainerStatuses") or ()
    own = [each for each in before if each["name"] in {INSTALLER, COPIER}]
    return [*own, *(pod_status.get("containerStatuses") or ())]


def last_end(container: Manifest) -> Manifest | None:
    """How a container ended last; None if it never has."""
    states = (container.get("state") or {}, container.get("lastState") or {})
    return next((state["terminated"] for state in states if state.get("terminated")), None)


def not_started(container: Manifest) -> str | None:
    """Why a container cannot be started, as it waits for that or has ended without; else None."""
    waiting = (container.get("state") or {}).get("waiting") or {}
    ended = last_end(container) or {}
    for told, reasons in ((waiting, CONFIG_REASONS), (ended, NEVER_STARTED)):
        if (reason := told.get("reason")) in reasons:
            return str(told.get("message") or reason)
    return None


def log(ended: Manifest) -> Manifest:
    """A container's termination log; empty if it wrote none."""
    try:
        told = json.loads(ended.get("message") or "")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
