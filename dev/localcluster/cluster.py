"""The life of the cluster: up, down, status."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from dev.localcluster import addons, console, daemons, enforcer, network, registry, seed
from dev.localcluster.apiclient import KubeApi, load_identity
from dev.localcluster.binaries import ensure_tools
from dev.localcluster.controlplane import (
    API_PORT,
    ETCD_PEER_PORT,
    ETCD_PORT,
    ApiServer,
    boot_api,
    start_controllers,
)
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.imageload import load_images
from dev.localcluster.images import build_images, read_index
from dev.localcluster.lock import exclusive
from dev.localcluster.node import Node, start_containerd, start_kubelet
from dev.localcluster.paths import Paths
from dev.localcluster.pki import Identity, make_authority, write_kubeconfig
from dev.localcluster.recipes import recipe
from dev.localcluster.run import wait_until
from dev.localcluster.sweep import MANAGERS, sweep

READY_LIMIT_S = 90
TOOLS = (
    "etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet",
    "kube-proxy", "coredns", "local-path-provisioner", "registry",
)  # fmt: skip


def locked(paths: Paths) -> contextlib.AbstractContextManager[None]:
    """Hold the lock that keeps two commands from changing the cluster at once."""
    return exclusive(paths.lock, "another up, down or load is running")


def down(paths: Paths) -> None:
    """Remove everything of a cluster except the caches."""
    with locked(paths), console.step("sweep", 60):
        seed.tidy(paths)
        sweep(paths)


def up(paths: Paths, nodes: int, *, seeded: bool = True) -> None:
    """Boot a fresh cluster and wait until pods can run; sweeps an older one first.

    Nodes that are `seeded` have the built images already, others have to pull them.

    Raises:
        LocalClusterError: it did not come up. What runs is left for inspection, with ``logs/``; the
            next `up` or `down` sweeps it.
    """
    if not 1 <= nodes <= network.MAX_NODES:
        raise LocalClusterError(f"--nodes {nodes}: 1 to {network.MAX_NODES}")
    with locked(paths):
        ensure_tools(paths, TOOLS)
        pause = build_images(paths, ["pause"])["pause"]
        with console.step("sweep", 60):
            sweep(paths)
        paths.state.mkdir(parents=True, mode=0o755)
        (paths.state / "resolv.conf").touch()
        network.set_up(paths, nodes)
        members = [Node(paths, number, nodes) for number in range(nodes)]
        server, api = _boot_control_plane(paths)
        if seeded:
            for node in members:
                seed.plant(paths, node.image_store)
        watched = _boot_nodes(paths, server, members, pause)
        watched += _boot_addons(paths, server, pause)
        _await_ready(api, members, watched)


def _boot_control_plane(paths: Paths) -> tuple[ApiServer, KubeApi]:
    """Start etcd, API server, controllers and scheduler; write the administrator's kubeconfig."""
    server = ApiServer(
        directory=paths.state,
        address=network.node_address(0),
        port=API_PORT,
        etcd_port=ETCD_PORT,
        etcd_peer_port=ETCD_PEER_PORT,
        authority=make_authority(paths.pki),
        logs=paths.logs,
        pids=paths.pids,
    )
    kubelet = server.authority.issue("apiserver-kubelet", "/O=system:masters/CN=kube-apiserver")
    extra = [
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={kubelet.certificate}",
        f"--kubelet-client-key={kubelet.key}",
        f"--kubelet-certificate-authority={server.authority.certificate}",
        "--enable-admission-plugins=NodeRestriction",
    ]
    with console.step("API server", READY_LIMIT_S):
        _, api = boot_api(paths, server, extra)
    admin = Identity(paths.pki / "admin.crt", paths.pki / "admin.key")
    write_kubeconfig(paths.kubeconfig, server.url, server.authority, admin, "admin")
    return server, api


