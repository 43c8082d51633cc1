"""The cluster's registry: nodes and this machine reach it at the same address, by TLS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dev.localcluster import daemons
from dev.localcluster.binaries import binary
from dev.localcluster.images import AUTHORITIES
from dev.localcluster.network import accepts, node_address
from dev.localcluster.paths import Paths
from dev.localcluster.pki import Authority, Identity

PORT = 25000


def address() -> str:
    """Return how image references name it: host and port."""
    return f"{node_address(0)}:{PORT}"


def start(paths: Paths, authority: Authority) -> daemons.Daemon:
    """Start it, and let the nodes and `trusted` know its authority."""
    ip = node_address(0)
    identity = authority.issue("registry", "/CN=registry", alternative_names=[f"IP:{ip}"])
    hosts = paths.registries / address()
    hosts.mkdir(parents=True)
    (hosts / "hosts.toml").write_text(hosts_file(authority))
    known = AUTHORITIES.read_text() if AUTHORITIES.exists() else ""
    trusted(paths).write_text(known + authority.certificate.read_text())
    file = paths.state / "registry.json"
    file.write_text(json.dumps(configuration(paths.state / "registry", identity), indent=1))
    return daemons.start(
        "registry", [binary(paths, "registry"), "serve", file], logs=paths.logs, pids=paths.pids,
        env={"OTEL_TRACES_EXPORTER": "none"},
    )  # fmt: skip


def trusted(paths: Paths) -> Path:
    """Return the machine's authorities and the cluster's: `SSL_CERT_FILE` for those who push."""
    return paths.state / "authorities.crt"


def hosts_file(authority: Authority) -> str:
    """Return what a node's containerd must know of it; read again at every pull."""
    url = f"https://{address()}"
    return (
        f'server = "{url}"\n[host."{url}"]\n'
        f'  capabilities = ["pull", "resolve"]\n  ca = "{authority.certificate}"\n'
    )


def configuration(directory: Path, identity: Identity) -> dict[str, Any]:
    """Return its configuration; JSON is YAML too."""
    return {
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(directory)}},
        "http": {
            "addr": address(),
            "tls": {"certificate": str(identity.certificate), "key": str(identity.key)},
        },
    }


def answers() -> bool:
    """Return whether it accepts connections."""
    return accepts(node_address(0), PORT)
