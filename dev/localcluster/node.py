"""A node: a containerd and a kubelet of its own, on the shared bridge."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev.localcluster import cgroups, daemons
from dev.localcluster.binaries import binary
from dev.localcluster.failures import CommandError
from dev.localcluster.network import (
    BRIDGE,
    CLUSTER_DOMAIN,
    POD_RANGE,
    node_address,
    pod_addresses,
)
from dev.localcluster.paths import Paths
from dev.localcluster.pki import Authority, write_kubeconfig
from dev.localcluster.run import run, wait_until

ZONES = ("a", "b", "c")
CNI_PLUGINS = Path("/usr/lib/cni")
CAP_SYS_RESOURCE = 24
EMPTY_MESSAGE = 5 * "\0"
"""A gRPC message without fields: not compressed, no bytes."""


@dataclass(frozen=True)
class Node:
    """One node of the cluster, by its number."""

    paths: Paths
    number: int
    total: int  # nodes in the cluster; they share the machine's memory

    @property
    def name(self) -> str:
        """The node's name in the cluster."""
        return f"node{self.number}"

    @property
    def zone(self) -> str:
        """The node's zone; three zones, in turn."""
        return ZONES[self.number % len(ZONES)]

    @property
    def directory(self) -> Path:
        """Where all of the node's state is stored."""
        return self.paths.node(self.number)

    @property
    def image_store(self) -> Path:
        """The root of its containerd: images and their layers."""
        return self.directory / "containerd"

    @property
    def socket(self) -> Path:
        """The socket of its containerd."""
        return self.paths.containerd_socket(self.number)


def may_lower_oom_scores() -> bool:
    """Return whether we have CAP_SYS_RESOURCE, which lowering an OOM score needs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_SYS_RESOURCE & 1)
    return False


def containerd_config(node: Node, pause_image: str, *, restrict_oom: bool) -> str:
    """Return containerd's configuration: everything under the node's own directory."""
    base = node.directory
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "{node.image_store}"
state = "{base}/run"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", \
"io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", \
"io.containerd.snapshotter.v1.devmapper", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{node.socket}"
[{cri}]
  sandbox_image = "{pause_image}"
  restrict_oom_score_adj = {str(restrict_oom).lower()}
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [{cri}.registry]
    config_path = "{node.paths.registries}"
  [{cri}.cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{base}/cni"
  [{cri}.containerd]
    snapshotter = "overlayfs"
    [{cri}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [{cri}.containerd.runtimes.runc.options]
        Root = "{base}/runc"
        SystemdCgroup = false
"""


def cni_config(node: Node) -> dict[str, Any]:
    """Return the pod network: the shared bridge, and the node's own range of addresses."""
    first, last = pod_addresses(node.number)
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": False,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(node.directory / "cni-addresses"),
            "ranges": [[{
                "subnet": POD_RANGE, "rangeStart": first, "rangeEnd": last,
                "gateway": node_address(0),
            }]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }  # fmt: skip
    return {
        "cniVersion": "0.4.0",
        "name": f"trimtab-{node.name}",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def memory_share_bytes(total_bytes: int, nodes: int) -> int:
    """Return the memory a node must reserve so that all nodes together offer the machine's once."""
    return total_bytes - total_bytes // nodes


def kubelet_config(node: Node, authority: Authority) -> dict[str, Any]:
    """Return kubelet's configuration: all ports on the node's own address."""
    address = node_address(node.number)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    pki = node.paths.pki
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "healthzBindAddress": address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority.certificate)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki / f"{node.name}.crt"),
        "tlsPrivateKeyFile": str(pki / f"{node.name}.key"),
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "volumePluginDir": str(node.directory / "volume-plugins"),
        "podLogsDir": str(node.directory / "pod-logs"),
        "resolvConf": str(node.paths.state / "resolv.conf"),
        "clusterDNS": [node_address(0)],
        "clusterDomain": CLUSTER_DOMAIN,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroups.name(node.number)}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        # kube-proxy in nftables mode needs none of these, and they would remain afterwards.
        "makeIPTablesUtilChains": False,
        "systemReserved": {"memory": str(memory_share_bytes(total, node.total))},
        # It is a developer's disk: a full one must not evict pods or remove images.
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "eventRecordQPS": 0,
        "enableProfilingHandler": False,
    }  # fmt: skip


def start_containerd(node: Node, pause_image: str) -> daemons.Daemon:
    """Start the node's containerd and wait until it answers."""
    (node.directory / "cni").mkdir(parents=True, exist_ok=True)
    config = node.directory / "containerd.toml"
    restrict = not may_lower_oom_scores()
    config.write_text(containerd_config(node, pause_image, restrict_oom=restrict))
    (node.directory / "cni" / "10-trimtab.conflist").write_text(json.dumps(cni_config(node)))
    daemon = daemons.start(
        f"containerd-{node.name}",
        ["containerd", "--config", config],
        logs=node.paths.logs,
        pids=node.paths.pids,
        env={"PATH": f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"},
    )
    wait_until(
        f"containerd of {node.name}", lambda: serves_pods(node.socket),
        limit_s=30, alive=daemon.check,
    )  # fmt: skip
    return daemon


def serves_pods(socket: Path) -> bool:
    """Return whether a containerd answers a kubelet's first call.

    The service for Kubernetes starts after all others, and a kubelet that comes too early exits.
    """
    call: list[str | Path] = [
        "curl", "--silent", "--max-time", "3", "--unix-socket", socket, "--http2-prior-knowledge",
        "--header", "Content-Type: application/grpc", "--header", "TE: trailers",
        "--data-binary", "@-", "http://localhost/runtime.v1.RuntimeService/Version",
    ]  # fmt: skip
    try:
        return len(run(call, stdin=EMPTY_MESSAGE)) > len(EMPTY_MESSAGE)
    except CommandError:
        return False


def start_kubelet(node: Node, server: str, authority: Authority) -> daemons.Daemon:
    """Start the node's kubelet; the API server reports when it is ready."""
    address = node_address(node.number)
    cgroups.make(node.number)
    identity = authority.issue(
        node.name,
        f"/O=system:nodes/CN=system:node:{node.name}",
        alternative_names=[f"IP:{address}", f"DNS:{node.name}"],
    )
    user = f"system:node:{node.name}"
    target = node.paths.pki / f"{node.name}.kubeconfig"
    kubeconfig = write_kubeconfig(target, server, authority, identity, user)
    config = node.directory / "kubelet.json"
    config.write_text(json.dumps(kubelet_config(node, authority), indent=1))
    labels = f"topology.kubernetes.io/zone={node.zone},topology.kubernetes.io/region=local"
    return daemons.start(
        f"kubelet-{node.name}",
        [
            binary(node.paths, "kubelet"), f"--config={config}", f"--kubeconfig={kubeconfig}",
            f"--hostname-override={node.name}", f"--node-ip={address}",
            f"--root-dir={node.directory / 'kubelet'}", f"--node-labels={labels}",
        ],
        logs=node.paths.logs,
        pids=node.paths.pids,
        env={"PATH": f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"},
        # all kubelets of a machine listen at one socket for device plugins, which each removes and
        # makes anew: of two that do so at the same moment, one ends
        restarts=2,
    )  # fmt: skip