def _boot_nodes(
    paths: Paths, server: ApiServer, members: list[Node], pause: str
) -> list[daemons.Daemon]:
    """Start controllers, containerd and kubelet of each node."""
    started = start_controllers(paths, server)
    with console.step(f"{len(members)} containerd", READY_LIMIT_S):
        started += [start_containerd(node, pause) for node in members]
    load_images(paths, [node.socket for node in members], ["pause"])
    started += [start_kubelet(node, server.url, server.authority) for node in members]
    return started


def _boot_addons(paths: Paths, server: ApiServer, pause: str) -> list[daemons.Daemon]:
    """Start service routing, DNS, storage, the network policies and the registry."""
    addons.apply_manifests(paths)
    return [
        addons.start_proxy(paths, server.url, server.authority),
        addons.start_dns(paths, server.url, server.authority),
        addons.start_storage(paths, server.url, server.authority, pause),
        enforcer.start(paths, server.url),
        registry.start(paths, server.authority),
    ]


def _await_ready(api: KubeApi, members: list[Node], watched: list[daemons.Daemon]) -> None:
    """Wait for the nodes, the account without which no pod is admitted, routing and DNS."""

    def check() -> None:
        for daemon in watched:
            daemon.check()

    names = {node.name for node in members}
    waits = (
        ("nodes ready", lambda: {n for n, ok in api.nodes_ready().items() if ok} == names),
        ("default service account",
         lambda: api.exists("/api/v1/namespaces/default/serviceaccounts/default")),
        ("service routing", lambda: network.has_table("ip", "kube-proxy")),
        ("network policies", lambda: network.has_table("inet", network.POLICY_TABLE)),
        ("CoreDNS", addons.dns_answers),
        ("registry", registry.answers),
    )  # fmt: skip
    for what, probe in waits:
        with console.step(what, READY_LIMIT_S):
            wait_until(what, probe, limit_s=READY_LIMIT_S, alive=check)


@dataclass(frozen=True)
class Finding:
    """One line of ``status``."""

    what: str
    healthy: bool
    detail: str


def status(paths: Paths) -> list[Finding]:
    """Return the state of each part; the cluster is usable if all are healthy."""
    if not paths.kubeconfig.exists():
        return [Finding("cluster", False, "not up")]
    findings = [_daemon_finding(paths, file) for file in sorted(paths.pids.glob("*"))]
    authority, admin = load_identity(paths.pki, "admin")
    api = KubeApi(f"https://{network.node_address(0)}:{API_PORT}", authority, admin)
    ready = api.ready()
    version = api.get("/version")["gitVersion"] if ready else "does not answer"
    findings.append(Finding("API server", ready, version))
    for name, healthy in (api.nodes_ready() if ready else {}).items():
        findings.append(Finding(name, healthy, "Ready" if healthy else "not Ready"))
    answers = addons.dns_answers()
    findings.append(Finding("names", answers, "answers" if answers else "no answer"))
    return findings


def _daemon_finding(paths: Paths, file: Path) -> Finding:
    """Return whether the daemon of a pid file runs; a reused process id does not count."""
    pid = int(file.read_text())
    running = daemons.alive(pid) and daemons.is_ours(
        daemons.command_line(pid), paths.state, MANAGERS
    )
    return Finding(file.name, running, f"pid {pid}" if running else "ended")


def size(paths: Paths) -> int:
    """Return the number of nodes of the running cluster; 0 without one."""
    return len(sockets(paths))


def sockets(paths: Paths) -> list[Path]:
    """Return the socket of each node's containerd."""
    return sorted(paths.state.glob("n*/containerd.sock"))


def load(paths: Paths, names: list[str]) -> list[str]:
    """Load built images into every node of the running cluster.

    Raises:
        LocalClusterError: no cluster is up, or an image is not built.
    """
    with locked(paths):
        found = sockets(paths)
        if not found:
            raise LocalClusterError("no cluster is up")
        known = [name for name in read_index(paths) if recipe(name).loaded]
        return load_images(paths, found, names or known)
