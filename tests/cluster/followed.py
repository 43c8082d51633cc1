"""`unshare --net python -m tests.cluster.followed DIRECTORY`: the enforcer at a real API server.

A policy and a pod come and go; prints after each step whether the rules are there, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from dev.localcluster import daemons, enforcer, network
from dev.localcluster.controlplane import api_server, kubectl_path
from dev.localcluster.failures import TimeoutWaitingError
from dev.localcluster.paths import Paths
from dev.localcluster.run import run, wait_until

ADDRESS = "10.200.0.10"
META = {"name": "one", "namespace": "default"}
POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": META,
    "spec": {"containers": [{"name": "one", "image": "one"}]},
}  # fmt: skip
POLICY = {
    "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": META,
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
}  # fmt: skip
STATUS = json.dumps({"status": {"podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}})


def restricted() -> bool:
    if not network.has_table("inet", network.POLICY_TABLE):
        return False
    return ADDRESS in run(["nft", "list", "table", "inet", network.POLICY_TABLE])


def comes(wanted: bool) -> bool:
    """Whether the pod is, or is not, restricted soon."""
    try:
        wait_until("the rules", lambda: restricted() is wanted, limit_s=10)
    except TimeoutWaitingError:
        return False
    return True


def main(directory: Path) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with api_server(directory / "api") as kubeconfig:
        paths = Paths(cache=directory / "cache", state=directory / "api")
        server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        daemon = enforcer.start(paths, server)

        def kubectl(*arguments: str, manifest: Any = None) -> None:
            text = json.dumps(manifest) if manifest else None
            run([kubectl_path(), "--kubeconfig", kubeconfig, *arguments], stdin=text)

        try:
            kubectl("create", "-f", "-", manifest=POD)
            kubectl("patch", "pod", "one", "--subresource=status", "--type=merge", "-p", STATUS)
            told = {"no policy": comes(wanted=False)}
            kubectl("create", "-f", "-", manifest=POLICY)
            told["a policy"] = comes(wanted=True)
            kubectl("delete", "networkpolicy", "one")
            told["it is gone"] = comes(wanted=False)
            kubectl("create", "-f", "-", manifest=POLICY)
            told["it is back"] = comes(wanted=True)
            kubectl("delete", "pod", "one", "--force", "--grace-period=0")
            told["the pod is gone"] = comes(wanted=False)
            daemon.check()
            found = daemons.command_line(daemon.pid)
            told["down finds it"] = daemons.is_ours(found, paths.state, [enforcer.NAME])
        finally:
            daemons.end([daemon.pid])
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
