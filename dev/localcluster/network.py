"""Addresses of the cluster, its bridge, and the rules that keep its packets on this machine."""

from __future__ import annotations

import ipaddress
import json
import socket
from pathlib import Path

from dev.localcluster.failures import CommandError
from dev.localcluster.paths import Paths
from dev.localcluster.run import run, succeeds

BRIDGE = "trimtab0"
POD_RANGE = "10.200.0.0/16"
SERVICE_RANGE = "10.201.0.0/16"
CLUSTER_DOMAIN = "cluster.local"
# Each node has 16 /24 of the pod range: its own address is the first one, pods follow.
NODE_STEP = 16
MAX_NODES = 15
NFT_TABLE = "trimtab_guard"
POLICY_TABLE = "trimtab_policies"
OUR_TABLES = (("inet", NFT_TABLE), ("inet", POLICY_TABLE))
# The tables that kube-proxy makes in its nftables mode.
PROXY_TABLES = (("ip", "kube-proxy"), ("ip6", "kube-proxy"))
BLACKHOLE_METRIC = "4278198272"
# Changed by us, by kubelet or by kube-proxy; restored by `down`.
SYSCTLS = (
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
    "net/netfilter/nf_conntrack_max",
    "net/netfilter/nf_conntrack_tcp_timeout_established",
    "net/netfilter/nf_conntrack_tcp_timeout_close_wait",
    "net/netfilter/nf_conntrack_tcp_be_liberal",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


def accepts(host: str, port: int, timeout_s: float = 0.5) -> bool:
    """Return whether something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=timeout_s):
            return True
    except OSError:
        return False


def node_address(number: int) -> str:
    """Return the address of node `number`; the first node has the bridge's address."""
    return str(_node_base(number) + 1)


def pod_addresses(number: int) -> tuple[str, str]:
    """Return the first and the last pod address of node `number`."""
    base = _node_base(number)
    return str(base + 10), str(base + NODE_STEP * 256 - 6)


def _node_base(number: int) -> ipaddress.IPv4Address:
    if not 0 <= number < MAX_NODES:
        raise ValueError(f"node {number}: there is room for {MAX_NODES}")
    return ipaddress.IPv4Network(POD_RANGE).network_address + number * NODE_STEP * 256


def first_service_address() -> str:
    """Return the address of the Service ``kubernetes``, the first in the range."""
    return str(ipaddress.IPv4Network(SERVICE_RANGE).network_address + 1)


def guard_rules() -> str:
    """Return the nftables script that keeps pod packets from leaving through any other link."""
    return (
        f"table inet {NFT_TABLE} {{\n"
        "  chain forward {\n"
        "    type filter hook forward priority -50; policy accept;\n"
        f'    ip saddr {POD_RANGE} oifname != "{BRIDGE}" counter reject\n'
        f'    ip daddr {{ {POD_RANGE}, {SERVICE_RANGE} }} iifname != "{BRIDGE}" counter drop\n'
        "  }\n"
        "  chain output {\n"
        "    type filter hook output priority -50; policy accept;\n"
        f'    ip daddr {POD_RANGE} oifname != {{ "{BRIDGE}", "lo" }} counter drop\n'
        "  }\n"
        "}\n"
    )


def set_up(paths: Paths, nodes: int) -> None:
    """Create the bridge with all node addresses, the blackhole routes and the guard rules."""
    save_sysctls(paths.sysctls)
    for module in ("br_netfilter", "overlay", "nf_conntrack"):
        # It may be built in; if it is really missing, what follows fails with a better message.
        succeeds(["modprobe", "-q", module])
    write_sysctl("net/ipv4/ip_forward", "1")
    run(["ip", "link", "add", BRIDGE, "type", "bridge"])
    run(["ip", "link", "set", BRIDGE, "alias", str(paths.state)])
    run(["ip", "addr", "add", f"{node_address(0)}/16", "dev", BRIDGE])
    for number in range(1, nodes):
        run(["ip", "addr", "add", f"{node_address(number)}/32", "dev", BRIDGE])
    run(["ip", "link", "set", BRIDGE, "up"])
    for cidr in (POD_RANGE, SERVICE_RANGE):
        run(["ip", "route", "add", "blackhole", cidr, "metric", BLACKHOLE_METRIC])
    run(["nft", "-f", "-"], stdin=guard_rules())


def owner() -> Path | None:
    """Return the state directory of the cluster that the bridge belongs to; None without one."""
    try:
        alias = Path(f"/sys/class/net/{BRIDGE}/ifalias").read_text().strip()
    except OSError:
        return None
    return Path(alias) if alias else None


def tear_down(paths: Paths) -> None:
    """Remove what `set_up`, kube-proxy and the pod network created; missing parts are no error."""
    for name in veths():
        succeeds(["ip", "link", "delete", name])
    if Path(f"/sys/class/net/{BRIDGE}").exists():
        run(["ip", "link", "delete", BRIDGE])
    for cidr in (POD_RANGE, SERVICE_RANGE):
        if run(["ip", "route", "show", "type", "blackhole", "exact", cidr]).strip():
            run(["ip", "route", "delete", "blackhole", cidr, "metric", BLACKHOLE_METRIC])
    for family, table in (*OUR_TABLES, *PROXY_TABLES):
        if has_table(family, table):
            run(["nft", "delete", "table", family, table])
    restore_sysctls(paths.sysctls)


def veths() -> list[str]:
    """Return the host ends of pod links: whatever is attached to our bridge."""
    try:
        shown = run(["ip", "-j", "link", "show", "master", BRIDGE])
    except CommandError:  # there is no such bridge
        return []
    return [entry["ifname"] for entry in json.loads(shown or "[]") if "ifname" in entry]


def has_table(family: str, table: str) -> bool:
    """Return whether an nftables table exists; without nft it does not."""
    try:
        return f"table {family} {table}\n" in run(["nft", "list", "tables", family]) + "\n"
    except CommandError:
        return False


def write_sysctl(name: str, value: str) -> None:
    """Set a kernel setting; one that this kernel lacks is skipped."""
    path = Path("/proc/sys") / name
    if path.exists():
        path.write_text(value)


def save_sysctls(target: Path) -> None:
    """Save the kernel settings that the cluster changes, once."""
    if target.exists():
        return
    found = {}
    for name in SYSCTLS:
        path = Path("/proc/sys") / name
        if path.exists():
            found[name] = path.read_text().strip()
    making = target.with_suffix(".new")
    making.write_text(json.dumps(found, indent=1))
    making.rename(target)


def restore_sysctls(source: Path) -> None:
    """Restore the saved kernel settings, if there are any."""
    if not source.exists():
        return
    for name, value in json.loads(source.read_text()).items():
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text().strip() != value:
            path.write_text(value)
