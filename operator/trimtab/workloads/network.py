"""NetworkPolicies: who may reach pipelines and brokers, and at which ports. Pure.

Replies and the kubelet's probes need no rule. Whoever needs more adds a NetworkPolicy of their own:
what one allows, no other forbids.
"""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.listening import (
    BLOCK_MANAGER_PORT,
    BROKER_PORT,
    CONTROLLER_PORT,
    DRIVER_PORT,
    FIXED_PORTS,
    METRICS_PORT,
    PEERS_PORT,
    UI_PORT,
)
from trimtab.api.network import Egress
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads.common import COMPONENT_LABEL, KAFKA_LABEL, PIPELINE_LABEL, child

DNS_PORT = 53
API_PORTS = (443, 6443)
"""Of the Service `kubernetes` and of API servers: which one counts depends on the plugin."""

_ANYWHERE: Manifest = {"namespaceSelector": {}}


def pipeline_policies(
    parent: Manifest, config: OperatorSettings, *, ui: bool = False, kafka: bool = True
) -> list[Manifest]:
    """Who may reach the driver and the executors of a pipeline; none if policies are off.

    `ui`: the driver serves Spark's web UI; `kafka`: its source or its sink is one.

    They hold for pods that listen at the fixed ports. Drivers of an older trimtab do not, and keep
    running until they restart.
    """
    if config.network is None:
        return []
    name = parent["metadata"]["name"]
    labels = {PIPELINE_LABEL: name}
    ours = _pods(labels, "driver", "executor")
    metrics = _rule("from", config.network.metrics_from, METRICS_PORT)
    viewers = config.network.spark_ui_from if ui else ()
    into = {
        "driver": [
            _rule("from", [_pods(labels, "executor")], DRIVER_PORT, BLOCK_MANAGER_PORT),
            metrics,
            *([_rule("from", viewers, UI_PORT)] if viewers else ()),
        ],
        "executor": [_rule("from", [ours], BLOCK_MANAGER_PORT)],
    }
    return [
        _policy(
            parent, f"{name}-{role}", labels | {COMPONENT_LABEL: role}, ingress,
            egress=_egress(config.network.egress, role, ours, kafka=kafka), only=FIXED_PORTS,
        )
        for role, ingress in into.items()
    ]  # fmt: skip


def broker_policies(
    parent: Manifest, config: OperatorSettings, *, secured: bool = False
) -> list[Manifest]:
    """Who may reach the brokers of a cluster; none if policies are off."""
    if config.network is None:
        return []
    name = parent["metadata"]["name"]
    labels = {KAFKA_LABEL: name}
    brokers = _pods(labels, "kafka")
    job = _pods(labels, "kafka-topics")
    clients = [
        _ANYWHERE | _pods({}, "driver", "executor"),
        *(() if secured else [job]),
        *config.network.kafka_from,
    ]
    ingress = [
        _rule("from", [brokers], BROKER_PORT, CONTROLLER_PORT),
        *([_rule("from", [brokers, job], PEERS_PORT)] if secured else ()),
        _rule("from", clients if config.network.kafka_from else (), BROKER_PORT),
    ]
    return [_policy(parent, f"{name}-kafka", labels | {COMPONENT_LABEL: "kafka"}, ingress)]


def _egress(
    allowed: Egress | None, role: str, ours: Manifest, *, kafka: bool
) -> list[Manifest] | None:
    """Where a driver or an executor may go; None: anywhere."""
    if allowed is None:
        return None
    dns = [{"protocol": protocol, "port": DNS_PORT} for protocol in ("UDP", "TCP")]
    api = [{"ipBlock": {"cidr": cidr}} for cidr in allowed.api_server]
    return [
        {"ports": dns},
        _rule("to", [ours], DRIVER_PORT, BLOCK_MANAGER_PORT),
        *([_rule("to", [_ANYWHERE | _pods({}, "kafka")], BROKER_PORT)] if kafka else ()),
        *([_rule("to", api, *API_PORTS)] if role == "driver" else ()),
        *allowed.allow,
    ]


def _pods(labels: dict[str, str], *components: str) -> Manifest:
    """A peer: the pods of these labels and one of these components, in the policy's namespace."""
    values = list(components)
    component = {"key": COMPONENT_LABEL, "operator": "In", "values": values}
    selector: Manifest = {"matchExpressions": [component]}
    if labels:
        selector["matchLabels"] = labels
    return {"podSelector": selector}


def _rule(direction: str, peers: Iterable[Manifest], *ports: int) -> Manifest:
    """A rule for TCP ports; no peers: everybody."""
    rule: Manifest = {"ports": [{"protocol": "TCP", "port": port} for port in ports]}
    return rule | ({direction: found} if (found := list(peers)) else {})


def _policy(
    parent: Manifest, name: str, labels: dict[str, str], ingress: list[Manifest], *,
    egress: list[Manifest] | None = None, only: dict[str, str] | None = None,
) -> Manifest:  # fmt: skip
    """A policy for the pods with these labels and `only`; without `egress` they go anywhere."""
    spec: Manifest = {
        "podSelector": {"matchLabels": labels | (only or {})},
        "policyTypes": ["Ingress"],
        "ingress": ingress,
    }
    if egress is not None:
        spec |= {"policyTypes": ["Ingress", "Egress"], "egress": egress}
    return child(parent, "NetworkPolicy", name, labels, {"spec": spec})
