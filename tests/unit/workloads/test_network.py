"""NetworkPolicies, tried on the pods that are made: each flow that the page lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.flows import CHART_FLOWS, FLOWS, NARROW_FLOWS, SCRAPED_FLOWS, Flow
from tests.netpol import End, pod, reaches
from tests.unit.job.test_session import ENV, options
from tests.unit.workloads.manifests import CONFIG, Json, example, kafka_children, reached

from trimtab.api.network import Egress, NetworkSettings
from trimtab.job.session import configuration
from trimtab.settings import OperatorSettings
from trimtab.workloads import pipeline

HOME = "shop"
RELEASE = {"app.kubernetes.io/name": "trimtab", "app.kubernetes.io/instance": "t"}
OPERATOR = RELEASE | {"app.kubernetes.io/component": "operator"}
PROMETHEUS = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "home"}},
    "podSelector": {"matchLabels": RELEASE | {"app.kubernetes.io/component": "prometheus"}},
}
READER = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "home"}},
    "podSelector": {"matchLabels": OPERATOR},
}
DEFAULT = NetworkSettings(metrics_from=(PROMETHEUS, READER))
SCRAPED = NetworkSettings(metrics_from=(PROMETHEUS,))
NARROWED = NetworkSettings(
    metrics_from=(PROMETHEUS,),
    kafka_from=({"podSelector": {"matchLabels": {"kafka-client": "yes"}}},),
    egress=Egress(
        api_server=("192.0.2.1/32",),
        allow=({"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}], "ports": [{"port": 9094}]},),
    ),
)


class World:
    """Two pipelines and two Kafka clusters in a namespace, one in another, and who else is there.

    `others` are the policies of the chart; `spec` is added to that of each pipeline.
    """

    def __init__(
        self,
        network: NetworkSettings | None,
        others: tuple[Json, ...] = (),
        spec: Json | None = None,
    ) -> None:
        self._spec = spec or {}
        config = replace(CONFIG, network=network)
        self.policies = list(others)
        self.ends: dict[str, End] = {
            "neighbour": pod("10.0.0.1", HOME, {"app": "shop"}),
            "stranger": pod("10.0.0.2", "blog", {"app": "blog"}),
            "prometheus": pod("10.0.0.3", "home", PROMETHEUS["podSelector"]["matchLabels"]),
            "operator": pod("10.0.0.4", "home", OPERATOR),
            "outside": End("203.0.113.9"),
        }  # fmt: skip
        self._pipeline("", config, name="clicks", namespace=HOME)
        self._pipeline("other-", config, name="views", namespace=HOME)
        self._pipeline("twin-", config, name="clicks", namespace="blog")
        self.ends["sibling"] = replace(self.ends["executor"], address="10.0.1.9")
        self._kafka("", config, name="events")
        self._kafka("other-", config, name="logs")
        self.ends["fellow"] = replace(self.ends["broker"], address="10.0.2.9")

    def _pipeline(self, prefix: str, config: OperatorSettings, **meta: str) -> None:
        manifest = example("pipeline", **meta)
        spec = reached(manifest | {"spec": manifest["spec"] | self._spec})
        job = pipeline.job_definition(manifest, spec, config)
        children = pipeline.children(manifest, spec, job, config)
        self.policies += [c for c in children if c["kind"] == "NetworkPolicy"]
        (driver,) = (c for c in children if c["kind"] == "StatefulSet")
        conf = configuration(job, options(ENV), executors=1)
        key = "spark.kubernetes.executor.label."
        labels = {k.removeprefix(key): v for k, v in conf.items() if k.startswith(key)}
        labels |= {"spark-role": "executor", "spark-exec-id": "1"}
        named = driver["spec"]["template"]["metadata"]["labels"]
        place = 10 + len(self.ends)
        self.ends[f"{prefix}driver"] = pod(f"10.0.1.{place}", meta["namespace"], named)
        self.ends[f"{prefix}executor"] = pod(f"10.0.1.{place + 1}", meta["namespace"], labels)

    def _kafka(self, prefix: str, config: OperatorSettings, name: str) -> None:
        children = kafka_children(example("kafka", name=name, namespace=HOME), config)
        self.policies += [c for c in children if c["kind"] == "NetworkPolicy"]
        labels = {
            c["kind"]: c["spec"]["template"]["metadata"]["labels"]
            for c in children
            if "template" in c.get("spec", {})
        }
        place = 10 + len(self.ends)
        self.ends[f"{prefix}broker"] = pod(f"10.0.2.{place}", HOME, labels["StatefulSet"])
        self.ends[f"{prefix}topics"] = pod(f"10.0.2.{place + 1}", HOME, labels["Job"])

    def wrong(self, flow: Flow) -> list[int]:
        """The ports at which a flow is not as it should be."""
        source, to = self.ends[flow.source], self.ends[flow.to]
        return [p for p in flow.ports if reaches(source, to, p, self.policies) != flow.allowed]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda f: f"{f.source}-{f.to}-{f.verdict}")
def test_a_flow_is_as_the_page_says(flow: Flow) -> None:
    assert World(DEFAULT).wrong(flow) == []


@pytest.mark.parametrize("flow", NARROW_FLOWS, ids=lambda f: f"{f.source}-{f.to}-{f.verdict}")
def test_values_allow_less(flow: Flow) -> None:
    assert World(NARROWED).wrong(flow) == []


@pytest.mark.parametrize("flow", SCRAPED_FLOWS, ids=lambda f: f"{f.source}-{f.to}-{f.verdict}")
def test_an_operator_that_does_not_read_drivers_does_not_reach_them(flow: Flow) -> None:
    assert World(SCRAPED).wrong(flow) == []


def test_a_pipeline_that_may_not_go_anywhere_finds_names_and_its_driver_the_api_server() -> None:
    world = World(NARROWED)
    names, api = End("192.0.2.53"), End("192.0.2.1")
    for who in ("driver", "executor"):
        for protocol in ("UDP", "TCP"):
            assert reaches(world.ends[who], names, 53, world.policies, protocol)
    assert reaches(world.ends["driver"], api, 443, world.policies)
    assert reaches(world.ends["driver"], api, 6443, world.policies)
    assert not reaches(world.ends["executor"], api, 443, world.policies), "it has no token"


def test_without_a_prometheus_of_the_chart_anybody_may_read_metrics() -> None:
    world = World(NetworkSettings())
    for who in ("neighbour", "stranger", "outside"):
        assert reaches(world.ends[who], world.ends["driver"], 9400, world.policies)
        assert not reaches(world.ends[who], world.ends["driver"], 7078, world.policies)


VIEWER = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "blog"}}}


@pytest.mark.parametrize(
    ("shown", "viewers", "reached"),
    [(True, (VIEWER,), True), (True, (), False), (False, (VIEWER,), False)],
    ids=["asked-for", "nobody-named", "not-asked-for"],
)
def test_the_web_ui_is_for_those_who_are_named_where_it_is_asked_for(
    shown: bool, viewers: tuple[Json, ...], reached: bool
) -> None:
    network = NetworkSettings(metrics_from=(PROMETHEUS,), spark_ui_from=viewers)
    world = World(network, spec={"sparkUI": {"enabled": shown}})
    driver = world.ends["driver"]
    assert reaches(world.ends["stranger"], driver, 4040, world.policies) is reached
    for who in ("neighbour", "outside", "prometheus", "executor"):
        assert not reaches(world.ends[who], driver, 4040, world.policies), who
    for port in (7078, 7079, 9400):
        assert not reaches(world.ends["stranger"], driver, port, world.policies)
    assert not reaches(world.ends["stranger"], world.ends["executor"], 4040, world.policies)


def test_a_client_of_kafka_may_be_named() -> None:
    world = World(NARROWED)
    client = pod("10.0.0.7", HOME, {"kafka-client": "yes"})
    assert reaches(client, world.ends["broker"], 9092, world.policies)
    assert not reaches(client, world.ends["broker"], 9093, world.policies)


@pytest.mark.parametrize("role", ["driver", "executor"])
def test_pods_of_an_older_trimtab_whose_ports_are_not_fixed_are_left_alone(role: str) -> None:
    world = World(DEFAULT)
    old = world.ends[role]
    old = replace(old, labels=frozenset(pair for pair in old.labels if "ports" not in pair[0]))
    assert reaches(world.ends["executor"], old, 41234, world.policies)


def test_no_policies_where_they_are_off() -> None:
    assert World(None).policies == []


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs/security.md").read_text()
    head = ["| from | to | port | |", "|---|---|---|---|"]
    table = "\n".join([*head, *(flow.row for flow in (*FLOWS, *CHART_FLOWS))])
    assert f"\n\n{table}\n\n" in page


def test_every_port_that_the_page_names_is_tried_both_ways() -> None:
    tried: dict[bool, set[Any]] = {True: set(), False: set()}
    for flow in (*FLOWS, *CHART_FLOWS):
        tried[flow.allowed] |= {(flow.to, port) for port in flow.ports}
    listened = {("driver", 7078), ("driver", 7079), ("driver", 9400), ("executor", 7079),
                ("broker", 9093), ("operator", 9100), ("prometheus", 9090)}  # fmt: skip
    assert listened <= tried[True] & tried[False]


@pytest.mark.parametrize(
    ("spec", "reached"),
    [
        ({"source": {"rate": {"rowsPerSecond": 1}}, "sink": {"noop": {}}}, False),
        ({"source": {"rate": {"rowsPerSecond": 1}}}, True),
        ({"sink": {"noop": {}}}, True),
    ],
    ids=["neither", "sink", "source"],
)
def test_a_pipeline_without_a_kafka_reaches_no_broker(spec: Json, reached: bool) -> None:
    world = World(NARROWED, spec=spec)
    for who in ("driver", "executor"):
        found = reaches(world.ends[who], world.ends["broker"], 9092, world.policies)
        assert found is reached
