"""The local cluster comes up, runs a pod with a volume, and leaves nothing when it goes."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.localcluster import network, seed
from dev.localcluster.binaries import binary
from dev.localcluster.images import read_index
from dev.localcluster.node import serves_pods
from dev.localcluster.paths import REPO, from_environment
from dev.localcluster.run import succeeds
from dev.localcluster.sweep import leftovers

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PATHS = from_environment()
FIXED_PLACES = (
    "/run/containerd", "/run/netns", "/var/run/netns", "/var/lib/cni", "/etc/cni",
    "/opt/containerd", "/var/lib/kubelet", "/var/lib/containerd", "/var/log/containers",
    "/var/log/pods",
    "/opt/cni", "/usr/libexec/kubernetes",
)  # fmt: skip
# What runs in pods is busybox by its file. Somebody else's sleep is no concern of ours.
DAEMONS = ("etcd", "kube", "coredns", "containerd", "runc", "local-path", "busybox")


def command(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the cluster's own command line, as a user would."""
    argv = [sys.executable, "-m", "dev.localcluster", *arguments]
    done = subprocess.run(argv, cwd=REPO, capture_output=True, text=True, timeout=240, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


def kubectl(*arguments: str, stdin: str | None = None) -> str:
    argv = [str(binary(PATHS, "kubectl")), "--kubeconfig", str(PATHS.kubeconfig), *arguments]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=90, input=stdin, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(*argv: str) -> set[str]:
    return set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines())


def processes() -> set[str]:
    """Every process that could be one of ours, whoever started it; not other tests' API servers."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            program = (entry / "exe").readlink()
            argv = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        name = program.name
        daemon = name.startswith(DAEMONS) and "/pytest-of-" not in argv
        if daemon or str(PATHS.state) in argv:
            found.add(f"{entry.name} {argv}")
    return found


def foreign(mount: str) -> bool:
    """Whether a mount is that of the cache, or of another test."""
    if str(PATHS.state) in mount:
        return False
    return str(PATHS.cache) in mount or "/pytest-of-" in mount


def machine() -> dict[str, set[str]]:
    """All that a cluster could leave on the machine, with no regard to what we think it makes."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    cgroups = Path("/sys/fs/cgroup")
    settings = {Path("/proc/sys") / name for name in network.SYSCTLS}
    return {
        "processes": processes(),
        # Images are built meanwhile, and other tests mount volumes of their own.
        "mounts": {m for m in (line.split()[4] for line in mounts) if not foreign(m)},
        "links": {p.name for p in Path("/sys/class/net").iterdir()},
        "addresses": {line.split(" ", 1)[1].strip() for line in shown("ip", "-o", "addr")},
        "routes": shown("ip", "route", "show", "table", "all"),
        "rules": shown("ip", "rule"),
        "nftables": shown("nft", "list", "tables"),
        "cgroups": {str(p) for depth in ("*", "*/*") for p in cgroups.glob(depth) if p.is_dir()
                    and "process_api" not in p.parts},
        "places": {str(p) for place in FIXED_PLACES for p in [Path(place), *Path(place).rglob("*")]
                   if p.exists() or p.is_symlink()},
        "state": {str(PATHS.state)} if PATHS.state.exists() else set(),
        "sysctls": {f"{p}={p.read_text().strip()}" for p in settings if p.exists()},
    }  # fmt: skip


def assert_nothing_left(before: dict[str, set[str]]) -> None:
    after = machine()
    new = {what: sorted(after[what] - before[what]) for what in before}
    gone = {what: sorted(before[what] - after[what]) for what in ("links", "routes", "nftables")}
    assert {what: found for what, found in new.items() if found} == {}
    assert {what: found for what, found in gone.items() if found} == {}
    assert leftovers(PATHS) == []


@pytest.fixture
def before() -> Iterator[dict[str, set[str]]]:
    """The machine without a cluster; takes care that none stays."""
    if os.geteuid() != 0:
        pytest.fail("needs root: run it with sudo, or leave the marker `cluster` out")
    if PATHS.state.exists() and command("status", check=False).returncode == 0:
        pytest.fail("a cluster is up, and this test would end it: `make cluster-down` first")
    command("down")
    yield machine()
    command("down")


POD = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 10001, runAsNonRoot: true}
  volumes: [{name: data, persistentVolumeClaim: {claimName: claim}}]
  containers:
    - name: writer
      image: IMAGE
      imagePullPolicy: Never
      command: [sh, -c, "id -u > /data/user && nslookup kubernetes.default.svc.cluster.local \
&& sleep 600"]
      readinessProbe: {exec: {command: [cat, /data/user]}, periodSeconds: 1}
      volumeMounts: [{name: data, mountPath: /data}]
"""


def test_a_pod_runs_and_nothing_is_left(before: dict[str, set[str]]) -> None:
    start = time.monotonic()
    command("up")
    assert time.monotonic() - start < 60
    assert command("status").returncode == 0
    kubectl("apply", "-f", "-", stdin=POD.replace("IMAGE", read_index(PATHS)["pause"]))
    kubectl("wait", "--for=condition=Ready", "pod/writer", "--timeout=60s")
    assert kubectl("exec", "writer", "--", "cat", "/data/user").strip() == "10001"
    assert network.first_service_address() in kubectl("logs", "writer")
    # The snapshot sees a running cluster: else the comparison below could not fail.
    running = machine()
    seen = {what for what in before if running[what] - before[what]}
    expected = {"processes", "mounts", "links", "routes", "nftables", "cgroups", "state"}
    assert expected - seen == set()
    command("down")
    assert_nothing_left(before)


SERVER = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: peer}}
spec:
  nodeSelector: {topology.kubernetes.io/zone: ZONE}
  terminationGracePeriodSeconds: 1
  containers:
    - name: peer
      image: IMAGE
      imagePullPolicy: Never
      command: [sh, -c, "echo here is NAME; while :; do echo NAME | nc -l -p 8000; done"]
"""


