"""What `helm test` runs: the CLI as in a pod, with the operator's account."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from click.testing import CliRunner, Result
from kubernetes.config import incluster_config
from tests.apiserver.conftest import Kubectl
from tests.apiserver.test_chart import Json, of, rendered
from tests.faults.operators import HOME

from trimtab.cli import main

pytestmark = pytest.mark.apiserver


def containers(*values: str) -> list[Json]:
    (pod,) = of(rendered(*values), "Pod", "t-test")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["serviceAccountName"] == "t-operator"
    found: list[Json] = pod["spec"]["containers"]
    return found


@pytest.fixture
def inside(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a pod's service account, and its environment; the token is the test's."""
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    server = urlsplit(cluster["server"])
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(server.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr(
        "kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none")
    )
    authority = tmp_path / "ca.crt"
    if "certificate-authority-data" in cluster:
        authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    else:
        authority.write_bytes(Path(cluster["certificate-authority"]).read_bytes())
    (tmp_path / "namespace").write_text(HOME)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    return tmp_path


def ran(inside: Path, token: str, *arguments: str) -> Result:
    (inside / "token").write_text(token)
    return CliRunner().invoke(main, arguments)


def test_it_passes_with_the_operator_s_account(
    inside: Path, token: str, kubectl: Kubectl, namespace: str, pipeline: Json
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", manifest=pipeline)
    (everywhere,) = containers()
    done = ran(inside, token, *everywhere["args"])
    assert done.exit_code == 0, done.output
    assert pipeline["metadata"]["name"] in done.output
    one, other = containers(f"watchNamespaces={{{namespace},elsewhere}}")
    assert pipeline["metadata"]["name"] in ran(inside, token, *one["args"]).output
    assert pipeline["metadata"]["name"] not in ran(inside, token, *other["args"]).output
    kubectl("delete", "-n", namespace, "spl", pipeline["metadata"]["name"], "--wait=false")


def test_it_fails_without_its_rights(inside: Path, kubectl: Kubectl, token: str) -> None:
    assert token
    kubectl("create", "serviceaccount", "t-nobody", "-n", HOME)
    nobody = kubectl("create", "token", "t-nobody", "-n", HOME).stdout.strip()
    (everywhere,) = containers()
    done = ran(inside, nobody, *everywhere["args"])
    assert done.exit_code == 1
    assert "forbidden" in done.output


def test_the_api_server_takes_the_pod(kubectl: Kubectl, namespace: str) -> None:
    (pod,) = of(rendered("watchNamespaces={a,b}"), "Pod", "t-test")
    pod["metadata"]["namespace"] = namespace
    kubectl("create", "serviceaccount", "t-operator", "-n", namespace)
    kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", manifest=pod)
    restricted = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "namespace", namespace, restricted)
    kubectl("apply", "--dry-run=server", "-f", "-", manifest=pod)
