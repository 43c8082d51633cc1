"""NetworkPolicies as rules of the local cluster: what tests/cluster does not try by connections."""

from __future__ import annotations

from typing import Any

import pytest
from dev.localcluster.enforcer import Seen
from dev.localcluster.policies import REFUSE, Pods, matches, script

Json = dict[str, Any]
LABELS = {"app": "shop", "tier": "web"}


def expression(operator: str, key: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        ({}, True),
        ({"matchLabels": {"app": "shop"}}, True),
        ({"matchLabels": {"app": "blog"}}, False),
        (expression("In", "tier", "web", "db"), True),
        (expression("NotIn", "tier", "db"), True),
        (expression("NotIn", "none", "db"), True),
        (expression("Exists", "app"), True),
        (expression("DoesNotExist", "app"), False),
        ({"matchLabels": {"app": "shop"}} | expression("In", "tier", "db"), False),
    ],
)
def test_selectors(selector: Json, matched: bool) -> None:
    assert matches(selector, LABELS) is matched


def pod(address: str, name: str = "p", *, phase: str = "Running", host: bool = False) -> Json:
    return {
        "metadata": {"name": name, "namespace": "n", "labels": LABELS},
        "spec": {"hostNetwork": host},
        "status": {"podIP": address, "phase": phase},
    }


NAMESPACE = {"metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}}}


def policy(**spec: Any) -> Json:
    whole = {"podSelector": {}, "policyTypes": ["Ingress"], **spec}
    return {"metadata": {"name": "one", "namespace": "n"}, "spec": whole}


def test_no_pod_that_ended_or_is_on_the_host_is_restricted() -> None:
    pods = [pod("10.0.0.1"), pod("10.0.0.2", phase="Succeeded"), pod("10.0.0.3", host=True)]
    made = script([policy()], Pods.of(pods, [NAMESPACE]))
    assert "ip daddr { 10.0.0.1 } jump inward" in made
    assert "10.0.0.2" not in made
    assert "10.0.0.3" not in made
    assert "return" not in made, "no rule: nobody is let in"


def test_a_rule_without_peers_lets_everybody_in_and_one_whose_peers_are_gone_nobody() -> None:
    rule = {"ports": [{"protocol": "UDP", "port": 53}]}
    pods = Pods.of([pod("10.0.0.1")], [NAMESPACE])
    made = script([policy(ingress=[rule])], pods)
    assert "ip daddr { 10.0.0.1 } udp dport 53 return" in made
    gone = {"from": [{"podSelector": {"matchLabels": {"app": "gone"}}}]}
    assert "return" not in script([policy(ingress=[rule | gone])], pods)


def test_a_block_of_addresses_has_holes() -> None:
    block = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}
    rule = {"to": [{"ipBlock": block}, {"ipBlock": {"cidr": "fd00::/8"}}]}
    made = script([policy(policyTypes=["Egress"], egress=[rule])], Pods.of([pod("10.0.0.1")], []))
    wanted = "ip saddr { 10.0.0.1 } ip daddr 10.0.0.0/8 ip daddr != { 10.1.0.0/16 } return"
    assert wanted in made
    assert "fd00" not in made, "pods have IPv4 only"
    assert made.count(REFUSE) == 2


def test_rules_wait_for_all_lists_and_follow_the_events() -> None:
    seen = Seen()
    seen.put("pods", [pod("10.0.0.1", "a")])
    seen.put("namespaces", [NAMESPACE])
    assert seen.rules() is None
    seen.put("policies", [policy()])
    assert "10.0.0.1" in (seen.rules() or "")
    seen.event("pods", "ADDED", pod("10.0.0.2", "b"))
    seen.event("pods", "DELETED", pod("10.0.0.1", "a"))
    found = seen.rules() or ""
    assert "10.0.0.2" in found
    assert "10.0.0.1" not in found
    seen.event("policies", "DELETED", policy())
    assert "jump" not in (seen.rules() or "jump")
