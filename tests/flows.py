"""Which pod may reach which, and at which ports, as the NetworkPolicies have it.

docs/security.md shows the same table. Each flow is tried on the policies that are made, in
tests/unit/workloads/test_network.py and, with those of the chart, in tests/apiserver/test_chart.py.
"""

from __future__ import annotations

from dataclasses import dataclass

WHO = {
    "driver": "the driver of P",
    "executor": "an executor of P",
    "sibling": "another executor of P",
    "other-driver": "the driver of another pipeline",
    "other-executor": "an executor of another pipeline",
    "twin-executor": "an executor of a pipeline P in another namespace",
    "broker": "a broker of K",
    "fellow": "another broker of K",
    "other-broker": "a broker of another cluster",
    "topics": "the Job that makes the topics of K",
    "neighbour": "any other pod of the namespace",
    "stranger": "a pod of another namespace",
    "prometheus": "the chart's Prometheus",
    "operator": "the operator",
    "outside": "an address outside the cluster",
}
"""The pods of the tests, by name, and what the page calls them: P is a pipeline, K a cluster."""


@dataclass(frozen=True)
class Flow:
    """One pod that opens connections to another, at some ports."""

    source: str
    to: str
    ports: tuple[int, ...]
    allowed: bool

    @property
    def row(self) -> str:
        """Its row in docs/security.md."""
        ports = ", ".join(map(str, self.ports))
        return f"| {WHO[self.source]} | {WHO[self.to]} | {ports} | {self.verdict} |"

    @property
    def verdict(self) -> str:
        """In a word."""
        return "allowed" if self.allowed else "refused"


def allowed(source: str, to: str, *ports: int) -> Flow:
    return Flow(source, to, ports, allowed=True)


def refused(source: str, to: str, *ports: int) -> Flow:
    return Flow(source, to, ports, allowed=False)


FLOWS = (
    allowed("executor", "driver", 7078, 7079),
    refused("executor", "driver", 9400, 4040),
    refused("other-driver", "driver", 7078, 7079, 9400),
    refused("other-executor", "driver", 7078, 7079, 9400),
    refused("twin-executor", "driver", 7078, 7079, 9400),
    refused("neighbour", "driver", 7078, 7079, 9400, 4040),
    refused("stranger", "driver", 7078, 7079, 9400),
    refused("outside", "driver", 7078, 7079, 9400),
    allowed("prometheus", "driver", 9400),
    refused("prometheus", "driver", 7078, 7079),
    allowed("operator", "driver", 9400),
    refused("operator", "driver", 7078, 7079),
    refused("operator", "executor", 7079, 9400),
    allowed("driver", "executor", 7079),
    allowed("sibling", "executor", 7079),
    refused("driver", "executor", 7078, 4040),
    refused("other-driver", "executor", 7079),
    refused("other-executor", "executor", 7079),
    refused("twin-executor", "executor", 7079),
    refused("neighbour", "executor", 7079, 4040),
    refused("stranger", "executor", 7079),
    refused("outside", "executor", 7079),
    refused("prometheus", "executor", 7079, 9400),
    allowed("driver", "broker", 9092),
    allowed("executor", "broker", 9092),
    allowed("twin-executor", "broker", 9092),
    allowed("topics", "broker", 9092),
    allowed("fellow", "broker", 9092, 9093),
    allowed("neighbour", "broker", 9092),
    allowed("stranger", "broker", 9092),
    allowed("outside", "broker", 9092),
    refused("driver", "broker", 9093),
    refused("executor", "broker", 9093),
    refused("topics", "broker", 9093),
    refused("other-broker", "broker", 9093),
    refused("neighbour", "broker", 9093, 9999),
    refused("stranger", "broker", 9093),
    allowed("driver", "outside", 443, 9092, 9094),
    allowed("executor", "outside", 443, 9092, 9094),
)
"""Of pipelines and Kafka clusters, with the chart's values and its Prometheus."""

CHART_FLOWS = (
    allowed("prometheus", "operator", 9100),
    refused("neighbour", "operator", 9100, 8080),
    refused("stranger", "operator", 9100),
    refused("driver", "operator", 9100),
    refused("executor", "operator", 9100),
    allowed("operator", "prometheus", 9090),
    refused("neighbour", "prometheus", 9090),
    refused("stranger", "prometheus", 9090),
    refused("driver", "prometheus", 9090),
    refused("executor", "prometheus", 9090),
)
"""Of the chart's own pods."""

SCRAPED = {"operator.directReads.enabled": "false"}
"""Values of the chart with which only Prometheus reads drivers."""

SCRAPED_FLOWS = (
    refused("operator", "driver", 7078, 7079, 9400),
    allowed("prometheus", "driver", 9400),
    refused("operator", "executor", 7079, 9400),
)
"""With these values."""

NARROW = {
    "networkPolicy.kafkaFrom[0].podSelector.matchLabels.kafka-client": "yes",
    "networkPolicy.egress.restrict": "true",
    "networkPolicy.egress.apiServer[0]": "192.0.2.1/32",
    "networkPolicy.egress.allow[0].to[0].ipBlock.cidr": "203.0.113.0/24",
    "networkPolicy.egress.allow[0].ports[0].port": "9094",
}
"""Values of the chart that allow less."""

NARROW_FLOWS = (
    allowed("driver", "broker", 9092),
    allowed("executor", "broker", 9092),
    allowed("topics", "broker", 9092),
    allowed("fellow", "broker", 9092, 9093),
    refused("neighbour", "broker", 9092),
    refused("stranger", "broker", 9092),
    refused("outside", "broker", 9092),
    allowed("executor", "driver", 7078, 7079),
    allowed("driver", "executor", 7079),
    allowed("driver", "outside", 9094),
    allowed("executor", "outside", 9094),
    refused("driver", "outside", 443, 9092),
    refused("executor", "outside", 443, 9092),
    refused("driver", "neighbour", 80),
    refused("executor", "neighbour", 80),
)
"""With these values."""
