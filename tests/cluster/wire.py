"""`unshare --net --mount python -m tests.cluster.wire narrow|default`: flows as real connections.

Each end of tests/flows.py is a network namespace on a bridge, restricted by the rules of the local
cluster. Prints each flow's ports, and what came of it, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dev.localcluster.policies import Pods, script
from tests.flows import FLOWS, NARROW_FLOWS
from tests.netpol import End
from tests.unit.workloads.test_network import DEFAULT, NARROWED, World

Json = dict[str, Any]
CASES = {"default": (DEFAULT, FLOWS), "narrow": (NARROWED, NARROW_FLOWS)}
INSIDE, OUTSIDE = ("10.0.255.254", 16), ("203.0.113.254", 24)
"""The host's addresses, and how long the networks' prefixes are."""
WAIT_S = 3
AT_ONCE = 8


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def sysctl(name: str) -> None:
    Path("/proc/sys", name).write_text("1")


def lay_bridge() -> None:
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    ip("link", "set", "lo", "up")
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    for address, length in (INSIDE, OUTSIDE):
        ip("addr", "add", f"{address}/{length}", "dev", "br0")
    sysctl("net/ipv4/ip_forward")
    sysctl("net/bridge/bridge-nf-call-iptables")


def attach(name: str, number: int, end: End) -> None:
    gateway, length = INSIDE if end.namespace else OUTSIDE
    ip("netns", "add", name)
    ip("link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("link", "set", f"v{number}", "master", "br0", "up")
    ip("-n", name, "addr", "add", f"{end.address}/{length}", "dev", "eth0")
    ip("-n", name, "link", "set", "eth0", "up")
    ip("-n", name, "route", "add", "default", "via", gateway)


def as_pod(end: End) -> Json:
    meta = {"namespace": end.namespace, "labels": dict(end.labels)}
    return {"metadata": meta, "spec": {}, "status": {"podIP": end.address}}


def came_of(source: str, address: str, port: int) -> str:
    """What a client sees: nobody listens anywhere, so a let-in connection is reset."""
    connect = f"</dev/tcp/{address}/{port}"
    argv = ["ip", "netns", "exec", source, "timeout", str(WAIT_S), "bash", "-c", connect]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if "Connection refused" in done.stderr:
        return "allowed"
    if "No route to host" in done.stderr or done.returncode == 124:
        return "refused"
    return done.stderr or f"code {done.returncode}"


def main(case: str) -> None:
    network, flows = CASES[case]
    world = World(network)
    lay_bridge()
    for number, (name, end) in enumerate(world.ends.items()):
        attach(name, number, end)
    pods = [as_pod(end) for end in world.ends.values() if end.namespace]
    spaces = sorted({pod["metadata"]["namespace"] for pod in pods})
    named = [
        {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
        for name in spaces
    ]
    rules = script(world.policies, Pods.of(pods, named))
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)
    tries = [(flow, port) for flow in flows for port in flow.ports]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        seen = pool.map(lambda t: came_of(t[0].source, world.ends[t[0].to].address, t[1]), tries)
        found = [
            {"flow": flow.row, "port": port, "wanted": flow.verdict, "seen": what}
            for (flow, port), what in zip(tries, seen, strict=True)
        ]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
