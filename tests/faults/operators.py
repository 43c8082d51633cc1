"""The operator as a process of its own, with the rights that the chart gives it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import yaml
from dev.localcluster.controlplane import free_ports
from tests.apiserver.conftest import ROOT, Kubectl
from tests.apiserver.test_chart import rendered

HOME = "home"
TICKS = "trimtab_operator_tick_duration_seconds_count"
Json = dict[str, Any]
RESYNCS = """
import sys
from trimtab.cli import main
from trimtab.reconcile import loop
loop.RESYNC_S = float(sys.argv.pop(1))
main()
"""
"""The operator with another time between two full lists: a test cannot wait for five minutes."""


def grant(kubectl: Kubectl) -> None:
    """The chart's roles, for accounts to come."""
    kubectl("create", "namespace", HOME, check=False)
    for manifest in rendered():
        mine = manifest["metadata"]["name"].startswith("t-operator")
        if mine and manifest["kind"] in {"ClusterRole", "Role"}:
            kubectl("apply", "-n", HOME, "-f", "-", manifest=manifest)


def account(kubectl: Kubectl, name: str) -> str:
    """Make a service account with the operator's rights; returns a token of it."""
    kubectl("create", "serviceaccount", name, "-n", HOME)
    for binding in ("clusterrolebinding", "rolebinding"):
        role = "--clusterrole=t-operator" if binding[0] == "c" else "--role=t-operator-lease"
        subject = f"--serviceaccount={HOME}:{name}"
        kubectl("create", binding, name, role, subject, "-n", HOME)
    return kubectl("create", "token", name, "-n", HOME).stdout.strip()


def login(kubeconfig: Path, token: str, target: Path, server: str = "") -> Path:
    """A kubeconfig for that token; `server` in place of the API server, such as a proxy."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    if server:
        config["clusters"][0]["cluster"] = {"server": server}
    target.write_text(yaml.safe_dump(config))
    return target


class Operator:
    """One operator: a process that can be killed and started again, and its log."""

    def __init__(
        self, name: str, kubeconfig: Path, folder: Path, resync_s: float | None = None,
        **settings: str,
    ) -> None:  # fmt: skip
        """`settings` become TRIMTAB_* variables."""
        self.name, self._kubeconfig, self._resync_s = name, kubeconfig, resync_s
        (self.port,) = free_ports(1)
        told = {
            "PIPELINE_IMAGE": "pipeline:1", "KAFKA_IMAGE": "kafka:1", "POD_NAMESPACE": HOME,
            "PROMETHEUS_URL": "http://127.0.0.1:1", "TICK_SECONDS": "0.5", "POD_NAME": name,
            "METRICS_PORT": str(self.port),
        }  # fmt: skip
        self._told = {f"TRIMTAB_{each}": value for each, value in (told | settings).items()}
        self.log = folder / f"{name}.log"
        self.starts = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, whose log goes on where that of the last one ended."""
        path = {"PYTHONPATH": str(ROOT / "operator"), "TMPDIR": str(self.log.parent)}
        program = ["-m", "trimtab"]
        if self._resync_s is not None:
            program = ["-c", RESYNCS, f"{self._resync_s:g}"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *program, "operator", f"--kubeconfig={self._kubeconfig}"],
                env=os.environ | self._told | path, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.starts += 1

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """End the process as a node that loses its power does."""
        if self.process is not None:
            self.process.kill()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self.process
        self.process.send_signal(number)

    def wait(self, limit_s: float) -> int:
        """Wait until the process ends; returns its exit code."""
        assert self.process
        return self.process.wait(limit_s)

    def ready(self) -> str:
        """What the readiness probe says; empty if it does not answer, or says no."""
        try:
            return self._get("/readyz")
        except OSError:
            return ""

    def ticks(self) -> int:
        """How many ticks have ended; 0 if the process does not say."""
        try:
            found = re.search(rf"^{TICKS} (\S+)", self._get("/metrics"), re.MULTILINE)
        except OSError:
            return 0
        return int(float(found[1])) if found else 0

    def healthy(self) -> bool:
        """Whether the liveness probe says yes; True also if it does not answer yet."""
        try:
            self._get("/healthz")
        except urllib.error.HTTPError:
            return False
        except OSError:
            return True
        return True

    def _get(self, path: str) -> str:
        """What the process answers.

        Raises:
            OSError: it does not, or says no (HTTPError), or ends within its answer.
        """
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=2) as answer:
                return str(answer.read().decode())
        except HTTPException as error:
            raise ConnectionError(str(error)) from error

    def end(self) -> None:
        """End the process, also one that was stopped."""
        if self.process is not None and self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def lines(self, since: int = 0) -> Iterator[Json]:
        """The log from a position on, a line each; what is not JSON is an `unreadable` line."""
        with self.log.open() as log:
            log.seek(since)
            for line in log:
                try:
                    yield dict(json.loads(line))
                except ValueError:
                    yield {"message": line.rstrip(), "severity": "unreadable"}

    def written(self) -> int:
        """The position at which the log goes on."""
        return self.log.stat().st_size if self.log.exists() else 0

    def said(self, *words: str, since: int = 0) -> str:
        """The first message of the log with all of these words; empty if there is none."""
        messages = (str(line.get("message", "")) for line in self.lines(since))
        return next((m for m in messages if all(word in m for word in words)), "")

    def tracebacks(self, since: int = 0) -> list[str]:
        """The lines that show an exception that nobody had expected."""
        return [text for line in self.lines(since) if "Traceback" in (text := json.dumps(line))]
