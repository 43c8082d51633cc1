"""Which connections NetworkPolicies allow, by the rules of the Kubernetes API."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class End:
    """A pod, or an address outside the cluster (then without a namespace)."""

    address: str
    namespace: str | None = None
    labels: frozenset[tuple[str, str]] = frozenset()


def pod(address: str, namespace: str, labels: dict[str, str]) -> End:
    return End(address, namespace, frozenset(labels.items()))


def reaches(
    source: End, to: End, port: int, policies: Iterable[Json], protocol: str = "TCP"
) -> bool:
    """Whether the policies let one end open a connection to the other."""
    policies = list(policies)
    out = _passes(source, to, port, protocol, policies, "Egress")
    return out and _passes(to, source, port, protocol, policies, "Ingress")


def _passes(end: End, peer: End, port: int, protocol: str, policies: list[Json], way: str) -> bool:
    """Whether the policies that select an end allow a peer, in or out."""
    rules, peers = ("ingress", "from") if way == "Ingress" else ("egress", "to")
    selecting = [
        policy
        for policy in policies
        if policy["metadata"]["namespace"] == end.namespace
        and way in policy["spec"]["policyTypes"]
        and _selects(policy["spec"]["podSelector"], dict(end.labels))
    ]
    return not selecting or any(
        _port_of(rule, port, protocol)
        and (peers not in rule or any(_is(p, peer, end.namespace or "") for p in rule[peers]))
        for policy in selecting
        for rule in policy["spec"].get(rules, ())
    )


def _port_of(rule: Json, port: int, protocol: str) -> bool:
    wanted = rule.get("ports")
    return wanted is None or any(
        each.get("protocol", "TCP") == protocol and each.get("port", port) == port
        for each in wanted
    )


def _is(peer: Json, end: End, home: str) -> bool:
    """Whether an end is the peer of a policy in the namespace `home`."""
    if "ipBlock" in peer:
        block, address = peer["ipBlock"], ipaddress.ip_address(end.address)
        if any(address in ipaddress.ip_network(hole) for hole in block.get("except", ())):
            return False
        return address in ipaddress.ip_network(block["cidr"])
    if end.namespace is None:
        return False
    named = {"kubernetes.io/metadata.name": end.namespace}
    spaces = peer.get("namespaceSelector")
    if not (end.namespace == home if spaces is None else _selects(spaces, named)):
        return False
    return _selects(peer.get("podSelector", {}), dict(end.labels))


def _selects(selector: Json, labels: dict[str, str]) -> bool:
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for wanted in selector.get("matchExpressions", ()):
        assert wanted["operator"] == "In", "the others are not in use"
        if labels.get(wanted["key"]) not in wanted["values"]:
            return False
    return True
