"""Packages that a pipeline asks for: an init container in driver and executors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.workloads.manifests import CONFIG, Json, changed, example, reached

from trimtab.api.contract import Executors, Job
from trimtab.api.packages import PackageIndex
from trimtab.job.executors.pod_template import pod_template
from trimtab.settings import OperatorSettings
from trimtab.workloads import pipeline
from trimtab.workloads.common import CONTAINER_SECURITY
from trimtab.workloads.inputs import inputs_hash

PLAIN = example("pipeline")
FILE = {"configMap": {"name": "clicks-packages", "key": "prod.txt"}}
ASKED = changed(PLAIN, "transform.python.requirements", FILE)
LINES = f"geo==1.0 --hash=sha256:{'0' * 64}\n"
INDEX = PackageIndex(
    index_url="https://packages.example/simple", proxy="http://proxy:3128", secret_name="index"
)
MIRROR = replace(CONFIG, package_index=INDEX)


def job(manifest: Json = ASKED, config: OperatorSettings = CONFIG, lines: str = LINES) -> Job:
    return pipeline.job_definition(manifest, reached(manifest), config, lines)


def driver(manifest: Json = ASKED, config: OperatorSettings = CONFIG) -> Json:
    made = pipeline.children(manifest, reached(manifest), job(manifest, config), config)
    (pod,) = (c["spec"]["template"]["spec"] for c in made if c["kind"] == "StatefulSet")
    return dict(pod)


def executor(manifest: Json = ASKED, config: OperatorSettings = CONFIG) -> Json:
    """As the driver makes it of what it reads."""
    read = Job.from_json(job(manifest, config).to_json())
    assert read.executors is not None
    return dict(pod_template(read.executors, read.secret_keys)["spec"])


PODS = pytest.mark.parametrize("pod", [driver, executor])


@PODS
def test_an_init_container_of_the_pipelines_image_installs_them(pod: Any) -> None:
    (first,), (main,) = pod()["initContainers"], pod()["containers"]
    assert (first["name"], first["image"]) == ("packages", "pipeline:1")
    assert first["args"][:4] == ["python", "-m", "trimtab.job.packages", "--sha256"]
    assert first["args"][4:] == [job().packages.sha256]  # type: ignore[union-attr]
    assert first["securityContext"] == CONTAINER_SECURITY
    assert first["resources"]["requests"].keys() == {"cpu", "memory", "ephemeral-storage"}
    assert first["resources"]["limits"].keys() == {"memory"}
    assert first["imagePullPolicy"] == "IfNotPresent"
    assert {"name": "TRIMTAB_PACKAGES", "value": "/var/lib/trimtab/packages"} in main["env"]
    own = changed(ASKED, "image", "mine:2")
    assert pod(own)["initContainers"][0]["image"] == "mine:2"


@PODS
def test_the_packages_are_in_a_volume_with_a_limit_that_the_query_only_reads(pod: Any) -> None:
    spec = pod()
    volumes = {v["name"]: v for v in spec["volumes"]}
    assert volumes["packages"]["emptyDir"] == {"sizeLimit": "2Gi"}
    items = [{"key": "prod.txt", "path": "requirements.txt"}]
    assert volumes["requirements"]["configMap"] == {
        "name": "clicks-packages", "items": items, "optional": True,
    }  # fmt: skip
    first, main = (
        {m["mountPath"]: m.get("readOnly", False) for m in spec[kind][0]["volumeMounts"]}
        for kind in ("initContainers", "containers")
    )
    assert first == {
        "/tmp": False, "/opt/work": False, "/var/lib/trimtab/packages": False,
        "/etc/trimtab/requirements": True,
    }  # fmt: skip
    assert main["/var/lib/trimtab/packages"]
    assert "/etc/trimtab/requirements" not in main
    names = [v["name"] for v in spec["volumes"]]
    assert len(set(names)) == len(names)


@PODS
def test_they_reserve_no_more_than_the_query_itself(pod: Any) -> None:
    """The scheduler counts the larger of the two."""
    (first,) = pod()["initContainers"]
    sizes = reached(ASKED).resources
    asked = sizes.driver if pod is driver else sizes.executor
    assert first["resources"]["requests"]["cpu"] == asked.cpu_request


@PODS
def test_where_they_come_from_reaches_pip_and_no_login_does(pod: Any) -> None:
    (first,) = pod(ASKED, MIRROR)["initContainers"]
    assert {v["name"]: v["value"] for v in first["env"]} == {
        "PIP_INDEX_URL": "https://packages.example/simple", "PIP_PROXY": "http://proxy:3128",
        "PIP_CONFIG_FILE": "/etc/trimtab/index/pip.conf",
    }  # fmt: skip
    assert "/etc/trimtab/index" in {m["mountPath"] for m in first["volumeMounts"]}
    (main,) = pod(ASKED, MIRROR)["containers"]
    assert "/etc/trimtab/index" not in {m["mountPath"] for m in main["volumeMounts"]}
    assert pod()["initContainers"][0]["env"] == []


@PODS
def test_without_them_the_pods_are_as_they_were(pod: Any) -> None:
    assert "initContainers" not in pod(PLAIN, MIRROR)
    assert "TRIMTAB_PACKAGES" not in json.dumps(pod(PLAIN, MIRROR))


@PODS
def test_the_pull_policy_holds_for_it_too(pod: Any) -> None:
    always = changed(ASKED, "podTemplate", {"imagePullPolicy": "Always"})
    assert pod(always)["initContainers"][0]["imagePullPolicy"] == "Always"


def test_the_driver_may_hand_on_what_they_mount_and_nothing_else() -> None:
    assert job(config=MIRROR).mounted == {("configmaps", "clicks-packages"), ("secrets", "index")}
    assert job().mounted == {("configmaps", "clicks-packages")}
    assert job(PLAIN, MIRROR).mounted == set()


def test_an_older_driver_refuses_a_job_with_them() -> None:
    assert (job(PLAIN).schema_, job().schema_) == (1, 2)
    assert "packages" not in job(PLAIN, MIRROR).to_json()


def test_another_file_restarts_the_driver_and_another_index_does_not() -> None:
    def inputs(manifest: Json = ASKED, **more: Any) -> str:
        return inputs_hash(reached(manifest), job(manifest, **more), None)

    other = changed(ASKED, "transform.python.requirements.configMap.name", "other")
    hashes = {inputs(PLAIN), inputs(), inputs(other), inputs(lines=LINES + LINES)}
    assert len(hashes) == 4
    assert inputs(config=MIRROR) == inputs()


def test_executors_of_a_job_without_them_install_nothing() -> None:
    spec = pod_template(Executors(image="i", memory_bytes=10**9), ())["spec"]
    assert "initContainers" not in spec
