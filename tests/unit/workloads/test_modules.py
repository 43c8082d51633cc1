"""Modules out of another image: the driver's pod copies them, and no executor does."""

from __future__ import annotations

from typing import Any

from tests.unit.workloads.manifests import (
    CONFIG,
    Json,
    changed,
    example,
    pipeline_children,
    reached,
)

from trimtab.job.executors.pod_template import pod_template
from trimtab.workloads.pipeline import job_definition

IMAGE = "registry.example/jobs@sha256:" + "0" * 64
COPIED = "/var/lib/trimtab/modules"
PLAIN = example("pipeline")
ASKED = changed(PLAIN, "transform.python.modulesFrom", {"image": IMAGE, "path": "/opt/jobs"})


def pod_of(manifest: Json) -> Any:
    return pipeline_children(manifest)["StatefulSet"]["spec"]["template"]["spec"]


def test_the_image_copies_its_folder_into_a_volume_that_the_driver_only_reads() -> None:
    pod = pod_of(ASKED)
    (first,) = pod["initContainers"]
    assert (first["name"], first["image"]) == ("modules", IMAGE)
    assert first["command"] == ["cp", "-R", "/opt/jobs/.", COPIED]
    (mount,) = first["volumeMounts"]
    assert mount == {"name": "copied", "mountPath": COPIED}
    assert mount | {"readOnly": True} in pod["containers"][0]["volumeMounts"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["copied"]["emptyDir"] == {"sizeLimit": "1Gi"}
    assert len(volumes) == len(pod["volumes"]), "the ConfigMap's volume has another name"


def test_it_comes_before_the_packages_and_is_as_restricted() -> None:
    both = changed(
        ASKED, "transform.python.requirements", {"configMap": {"name": "clicks-packages"}}
    )
    copier, installer = pod_of(both)["initContainers"]
    assert (copier["name"], installer["name"]) == ("modules", "packages")
    assert copier["securityContext"] == installer["securityContext"]
    assert copier["resources"] == installer["resources"]


def test_without_one_nothing_is_copied_and_executors_never_do() -> None:
    assert "initContainers" not in pod_of(PLAIN)
    job = job_definition(ASKED, reached(ASKED), CONFIG, "")
    assert job.schema_ == 2, "an older driver must not try without them"
    assert job.executors is not None
    assert "initContainers" not in pod_template(job.executors, job.secret_keys)["spec"]
