"""Three nodes in three zones: a broker in each, and executors that read from their own."""

from __future__ import annotations

import json
import re

import pytest
from dev.demo.kube import DemoError, Json
from tests.e2e.conftest import PLAIN, Stage, pipeline
from tests.faults.record import Row
from tests.long import LONG
from tests.zones.conftest import ZONE, kafka, pods, received_bytes, zone_of_node

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

KAFKA_PORT = 9092
OWN_ZONE_SHARE = 0.9
"""The rest is each partition's first fetch, which the leader answers, and the sink's answers."""


def tool(stage: Stage, name: str, *arguments: str) -> str:
    """What one of Kafka's own tools says."""
    return stage.kube.call(
        "exec", "events-kafka-0", "--", "kafka", name,
        "--bootstrap-server", f"localhost:{KAFKA_PORT}", *arguments,
    )  # fmt: skip


def racks(stage: Stage) -> dict[str, str]:
    """The rack of each broker, as the brokers tell it to clients."""
    said = tool(stage, "org.apache.kafka.tools.BrokerApiVersionsCommand")
    return dict(re.findall(r"\(id: (\d+) rack: (\w+)", said))


def placement(stage: Stage) -> dict[str, str]:
    """The node of each broker."""
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods(stage, "kafka")}


def test_one_broker_a_zone_and_a_copy_in_each(stage: Stage) -> None:
    zones = zone_of_node(stage)
    places = placement(stage)
    assert sorted(zones[node] for node in places.values()) == ["a", "b", "c"]
    expected = {name.rpartition("-")[2]: zones[node] for name, node in places.items()}
    assert racks(stage) == expected
    said = tool(stage, "org.apache.kafka.tools.TopicCommand", "--describe", "--topic", "clicks")
    copies = re.findall(r"Replicas: ([\d,]+)\tIsr: ([\d,]+)", said)
    assert len(copies) == 6
    assert all(len(set(side.split(","))) == 3 for pair in copies for side in pair)


def test_a_broker_comes_back_to_its_zone(stage: Stage) -> None:
    before, uid = placement(stage), stage.uid("events-kafka-1")
    stage.kube.call("delete", "pod", "events-kafka-1")
    stage.wait_replaced("events-kafka-1", uid)
    stage.wait("the broker is back", 180, lambda: len(racks(stage)) == 3)
    assert placement(stage) == before


def ready(stage: Stage) -> list[str]:
    """The brokers whose pods are ready."""
    return [
        pod["metadata"]["name"]
        for pod in pods(stage, "kafka")
        for condition in pod["status"].get("conditions", ())
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]


def serving(stage: Stage) -> list[str]:
    """The brokers that accept connections, in sync or not."""
    return [
        pod["metadata"]["name"]
        for pod in pods(stage, "kafka")
        for container in pod["status"].get("containerStatuses", ())
        if container.get("started")
    ]


def under_replicated(stage: Stage) -> str:
    """What Kafka says of partitions that lack a copy; empty if there are none."""
    name = "org.apache.kafka.tools.TopicCommand"
    return tool(stage, name, "--describe", "--under-replicated-partitions").strip()


def test_a_broker_is_ready_only_in_sync_and_a_drain_waits_for_it(stage: Stage) -> None:
    """Evict one broker, and the next one at once: the budget refuses until the first is in sync."""
    stage.wait("all brokers are ready", 180, lambda: len(ready(stage)) == 3)
    assert under_replicated(stage) == ""

    def evict(name: str) -> None:
        eviction = {
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": stage.kube.namespace},
        }  # fmt: skip
        path = f"/api/v1/namespaces/{stage.kube.namespace}/pods/{name}/eviction"
        stage.kube.call("create", "--raw", path, "-f", "-", text=json.dumps(eviction))

    uid = stage.uid("events-kafka-2")
    evict("events-kafka-2")
    stage.wait_replaced("events-kafka-2", uid)
    with pytest.raises(DemoError, match="disruption budget"):
        evict("events-kafka-1")
    stage.wait("all brokers are ready again", 180, lambda: len(ready(stage)) == 3)
    assert under_replicated(stage) == ""


