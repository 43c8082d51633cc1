"""kubectl and helm as this demo uses them: with a time limit, and a dump when something fails."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dev.localcluster import console
from dev.localcluster.failures import LocalClusterError

Json = dict[str, Any]
PROBE_S = 1.0
PROBE_REST = 4.0
"""How many times as long as a probe took to wait before the next one."""


class DemoError(LocalClusterError):
    """The demo cannot go on; says what failed and where to look."""


@dataclass(frozen=True)
class Kube:
    """One cluster, one namespace. `kubeconfig` None is the current context."""

    kubectl: Path | str
    helm: Path | str
    kubeconfig: Path | None
    namespace: str

    def _run(self, argv: list[str], limit_s: float, text: str | None, check: bool) -> str:
        try:
            done = subprocess.run(
                argv, input=text, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except FileNotFoundError as error:
            raise DemoError(f"{argv[0]} is not on this machine: install it") from error
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"{' '.join(argv[:6])}: no answer in {limit_s:.0f} s") from error
        if check and done.returncode:
            raise DemoError(f"{' '.join(argv[:6])} failed: {done.stderr.strip()[-1500:]}")
        return done.stdout

    def call(
        self, *arguments: str, text: str | None = None, limit_s: float = 60, check: bool = True
    ) -> str:
        """What a kubectl command prints; raises DemoError when it fails."""
        config = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        argv = [str(self.kubectl), *config, f"--namespace={self.namespace}", *arguments]
        return self._run(argv, limit_s, text, check)

    def install(self, *arguments: str, limit_s: float = 300) -> str:
        """What a helm command prints."""
        config = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        return self._run([str(self.helm), *config, *arguments], limit_s, None, check=True)

    def get(self, *what: str) -> Json | None:
        """One object or list as JSON; None where it is not there."""
        out = self.call("get", *what, "-o", "json", "--ignore-not-found")
        return dict(json.loads(out)) if out.strip() else None

    def apply(self, *manifests: Json) -> None:
        """Apply manifests."""
        document = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.call("apply", "-f", "-", text=json.dumps(document))

    def query(self, service: str, promql: str) -> list[Json]:
        """An instant query through the API server's proxy; empty when there is no answer."""
        path = (
            f"/api/v1/namespaces/trimtab/services/{service}:9090/proxy/api/v1/query"
            f"?query={quote(promql)}"
        )
        out = self.call("get", "--raw", path, check=False)
        try:
            return list(json.loads(out)["data"]["result"])
        except (ValueError, KeyError):
            return []

    def memory_mib(self) -> dict[str, int]:
        """Working set of each pod of ours, in MiB, as the kubelets measure it."""
        nodes = json.loads(self.call("get", "nodes", "-o", "json"))["items"]
        found: dict[str, int] = {}
        for node in nodes:
            path = f"/api/v1/nodes/{node['metadata']['name']}/proxy/stats/summary"
            for pod in json.loads(self.call("get", "--raw", path)).get("pods", []):
                used = pod.get("memory", {}).get("workingSetBytes")
                if used and pod["podRef"]["namespace"] in {self.namespace, "trimtab"}:
                    found[pod["podRef"]["name"]] = round(used / 2**20)
        return dict(sorted(found.items()))

    def wait(self, title: str, limit_s: float, probe: Callable[[], bool]) -> None:
        """Wait until the probe says yes; dumps the cluster's state when it does not in time."""
        with console.step(title, limit_s):
            deadline = time.monotonic() + limit_s
            asked = time.monotonic()
            while not probe():
                now = time.monotonic()
                if now > deadline:
                    self.dump()
                    raise DemoError(f"{title}: not in {limit_s:.0f} s; the state is above")
                # each probe is a process: on a busy machine they must not add to the load
                time.sleep(max(PROBE_S, PROBE_REST * (now - asked)))
                asked = time.monotonic()

    def dump(self) -> None:
        """Pods, events and logs of everything that matters, to standard error."""
        for arguments in (
            ("get", "trimtab,pods,pvc,jobs", "-A", "-o", "wide"),
            ("get", "events", "-A", "--sort-by=.lastTimestamp"),
            ("get", "spl", "-A", "-o", "jsonpath={.items[*].status.conditions}"),
            ("logs", "-n", "trimtab", "-l", "app.kubernetes.io/component=operator", "--tail=40"),
            ("logs", "-l", "trimtab.dev/component=driver", "--tail=60"),
            ("logs", "-l", "trimtab.dev/component=kafka", "--tail=20"),
        ):
            console.warn(f"--- kubectl {' '.join(arguments)}")
            console.warn(self.call(*arguments, check=False)[-6000:])


def condition(manifest: Json | None, type_: str) -> str:
    """The status of a condition, or an empty string."""
    conditions = ((manifest or {}).get("status") or {}).get("conditions") or []
    return next((c["status"] for c in conditions if c["type"] == type_), "")
