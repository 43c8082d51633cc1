"""NetworkPolicies as nftables rules, for pods that share one bridge. Pure.

Rules hold for new connections through the bridge: replies pass, and so does what comes from the
host, which is every pod's own node. What goes to the host, such as the API server and DNS, passes
too. Not supported, because none of our policies has them: ports by name, ranges of ports, IPv6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dev.localcluster.network import POLICY_TABLE

Json = dict[str, Any]
ENDED = {"Succeeded", "Failed"}
# Clients see EHOSTUNREACH, which a port that nobody listens at never gives them.
REFUSE = "counter reject with icmpx type admin-prohibited"


@dataclass(frozen=True)
class Pods:
    """All pods with an address of their own, and the labels of the namespaces."""

    pods: Sequence[Json]
    namespaces: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, pods: Iterable[Json], namespaces: Iterable[Json]) -> Pods:
        """Keep those that run or start; pods on the host's network have the host's address."""
        kept = [
            pod
            for pod in pods
            if pod["status"].get("podIP")
            and pod["status"].get("phase") not in ENDED
            and not pod["spec"].get("hostNetwork")
        ]
        labels = {n["metadata"]["name"]: n["metadata"].get("labels") or {} for n in namespaces}
        return cls(kept, labels)

    def addresses(self, selector: Json, namespaces: Iterable[str]) -> list[str]:
        """Return the addresses of the pods that a selector matches in some namespaces."""
        places = set(namespaces)
        return sorted(
            pod["status"]["podIP"]
            for pod in self.pods
            if pod["metadata"]["namespace"] in places
            and matches(selector, pod["metadata"].get("labels") or {})
        )

    def spaces(self, selector: Json) -> list[str]:
        """Return the names of the namespaces that a selector matches."""
        return [name for name, labels in self.namespaces.items() if matches(selector, labels)]


def matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches."""
    if any(labels.get(k) != v for k, v in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(wanted, labels) for wanted in selector.get("matchExpressions") or [])


def _holds(wanted: Json, labels: Mapping[str, str]) -> bool:
    key, values = wanted["key"], wanted.get("values") or []
    return {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[wanted["operator"]]


def script(policies: Iterable[Json], pods: Pods) -> str:
    """Return the nftables script that replaces the table of all policies at once."""
    policies = list(policies)
    jumps, chains = [], []
    for way, own, chain in (("Egress", "saddr", "outward"), ("Ingress", "daddr", "inward")):
        rules, selected = _chain(policies, pods, way)
        if selected:
            jumps.append(f"    ip {own} {_set(sorted(selected))} jump {chain}\n")
        body = "".join(f"    {rule}\n" for rule in [*rules, REFUSE])
        chains.append(f"  chain {chain} {{\n{body}  }}\n")
    return (
        f"table inet {POLICY_TABLE}\n"
        f"delete table inet {POLICY_TABLE}\n"
        f"table inet {POLICY_TABLE} {{\n"
        f"{''.join(chains)}"
        "  chain forward {\n"
        "    type filter hook forward priority -40; policy accept;\n"
        "    ct state established,related accept\n"
        f"{''.join(jumps)}"
        "  }\n"
        "}\n"
    )


def _chain(policies: list[Json], pods: Pods, way: str) -> tuple[list[str], set[str]]:
    """Return the rules that let connections through, and the pods that are restricted."""
    rules: list[str] = []
    selected: set[str] = set()
    for policy in policies:
        spec, home = policy["spec"], policy["metadata"]["namespace"]
        own = pods.addresses(spec["podSelector"], [home])
        if way not in spec["policyTypes"] or not own:
            continue
        selected.update(own)
        for rule in spec.get(way.lower()) or []:
            rules += [
                f"{_own(way)} {_set(own)} {peer}{port}return"
                for peer in _peers(rule, way, home, pods)
                for port in _ports(rule)
            ]
    return rules, selected


def _own(way: str) -> str:
    return "ip saddr" if way == "Egress" else "ip daddr"


def _peers(rule: Json, way: str, home: str, pods: Pods) -> Iterator[str]:
    """Yield a match for each peer of a rule; no peers: everybody."""
    field, side = ("to", "ip daddr") if way == "Egress" else ("from", "ip saddr")
    if not rule.get(field):
        yield ""
    for peer in rule.get(field) or []:
        if "ipBlock" in peer:
            block = peer["ipBlock"]
            if ":" not in block["cidr"]:
                holes = block.get("except") or []
                without = f"{side} != {_set(holes)} " if holes else ""
                yield f"{side} {block['cidr']} {without}"
            continue
        spaces = peer.get("namespaceSelector")
        places = [home] if spaces is None else pods.spaces(spaces)
        if found := pods.addresses(peer.get("podSelector") or {}, places):
            yield f"{side} {_set(found)} "


def _ports(rule: Json) -> Iterator[str]:
    """Yield a match for each port of a rule; no ports: all."""
    if not rule.get("ports"):
        yield ""
    for wanted in rule.get("ports") or []:
        protocol, port = wanted.get("protocol", "TCP").lower(), wanted.get("port")
        if port is None:
            yield f"meta l4proto {protocol} "
        elif isinstance(port, int):
            yield f"{protocol} dport {port} "


def _set(addresses: Iterable[str]) -> str:
    return f"{{ {', '.join(addresses)} }}"
