"""`trimtab doctor` on a real API server, before and after the install."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dev.localcluster.controlplane import api_server
from tests.apiserver.conftest import Kubectl, kubectl_of
from tests.apiserver.test_chart import of, rendered
from tests.faults.operators import login

from trimtab.cli import main

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]
CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "t-doctor",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "example.com/none",
}


def asked(config: Path, namespace: str, *more: str) -> tuple[int, dict[str, Json]]:
    """The exit code, and the last finding of each check."""
    options = ["doctor", "--kubeconfig", str(config), "-n", namespace, "-o", "json", *more]
    done = CliRunner().invoke(main, options)
    return done.exit_code, {each["check"]: each for each in json.loads(done.output)}


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a server of its own: what other tests leave on theirs is not well."""
    with api_server(tmp_path_factory.mktemp("doctor")) as config:
        yield config


@pytest.fixture(scope="module")
def kubectl(kubeconfig: Path) -> Kubectl:
    return kubectl_of(kubeconfig)


@pytest.fixture
def installed(kubectl: Kubectl, namespace: str) -> Iterator[Kubectl]:
    """The chart's operator, as far as there is one without controllers."""
    (deployment,) = of(rendered(), "Deployment", "t-operator")
    kubectl("apply", "-n", namespace, "-f", "-", manifest=deployment)
    ready = {"status": {"replicas": 1, "readyReplicas": 1}}
    kubectl("patch", "-n", namespace, "deployment", "t-operator", "--subresource=status",
            "--type=merge", "-p", json.dumps(ready))  # fmt: skip
    kubectl("apply", "-f", "-", manifest=CLASS)
    yield kubectl
    kubectl("delete", "-n", namespace, "deployment", "t-operator")
    kubectl("delete", "storageclass", "t-doctor")


def test_before_the_install(kubectl: Kubectl, kubeconfig: Path, namespace: str) -> None:
    code, found = asked(kubeconfig, namespace)
    verdicts = {check: each["verdict"] for check, each in found.items()}
    assert code == 1
    # the CRDs are there, and what the API server keeps of them is what the models say
    assert verdicts == verdicts | {
        "Kubernetes": "ok", "CRDs": "ok", "operator": "warn", "rights": "ok", "namespace": "ok",
        "storage": "fail", "quota": "ok",
    }  # fmt: skip
    assert asked(kubeconfig, "t-nowhere")[1]["namespace"]["verdict"] == "fail"


def test_after_the_install(installed: Kubectl, kubeconfig: Path, namespace: str) -> None:
    code, found = asked(kubeconfig, namespace)
    assert code == 0, found
    assert f"{namespace}/t-operator 0.1.0, 1 of 1 ready" in found["operator"]["message"]
    assert found["storage"]["message"] == "StorageClass t-doctor is the default"
    assert asked(kubeconfig, namespace, "--storage-class", "t-other")[0] == 1
    installed("create", "quota", "small", "--hard=limits.cpu=4", "-n", namespace)
    code, found = asked(kubeconfig, namespace)
    assert (code, found["quota"]["verdict"]) == (1, "fail")


def test_a_user_who_may_do_nothing(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    kubectl("create", "serviceaccount", "nobody", "-n", namespace)
    token = kubectl("create", "token", "nobody", "-n", namespace).stdout.strip()
    code, found = asked(login(kubeconfig, token, tmp_path / "config"), namespace)
    assert code == 1
    assert found["Kubernetes"]["verdict"] == "ok"
    assert found["rights"]["verdict"] == "fail"
    assert "create streampipelines.trimtab.dev" in found["rights"]["message"]
    assert {found[each]["verdict"] for each in ("CRDs", "operator", "storage", "quota")} == {"warn"}
