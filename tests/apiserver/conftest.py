"""A real etcd and kube-apiserver for a whole session, with the CRDs installed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev.localcluster.controlplane import api_server, kubectl_path
from tests.faults.record import Book

ROOT = Path(__file__).parents[2]
Kubectl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with api_server(tmp_path_factory.mktemp("api")) as config:
        yield config


def established(kubectl: Kubectl, *crds: str) -> None:
    """Wait until CRDs are served; kubectl refuses to wait for one that has no condition yet."""
    deadline = time.monotonic() + 60
    command = ("wait", "--for=condition=Established", "--timeout=30s", *crds)
    while (done := kubectl(*command, check=False)).returncode:
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.2)


def kubectl_of(kubeconfig: Path) -> Kubectl:
    """kubectl for a server, on which it installs the CRDs."""
    program = kubectl_path()

    def run(
        *arguments: str, manifest: dict[str, Any] | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [program, f"--kubeconfig={kubeconfig}", *arguments],
            input=json.dumps(manifest) if manifest else None,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if check and done.returncode:
            pytest.fail(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done

    run("apply", "-f", str(ROOT / "crds"))
    established(run, "-f", str(ROOT / "crds"))
    return run


@pytest.fixture(scope="session")
def kubectl(kubeconfig: Path) -> Kubectl:
    return kubectl_of(kubeconfig)


@pytest.fixture(scope="session")
def token(kubectl: Kubectl) -> str:
    """Of an account that has the rights of the chart's operator."""
    from tests.faults.operators import account, grant

    grant(kubectl)
    return account(kubectl, "t-operator-tested")


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> str:
    name = "t-" + request.node.name.lower().replace("_", "-").split("[")[0][:40].rstrip("-")
    kubectl("create", "namespace", name, check=False)
    return name


def example(name: str) -> dict[str, Any]:
    """One manifest of the quickstart, by its file name."""
    text = (ROOT / "examples/10-quickstart" / f"{name}.yaml").read_text()
    manifest: dict[str, Any] = yaml.safe_load(text)
    return manifest


@pytest.fixture
def pipeline() -> dict[str, Any]:
    return example("pipeline")


@pytest.fixture
def kafka() -> dict[str, Any]:
    return example("kafka")


@pytest.fixture(scope="module")
def book() -> Iterator[Book]:
    """Notes a file's tries of faults, and records them at its end."""
    kept = Book()
    yield kept
    kept.close()