def reaches(address: str) -> bool:
    """Whether this machine itself gets a connection to port 80 there."""
    try:
        with socket.create_connection((address, 80), timeout=2):
            return True
    except OSError:
        return False


@pytest.fixture
def outside() -> Iterator[str]:
    """A host beyond another link than the pods' bridge, in a network namespace of its own."""
    script = """
        ip netns add trimtab-test
        ip link add tt-host type veth peer name tt-out netns trimtab-test
        ip addr add 198.51.100.1/24 dev tt-host
        ip link set tt-host addrgenmode none
        ip link set tt-host up
        ip -n trimtab-test addr add 198.51.100.2/24 dev tt-out
        ip -n trimtab-test link set tt-out up
        ip -n trimtab-test route add default via 198.51.100.1
    """
    try:
        subprocess.run(["sh", "-ec", script], check=True)
        # Not http.server: it looks its own name up before it listens; here is no name server.
        listen = ["busybox", "httpd", "-f", "-h", str(REPO / "docs"), "-p", "198.51.100.2:80"]
        server = subprocess.Popen(["ip", "netns", "exec", "trimtab-test", *listen])
        try:
            end = time.monotonic() + 10
            while not reaches("198.51.100.2"):
                assert server.poll() is None, "the host outside does not run"
                assert time.monotonic() < end, "the host outside does not listen"
                time.sleep(0.1)
            yield "198.51.100.2"
        finally:
            server.kill()
            server.wait()
    finally:
        subprocess.run(["ip", "netns", "del", "trimtab-test"], check=True)


def test_three_nodes_talk_to_each_other_and_to_nobody_else(
    outside: str, before: dict[str, set[str]]
) -> None:
    start = time.monotonic()
    command("up", "--nodes", "3")
    assert time.monotonic() - start < 60
    nodes = json.loads(kubectl("get", "nodes", "-o", "json"))["items"]
    zones = {n["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in nodes}
    assert zones == {"a", "b", "c"}
    command("up", "--nodes", "3")
    image = read_index(PATHS)["pause"]
    for zone in ("a", "b", "c"):
        spec = SERVER.replace("ZONE", zone).replace("IMAGE", image).replace("NAME", f"peer-{zone}")
        kubectl("apply", "-f", "-", stdin=spec)
    kubectl("expose", "pod", "peer-b", "--name=far", "--port=80", "--target-port=8000",
            "--selector=app=peer")  # fmt: skip
    kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
    items = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
    assert {pod["spec"]["nodeName"] for pod in items} == {"node0", "node1", "node2"}
    for asker, pod in itertools.product(("peer-a", "peer-b", "peer-c"), items):
        asked = ["exec", asker, "--", "nc", "-w", "3", pod["status"]["podIP"], "8000"]
        assert kubectl(*asked).strip() == pod["metadata"]["name"]
        assert kubectl("logs", asker).strip() == f"here is {asker}"
        far = ["exec", asker, "--", "nc", "-w", "3", "far.default.svc.cluster.local", "80"]
        assert kubectl(*far).startswith("peer-")
    # The host reaches the outside, so that a pod's failure is the guard's doing.
    assert reaches(outside)
    reach = f"nc -w 2 {outside} 80 < /dev/null > /dev/null; echo code $?"
    assert kubectl("exec", "peer-a", "--", "sh", "-c", reach).strip() == "code 1"
    guard = "".join(shown("nft", "list", "chain", "inet", network.NFT_TABLE, "forward"))
    assert "packets 0 bytes 0 reject" not in guard
    command("down")
    assert_nothing_left(before)


def test_a_containerd_is_ready_once_it_serves_pods(tmp_path: Path) -> None:
    paths = dataclasses.replace(PATHS, cache=tmp_path)
    with seed.containerd(paths) as socket:  # answers, but not for Kubernetes
        assert succeeds(["ctr", "--address", socket, "--timeout", "3s", "version"])
        assert not serves_pods(socket)
    command("up")
    assert serves_pods(PATHS.containerd_socket(0))
    command("down")


def test_status_is_not_ok_when_a_daemon_has_died(before: dict[str, set[str]]) -> None:
    command("up")
    os.kill(int((PATHS.pids / "kube-scheduler").read_text()), signal.SIGKILL)
    time.sleep(0.2)
    done = command("status", check=False)
    assert done.returncode == 1
    assert "BAD kube-scheduler" in done.stdout
    command("down")
    assert_nothing_left(before)


@pytest.mark.parametrize("reached", ["etcd", "kubelet-node0"])
def test_a_killed_up_is_survived(before: dict[str, set[str]], reached: str) -> None:
    argv = [sys.executable, "-m", "dev.localcluster", "up"]
    boot = subprocess.Popen(argv, cwd=REPO, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not (PATHS.pids / reached).exists():
        assert time.monotonic() < end, f"{reached} was never started"
        assert boot.poll() is None, "up ended before it could be killed"
        time.sleep(0.01)
    boot.kill()
    boot.wait()
    # Its processes outlive it, or there would be nothing to survive.
    assert leftovers(PATHS) != []
    if reached == "etcd":
        command("down")
    else:
        command("up")
        assert json.loads(kubectl("get", "nodes", "-o", "json"))["items"][0]["metadata"]["name"]
        command("down")
    assert_nothing_left(before)
