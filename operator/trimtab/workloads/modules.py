"""How the driver's pod comes to the Python modules in another image. Pure.

An init container of that image copies its folder into a volume of the pod. An image can be mounted
as a volume too, but clusters that allow this are rare yet.
"""

from __future__ import annotations

from typing import NamedTuple

from trimtab.api.modules import COPIED_DIRECTORY, COPIER
from trimtab.api.v1alpha1.transform import ModulesImage
from trimtab.ports import Manifest
from trimtab.workloads.common import CONTAINER_SECURITY, scratch


class Copying(NamedTuple):
    """What the pod has for it: an init container, volumes, and mounts of its main container."""

    containers: list[Manifest]
    volumes: list[Manifest]
    mounts: list[Manifest]


def copying(source: ModulesImage | None, resources: Manifest) -> Copying:
    """The parts of a pod that copy the modules before it starts; nothing without an image.

    `resources` are those of the main container: the scheduler counts the larger of the two.
    """
    if source is None:
        return Copying([], [], [])
    volumes, (mount,) = scratch("copied")
    container: Manifest = {
        "name": COPIER,
        "image": source.image,
        "command": ["cp", "-R", f"{source.path}/.", COPIED_DIRECTORY],
        "securityContext": CONTAINER_SECURITY,
        "resources": resources,
        "volumeMounts": [mount],
        "terminationMessagePolicy": "FallbackToLogsOnError",  # what cp says
    }
    return Copying([container], volumes, [mount | {"readOnly": True}])
