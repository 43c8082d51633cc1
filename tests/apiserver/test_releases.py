"""Releases of the chart by a real Helm on a real API server: upgrade, rollback, a second one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.localcluster.binaries import binary
from dev.localcluster.controlplane import api_server, kubectl_path
from dev.localcluster.paths import from_environment
from dev.localcluster.run import wait_until
from tests import released
from tests.apiserver.conftest import ROOT, established, example
from tests.apiserver.test_chart import NAMED, OWN, Json

pytestmark = pytest.mark.apiserver

Run = Callable[..., subprocess.CompletedProcess[str]]
CHART = ROOT / "charts/trimtab"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster that has never seen trimtab."""
    with api_server(tmp_path_factory.mktemp("bare")) as config:
        yield config


@pytest.fixture(scope="module")
def helm(empty: Path) -> Run:
    program = binary(from_environment(), "helm")

    def run(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        argv = [program, f"--kubeconfig={empty}", *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        if check and done.returncode:
            pytest.fail(f"helm {arguments[0]}: {done.stderr}")
        return done

    return run


@pytest.fixture(scope="module")
def kubectl(empty: Path) -> Run:
    program = kubectl_path()

    def run(
        *arguments: str, manifest: Json | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        text = json.dumps(manifest) if manifest else None
        done = subprocess.run(
            [program, f"--kubeconfig={empty}", *arguments],
            input=text, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if check and done.returncode:
            pytest.fail(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done

    return run


@pytest.fixture(scope="module")
def last(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart of the last release."""
    folder = tmp_path_factory.mktemp("released")
    released.unpack(released.archive("charts/trimtab"), folder)
    return folder / "charts/trimtab"


def values(*more: str) -> list[str]:
    return [f"--set={value}" for value in (*NAMED, OWN, *more)]


def stored(kubectl: Run, name: str = "clicks") -> Json:
    found: Json = json.loads(kubectl("get", "spl", name, "-n", "shop", "-o", "json").stdout)
    return found


def holds(new: Any, old: Any) -> bool:
    """Whether all that the old value says is in the new one."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(holds(new.get(k), v) for k, v in old.items())
    return bool(new == old)


def fields(kubectl: Run) -> str:
    """What the API server knows of the status now."""
    return kubectl("explain", "spl.status").stdout


def test_an_upgrade_keeps_every_pipeline_and_a_rollback_brings_the_old_release_back(
    helm: Run, kubectl: Run, last: Path
) -> None:
    helm("install", "trimtab", last, "-n", "trimtab", "--create-namespace", *values())
    kubectl("create", "namespace", "shop")
    established(kubectl, "crd", "--all")
    kubectl("apply", "-n", "shop", "-f", "-", manifest=example("pipeline"))
    status = {"status": {"controller": {"generation": 4, "settings": {"executors": 2}}}}
    patch = ("--subresource=status", "--type=merge", "-p", json.dumps(status))
    kubectl("patch", "spl", "clicks", "-n", "shop", *patch)
    before = stored(kubectl)
    assert "cost" not in fields(kubectl)

    helm("upgrade", "trimtab", CHART, "-n", "trimtab", *values())
    established(kubectl, "crd", "--all")
    assert holds(stored(kubectl)["spec"], before["spec"]), "new fields have their defaults"
    assert holds(stored(kubectl)["status"], before["status"])
    assert stored(kubectl)["metadata"]["uid"] == before["metadata"]["uid"]
    wait_until("the new fields", lambda: "cost" in fields(kubectl), limit_s=30)
    kubectl("get", "tpol,ctpol", "-A")

    helm("rollback", "trimtab", "1", "-n", "trimtab")
    wait_until("the old fields", lambda: "cost" not in fields(kubectl), limit_s=30)
    assert stored(kubectl)["spec"] == before["spec"]
    assert stored(kubectl)["status"] == before["status"]
    kubectl("get", "crd", "tuningpolicies.trimtab.dev")


def test_a_second_release_in_one_cluster_leaves_the_objects_of_the_cluster_to_the_first(
    helm: Run, kubectl: Run
) -> None:
    helm("upgrade", "--install", "trimtab", CHART, "-n", "trimtab", "--create-namespace",
         *values("watchNamespaces={shop}"))  # fmt: skip
    kubectl("create", "namespace", "lab")
    taken = helm(
        "install", "lab", CHART, "-n", "lab", *values("watchNamespaces={lab}"), check=False
    )
    assert "CustomResourceDefinition" in taken.stderr, "Helm says what belongs to another release"
    alone = values("watchNamespaces={lab}", "crds.install=false", "policy.install=false")
    helm("install", "lab", CHART, "-n", "lab", *alone)
    both = json.loads(kubectl("get", "deploy", "-A", "-o", "json").stdout)["items"]
    assert {(d["metadata"]["namespace"], d["metadata"]["name"]) for d in both} == {
        ("trimtab", "trimtab-operator"), ("lab", "lab-operator"),
    }  # fmt: skip
    for account, other in (("system:serviceaccount:lab:lab-operator", "shop"),
                           ("system:serviceaccount:trimtab:trimtab-operator", "lab")):  # fmt: skip
        done = json.loads(
            kubectl("create", "-o", "json", "-f", "-", manifest=asked(account, other)).stdout
        )
        assert not done["status"].get("allowed"), f"{account} may write in {other}"
    helm("uninstall", "lab", "-n", "lab")
    assert stored_kinds(kubectl) >= {"streampipelines.trimtab.dev", "tuningpolicies.trimtab.dev"}


def asked(account: str, namespace: str) -> Json:
    """Whether an account may write the objects of a namespace."""
    what = {"namespace": namespace, "verb": "patch", "resource": "configmaps"}
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    return kind | {"spec": {"user": account, "resourceAttributes": what}}


def stored_kinds(kubectl: Run) -> set[str]:
    found = json.loads(kubectl("get", "crd", "-o", "json").stdout)["items"]
    return {each["metadata"]["name"] for each in found}


def test_an_uninstall_keeps_the_kinds_and_all_pipelines(helm: Run, kubectl: Run) -> None:
    helm("uninstall", "trimtab", "-n", "trimtab")
    assert stored(kubectl)["metadata"]["name"] == "clicks"
    again = helm("install", "trimtab", CHART, "-n", "trimtab", *values())
    assert "STATUS: deployed" in again.stdout
