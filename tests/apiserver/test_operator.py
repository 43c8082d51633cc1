"""Two operator processes with the rights that the chart gives them, on a real API server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from dev.localcluster.controlplane import AUDIT_LOG, free_ports
from tests.apiserver.conftest import Kubectl, example
from tests.apiserver.test_chart import rendered

from trimtab.api.kinds import KINDS, WATCHED

pytestmark = pytest.mark.apiserver

HOME, WORK = "home", "operated"
TAKEOVER_S = 15.0
WRITES = {"create", "update", "patch", "delete"}
Json = dict[str, Any]


class Operator:
    """One process, with a service account of its own that has the operator's role."""

    def __init__(self, name: str, kubectl: Kubectl, kubeconfig: Path, folder: Path) -> None:
        self.name, self.account = name, f"t-operator-{name}"
        kubectl("create", "serviceaccount", self.account, "-n", HOME)
        for binding in ("clusterrolebinding", "rolebinding"):
            role = ("--clusterrole=t-operator" if binding[0] == "c" else "--role=t-operator-lease",)
            kubectl("create", binding, self.account, *role,
                    f"--serviceaccount={HOME}:{self.account}", "-n", HOME)  # fmt: skip
        config = yaml.safe_load(kubeconfig.read_text())
        config["users"][0]["user"] = {
            "token": kubectl("create", "token", self.account, "-n", HOME).stdout.strip()
        }
        self.kubeconfig = folder / f"{name}.yaml"
        self.kubeconfig.write_text(yaml.safe_dump(config))
        (self.port,) = free_ports(1)
        self.log = (folder / f"{name}.log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "trimtab", "operator", f"--kubeconfig={self.kubeconfig}"],
            env=os.environ | self._settings(), stdout=self.log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def _settings(self) -> dict[str, str]:
        told = {
            "PIPELINE_IMAGE": "pipeline:1", "KAFKA_IMAGE": "kafka:1", "LEASE": "t-operator",
            "PROMETHEUS_URL": "http://127.0.0.1:1", "TICK_SECONDS": "0.5", "POD_NAME": self.name,
            "POD_NAMESPACE": HOME, "METRICS_PORT": str(self.port),
        }  # fmt: skip
        return {f"TRIMTAB_{name}": value for name, value in told.items()}

    def ready(self) -> str:
        """What the readiness probe says; empty if it does not answer, or says no."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/readyz", timeout=2
            ) as answer:
                return str(answer.read().decode())
        except (OSError, urllib.error.HTTPError):
            return ""

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self.log.close()


def until(what: str, limit_s: float, probe: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not probe():
        assert time.monotonic() - began < limit_s, f"not within {limit_s} s: {what}"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def operators(
    kubectl: Kubectl, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Operator, Operator]]:
    for name in (HOME, WORK):
        kubectl("create", "namespace", name)
    for manifest in rendered():
        mine = manifest["metadata"]["name"].startswith("t-operator")
        if mine and manifest["kind"] in {"ClusterRole", "Role"}:
            kubectl("apply", "-n", HOME, "-f", "-", manifest=manifest)
    folder = tmp_path_factory.mktemp("operators")
    first = Operator("a", kubectl, kubeconfig, folder)
    try:
        until("the first acts", 60, lambda: first.ready() == "synced")
        second = Operator("b", kubectl, kubeconfig, folder)
        try:
            until("the second stands by", 60, lambda: second.ready().startswith("standing by"))
            yield first, second
        finally:
            second.end()
    finally:
        first.end()


@pytest.fixture(scope="module")
def calls(kubeconfig: Path) -> Callable[[Operator], list[Json]]:
    """What an operator has asked of the API server, as the server's audit log has it."""
    log = kubeconfig.parent / "logs" / AUDIT_LOG

    def made(by: Operator) -> list[Json]:
        user = f"system:serviceaccount:{HOME}:{by.account}"
        events = (json.loads(line) for line in log.read_text().splitlines())
        return [each for each in events if each["user"]["username"] == user]

    return made


@pytest.fixture
def pipelines(kubectl: Kubectl) -> Callable[[str], None]:
    def apply(image: str) -> None:
        for name in ("kafka", "transform", "pipeline"):
            manifest = example(name)
            if name == "pipeline":
                manifest["spec"]["image"] = image
            kubectl("apply", "-n", WORK, "-f", "-", manifest=manifest)

    return apply


def writes(events: list[Json]) -> list[Json]:
    """Of the pipelines' objects: the Lease is not one."""
    return [e for e in events if e["verb"] in WRITES and e["objectRef"]["resource"] != "leases"]


def test_one_acts_with_the_rights_of_the_chart_and_another_takes_over(
    operators: tuple[Operator, Operator],
    calls: Callable[[Operator], list[Json]],
    pipelines: Callable[[str], None],
    kubectl: Kubectl,
) -> None:
    first, second = operators
    pipelines("mine:1")

    def stalled() -> str:
        live = json.loads(kubectl("get", "spl", "clicks", "-n", WORK, "-o", "json").stdout)
        told = live.get("status", {})
        return f"{told.get('observedGeneration')}/{live['metadata']['generation']}"

    until("the pipeline is reconciled", 30, lambda: stalled() == "1/1")
    until("the job's ConfigMap is there", 30, lambda: "tuning" in kubectl(
        "get", "configmaps", "-n", WORK, "-o", "name").stdout)  # fmt: skip
    assert writes(calls(first))
    assert writes(calls(second)) == []

    # an operator that hangs, as on a node that is cut off, must not write once it is replaced
    first.process.send_signal(signal.SIGSTOP)
    until("the second acts", TAKEOVER_S, lambda: second.ready() == "synced")
    pipelines("mine:2")
    until("the second reconciles", 30, lambda: stalled() == "2/2")
    before = len(writes(calls(first)))
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(timeout=30) != 0
    assert len(writes(calls(first))) == before, "it wrote after it had been replaced"
    refused = [e for by in operators for e in calls(by) if e["responseStatus"]["code"] == 403]
    assert refused == []


def test_only_own_objects_are_watched_and_listed(
    operators: tuple[Operator, Operator], calls: Callable[[Operator], list[Json]]
) -> None:
    foreign = {kind.plural for kind in WATCHED if not kind.ours}
    seen = set()
    for event in (event for by in operators for event in calls(by)):
        resource = event.get("objectRef", {}).get("resource")
        if event["verb"] in {"list", "watch"} and resource in foreign:
            selector = parse_qs(urlsplit(event["requestURI"]).query).get("labelSelector")
            assert selector == ["app.kubernetes.io/managed-by=trimtab"], event["requestURI"]
            seen.add(resource)
    assert seen == foreign
    assert {kind.plural for kind in KINDS.values() if kind.watched} >= foreign
