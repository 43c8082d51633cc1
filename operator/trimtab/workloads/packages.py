"""How the pods of a pipeline come to the Python packages that its spec asks for. Pure.

An init container of the pipeline's own image installs them into a volume of the pod
(`trimtab.job.packages`), and the container beside it finds them there.
"""

from __future__ import annotations

from typing import NamedTuple

from trimtab.api.packages import (
    INDEX_DIRECTORY,
    INSTALLER,
    PACKAGES_DIRECTORY,
    PIP_CONFIG,
    REQUIREMENTS_DIRECTORY,
    REQUIREMENTS_FILE,
    VARIABLE,
    PackageIndex,
    Packages,
    digest,
)
from trimtab.api.v1alpha1.transform import Transform
from trimtab.ports import Manifest
from trimtab.workloads.common import CONTAINER_SECURITY, scratch


def asked(transform: Transform, index: PackageIndex, requirements: str) -> Packages | None:
    """The packages of a transform, for its job; None if it asks for none.

    `requirements` is what is in the file that it names.
    """
    if transform.python is None or transform.python.requirements is None:
        return None
    file = transform.python.requirements.config_map
    return Packages(
        config_map=file.name, key=file.key, sha256=digest(requirements.encode()), index=index
    )


class Installing(NamedTuple):
    """What a pod has for it: an init container, volumes, and parts of its main container."""

    containers: list[Manifest]
    volumes: list[Manifest]
    mounts: list[Manifest]
    variables: list[Manifest]


def installing(packages: Packages | None, image: str, resources: Manifest) -> Installing:
    """The parts of a pod that install packages before it starts; nothing if there are none.

    `resources` are those of the main container: the scheduler counts the larger of the two.
    """
    if packages is None:
        return Installing([], [], [], [])
    volumes, mounts = scratch("packages")
    (packages_mount,) = mounts
    for name, path, source in _sources(packages):
        volumes.append({"name": name, **source})
        mounts.append({"name": name, "mountPath": path, "readOnly": True})
    _, scratch_mounts = scratch("tmp", "work")
    container: Manifest = {
        "name": INSTALLER,
        "image": image,
        "args": ["python", "-m", "trimtab.job.packages", "--sha256", packages.sha256],
        "env": _variables(packages.index),
        "securityContext": CONTAINER_SECURITY,
        "resources": resources,
        "volumeMounts": [*scratch_mounts, *mounts],
        # an image without the installer says so in its log alone
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    return Installing(
        [container],
        volumes,
        [packages_mount | {"readOnly": True}],
        [{"name": VARIABLE, "value": PACKAGES_DIRECTORY}],
    )


def _sources(packages: Packages) -> list[tuple[str, str, Manifest]]:
    """Volumes as name, path and source; optional, so that the installer can say what is missing."""
    items = [{"key": packages.key, "path": REQUIREMENTS_FILE}]
    file = {"name": packages.config_map, "items": items, "optional": True}
    found: list[tuple[str, str, Manifest]] = [
        ("requirements", REQUIREMENTS_DIRECTORY, {"configMap": file})
    ]
    if secret := packages.index.secret_name:
        source = {"secret": {"secretName": secret, "optional": True}}
        found.append(("package-index", INDEX_DIRECTORY, source))
    return found


def _variables(index: PackageIndex) -> list[Manifest]:
    """What pip reads; its variables win over its configuration."""
    config = f"{INDEX_DIRECTORY}/{PIP_CONFIG}" if index.secret_name else ""
    said = {
        "PIP_INDEX_URL": index.index_url,
        "PIP_PROXY": index.proxy,
        "PIP_CONFIG_FILE": config,
    }
    return [{"name": name, "value": value} for name, value in said.items() if value]
