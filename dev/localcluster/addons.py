"""What a cluster needs besides control plane and nodes: service routing, DNS and storage."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import Any

from dev.localcluster import daemons
from dev.localcluster.binaries import binary
from dev.localcluster.network import (
    CLUSTER_DOMAIN,
    POD_RANGE,
    SERVICE_RANGE,
    first_service_address,
    node_address,
)
from dev.localcluster.paths import Paths
from dev.localcluster.pki import Authority, write_kubeconfig
from dev.localcluster.run import run

MANIFESTS = Path(__file__).with_name("addons.yaml")
STORAGE_NAMESPACE = "local-storage"


def proxy_config(kubeconfig: Path) -> dict[str, Any]:
    """Return kube-proxy's configuration.

    Everything is masqueraded: pods share one bridge, so otherwise a response would go directly to
    the requesting pod, bypassing the host that has to translate its address.
    """
    address = node_address(0)
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "bindAddress": address,
        "hostnameOverride": "node0",
        "clusterCIDR": POD_RANGE,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "healthzBindAddress": f"{address}:10256",
        "metricsBindAddress": f"{address}:10249",
        "nftables": {"masqueradeAll": True, "minSyncPeriod": "200ms"},
        "conntrack": {"maxPerCore": 0},
    }


def start_proxy(paths: Paths, server: str, authority: Authority) -> daemons.Daemon:
    """Start the one kube-proxy; all nodes share the host's network.

    It is started again if it exits, as a kubelet would do: rarely, that of 1.35 panics while it
    registers for the labels of its node, which it watches already by then.
    """
    kubeconfig = _kubeconfig(paths, server, authority, "kube-proxy", "system:kube-proxy")
    config = paths.state / "kube-proxy.json"
    config.write_text(json.dumps(proxy_config(kubeconfig), indent=1))
    argv: list[str | Path] = [binary(paths, "kube-proxy"), f"--config={config}"]
    return daemons.start("kube-proxy", argv, logs=paths.logs, pids=paths.pids, restarts=2)


def corefile(kubeconfig: Path) -> str:
    """Return CoreDNS's configuration: names of the cluster, and NXDOMAIN for all others."""
    address = node_address(0)
    # Two blocks: within one, the order of plugins is fixed and the template would win.
    return f"""{CLUSTER_DOMAIN} {POD_RANGE} {SERVICE_RANGE} {{
    bind {address}
    errors
    health {address}:8080
    kubernetes {CLUSTER_DOMAIN} {POD_RANGE} {SERVICE_RANGE} {{
        kubeconfig {kubeconfig}
        ttl 5
    }}
}}
. {{
    bind {address}
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def start_dns(paths: Paths, server: str, authority: Authority) -> daemons.Daemon:
    """Start CoreDNS on the bridge's address, to which kubelet directs the pods."""
    kubeconfig = _kubeconfig(paths, server, authority, "coredns", "system:coredns")
    config = paths.state / "Corefile"
    config.write_text(corefile(kubeconfig))
    argv: list[str | Path] = [binary(paths, "coredns"), "-conf", config]
    return daemons.start("coredns", argv, logs=paths.logs, pids=paths.pids)


def start_storage(
    paths: Paths, server: str, authority: Authority, helper_image: str
) -> daemons.Daemon:
    """Start the provisioner on the host; volumes are directories in our state directory."""
    kubeconfig = _kubeconfig(
        paths, server, authority, "local-path-provisioner", "system:local-storage"
    )
    paths.volumes.mkdir(parents=True, exist_ok=True)
    paths.volumes.chmod(0o755)
    config = paths.state / "storage.json"
    config.write_text(json.dumps(storage_config(paths.volumes)))
    helper = paths.state / "storage-helper.json"
    helper.write_text(json.dumps(helper_pod(helper_image)))
    argv: list[str | Path] = [
        binary(paths, "local-path-provisioner"), "start", "--config", config,
        "--helper-pod-file", helper, "--kubeconfig", kubeconfig,
        "--namespace", STORAGE_NAMESPACE, "--service-account-name", "helper",
        "--helper-image", helper_image,
    ]  # fmt: skip
    return daemons.start("local-path-provisioner", argv, logs=paths.logs, pids=paths.pids)


def storage_config(volumes: Path) -> dict[str, Any]:
    """Return where the volumes of each storage class are.

    Those of ``shared`` belong to no node: all nodes are this machine and see the same directories,
    as they would see those of an NFS server.
    """
    everywhere = {"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [str(volumes)]}
    return {
        "storageClassConfigs": {
            "local": {"nodePathMap": [everywhere]},
            "shared": {"sharedFileSystemPath": str(volumes)},
        }
    }


def helper_pod(image: str) -> dict[str, Any]:
    """Return the pod that creates or removes a volume's directory on its node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "helper", "image": image, "imagePullPolicy": "Never"}],
        },
    }


def apply_manifests(paths: Paths) -> None:
    """Apply the roles and the storage classes."""
    run([
        binary(paths, "kubectl"), "--kubeconfig", paths.kubeconfig, "apply", "--server-side",
        "--field-manager", "trimtab-local", "-f", MANIFESTS,
    ])  # fmt: skip


def dns_answers() -> bool:
    """Return whether CoreDNS knows the address of the Service ``kubernetes``."""
    query = dns_query(f"kubernetes.default.svc.{CLUSTER_DOMAIN}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(0.5)
        try:
            link.sendto(query, (node_address(0), 53))
            answer = link.recv(512)
        except OSError:
            return False
    return socket.inet_aton(first_service_address()) in answer


def dns_query(name: str) -> bytes:
    """Return a DNS question for the IPv4 address of a name, with identifier 1."""
    header = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0)
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return header + labels + b"\0" + struct.pack(">2H", 1, 1)


def _kubeconfig(paths: Paths, server: str, authority: Authority, name: str, user: str) -> Path:
    """Create an identity for a service and return its kubeconfig."""
    identity = authority.issue(name, f"/CN={user}")
    target = paths.pki / f"{name}.kubeconfig"
    return write_kubeconfig(target, server, authority, identity, user)