def test_an_edit_replaces_one_broker_after_the_other_under_load(stage: Stage, fault: Row) -> None:
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 1, "trigger": "1s"}}))
    stage.wait_ready()
    stage.start_load([(900.0, 60.0)])
    uids = {name: stage.uid(name) for name in placement(stage)}
    manifest = kafka()
    manifest["spec"]["resources"]["memory"] = "660Mi"
    stage.apply(manifest)
    fewest = [3]

    def replaced() -> bool:
        fewest.append(len(serving(stage)))
        new = all(stage.uid(name) not in {None, uid} for name, uid in uids.items())
        return new and len(ready(stage)) == 3

    stage.wait("all brokers are replaced", 600, replaced)
    assert min(fewest) == 2, "one at a time"
    assert under_replicated(stage) == ""
    stage.wait_kafka()
    stage.next_step()
    result = stage.delivered(limit_s=300)
    fault.lost, fault.duplicated_planned = result["lost"], result["duplicated"]
    fault.said = "Ready=False/BrokersRolling, Event BrokerReplaced"
    assert (result["lost"], result["duplicated"]) == (0, 0)


def shares(stage: Stage, executors: list[Json]) -> dict[str, float]:
    """The share of its own zone in what each executor received from Kafka."""
    zone_of_broker = {
        broker["status"]["podIP"]: broker["metadata"]["labels"][ZONE]
        for broker in pods(stage, "kafka")
    }
    found = {}
    for pod in executors:
        received = received_bytes(pod, KAFKA_PORT)
        near = sum(n for ip, n in received.items() if zone_of_broker.get(ip) == zone(pod))
        found[pod["metadata"]["name"]] = near / max(1, received.total())
    return found


def zone(pod: Json) -> str:
    return str(pod["metadata"]["labels"][ZONE])


def test_executors_know_their_place_and_read_from_their_zone(stage: Stage) -> None:
    """Every executor reads partitions whose leaders are in all zones, from the broker of its own.

    Then a broker is killed, and its zone's executors read elsewhere.
    """
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 2, "trigger": "1s"}}))
    stage.wait_ready()
    zones = zone_of_node(stage)
    stage.start_load([(900.0, 400.0)])
    running = f'max(trimtab_executors{{state="running",namespace="{stage.kube.namespace}"}})'
    stage.wait("2 executors run", 180, lambda: stage.metric(running) == 2)
    executors = pods(stage, "executor")
    for pod in [*executors, *pods(stage, "driver")]:
        asked = ("exec", pod["metadata"]["name"], "--", "sh", "-c")
        said = stage.kube.call(*asked, "echo $TRIMTAB_NODE $TRIMTAB_ZONE").split()
        node = pod["spec"]["nodeName"]
        assert said == [node, zones[node]], pod["metadata"]["name"]

    def near() -> bool:
        return all(share > OWN_ZONE_SHARE for share in shares(stage, executors).values())

    stage.wait("each executor reads from its zone", 180, near)
    kill = ("delete", "pod", "--grace-period=0", "--force", "--wait=false")
    stage.kube.call(*kill, "events-kafka-2")
    batch = f'max(trimtab_batch_id{{namespace="{stage.kube.namespace}"}})'
    killed = stage.metric(batch) or 0
    stage.wait("batches go on", 180, lambda: (stage.metric(batch) or 0) > killed + 2)
    stage.next_step()
    result = stage.delivered(limit_s=300)
    assert result["lost"] == 0
    assert result["delivered"] == result["produced"] > 1_000


@LONG
def test_executors_go_where_the_partitions_are_led(stage: Stage) -> None:
    """One broker leads them all: the first executors go to its node, the next to its zone."""
    stage.kube.call("delete", "spl", "clicks", "--ignore-not-found")
    stage.wait("driver gone", 180, lambda: stage.uid("clicks-driver-0") is None)
    stage.forget()
    tool(stage, "org.apache.kafka.tools.TopicCommand", "--create", "--topic", "near",
         "--replica-assignment", "1:0:2,1:2:0,1:0:2")  # fmt: skip
    source = {"kafka": {"cluster": "events", "topics": ["near"]}}

    def placed(executors: int, scope: str) -> set[str]:
        pinned = {"executors": executors, "trigger": "1s", "locality": {"scope": scope}}
        stage.apply(pipeline(source=source, transform=PLAIN, tuning={"pinned": pinned}))
        stage.wait_ready()
        running = f'max(trimtab_executors{{state="running",namespace="{stage.kube.namespace}"}})'
        stage.wait(f"{executors} run", 180, lambda: stage.metric(running) == executors)
        return {pod["spec"]["nodeName"] for pod in pods(stage, "executor")}

    near = placement(stage)["events-kafka-1"]
    assert placed(2, "Node") == {near}
    assert placed(3, "Zone") == {near}, "each zone has one node"
