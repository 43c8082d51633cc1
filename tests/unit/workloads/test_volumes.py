"""Volumes that a spec asks for: in driver and executors, and named in the role."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.bounds import VOLUMES
from tests.unit.workloads.manifests import Json, changed, example, inputs, pipeline_children

from trimtab.api.contract import Executors, Job
from trimtab.api.v1alpha1.volumes import RESERVED_PATHS
from trimtab.job.executors.pod_template import pod_template
from trimtab.job.session import POD_TEMPLATE
from trimtab.workloads.common import SCRATCH

PLAIN = example("pipeline")
ASKED = changed(PLAIN, "volumes", VOLUMES)
EXPECTED = {
    "/mnt/store": (
        {"secret": {"secretName": "store", "items": [{"key": "ca.jks", "path": "trust.jks"}]}},
        True,
    ),
    "/mnt/lookup": ({"configMap": {"name": "lookup"}}, True),
    "/mnt/cache": ({"emptyDir": {"sizeLimit": "1Gi"}}, False),
    "/mnt/models": (
        {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
        True,
    ),
    "/home/app/.state": (
        {"persistentVolumeClaim": {"claimName": "state", "readOnly": False}},
        False,
    ),
}  # fmt: skip


def job(manifest: Json = ASKED) -> Job:
    return Job.from_json(pipeline_children(manifest)["ConfigMap"]["data"]["job.json"])


def mounted(pod: Json) -> dict[str, tuple[Json, bool]]:
    """What users mount, by its path: the source, and whether the mount is read-only."""
    sources = {v["name"]: {k: s for k, s in v.items() if k != "name"} for v in pod["volumes"]}
    mounts = [m for m in pod["containers"][0]["volumeMounts"] if m["name"].startswith("user-")]
    return {m["mountPath"]: (sources[m["name"]], m.get("readOnly", False)) for m in mounts}


def driver(manifest: Json) -> Json:
    found: Json = pipeline_children(manifest)["StatefulSet"]["spec"]["template"]["spec"]
    return found


def optional(found: dict[str, tuple[Json, bool]]) -> dict[str, tuple[Json, bool]]:
    """The same with its Secrets and ConfigMaps optional."""
    return {
        path: (
            {
                k: s | {"optional": True} if k in {"secret", "configMap"} else s
                for k, s in v.items()
            },
            read_only,
        )
        for path, (v, read_only) in found.items()
    }


def test_the_driver_starts_without_files_and_says_so_and_executors_wait_for_them() -> None:
    assert mounted(driver(ASKED)) == optional(EXPECTED)
    executors = job().executors
    assert executors is not None
    assert mounted(pod_template(executors, ())["spec"]) == EXPECTED
    assert mounted(driver(PLAIN)) == {}
    assert mounted(pod_template(Executors(image="i", memory_bytes=10**9), ())["spec"]) == {}


def test_no_name_of_a_volume_is_there_twice() -> None:
    executors = job().executors
    assert executors is not None
    for pod in (driver(ASKED), pod_template(executors, job().secret_keys)["spec"]):
        names = [volume["name"] for volume in pod["volumes"]]
        assert len(set(names)) == len(names) > len(VOLUMES)


def test_the_role_names_what_executors_may_mount() -> None:
    rules = pipeline_children(ASKED)["Role"]["rules"]
    may = {r["resources"][0]: r["resourceNames"] for r in rules if r["verbs"] == ["mount"]}
    assert may == {
        "secrets": ["store"],
        "configmaps": ["lookup"],
        "persistentvolumeclaims": ["models", "state"],
    }


def test_an_older_driver_refuses_a_job_with_them() -> None:
    told = pipeline_children(ASKED)["ConfigMap"]["data"]["job.json"]
    assert json.loads(told)["schema"] == 2
    assert "volumes" not in pipeline_children(PLAIN)["ConfigMap"]["data"]["job.json"]
    assert job(PLAIN).schema_ == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("volumes", VOLUMES[:1]),
        ("volumes", [*VOLUMES[1:], VOLUMES[0] | {"mountPath": "/mnt/other"}]),
        ("volumes", [*VOLUMES[:2], VOLUMES[2] | {"emptyDir": {"sizeLimit": "2Gi"}}, *VOLUMES[3:]]),
    ],
)
def test_an_edit_restarts_the_driver(path: str, value: Any) -> None:
    assert inputs(changed(ASKED, path, value)) != inputs(ASKED)
    assert inputs(changed(PLAIN, "volumes", [])) == inputs(PLAIN)


def test_every_path_that_pods_have_already_is_reserved() -> None:
    executors = job(PLAIN).executors
    assert executors is not None
    shared = executors.model_copy(update={"checkpoint_claim": "clicks-checkpoint"})
    pods = (driver(PLAIN), pod_template(shared, ())["spec"])
    taken = {m["mountPath"] for pod in pods for m in pod["containers"][0]["volumeMounts"]}
    taken |= {path for path, _ in SCRATCH.values()} | {str(POD_TEMPLATE), "/etc/trimtab/secrets/x"}
    for path in taken:
        assert any(f"{path}/".startswith(f"{owned}/") for owned in RESERVED_PATHS), path
