"""A Kafka of three brokers on the cluster of the end-to-end tests: three nodes in three zones."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import IO

import pytest
from dev.demo.kube import Kube
from dev.localcluster import cgroups
from tests.e2e.conftest import (
    Json,
    Stage,
    cluster,
    machine,
    manifests,
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
)
from tests.machine import held

__all__ = [
    "cluster", "machine", "pytest_collection_modifyitems", "pytest_runtest_makereport",
]  # fmt: skip

NAMESPACE = "zones"
ZONE = "topology.kubernetes.io/zone"


def kafka() -> Json:
    """The quickstart's Kafka with three small brokers."""
    manifest = manifests("kafka")[0]
    manifest["spec"] |= {"replicas": 3, "resources": {"cpuRequest": "100m", "memory": "640Mi"}}
    return manifest


@pytest.fixture(scope="module")
def stage(cluster: tuple[Kube, dict[str, str]]) -> Iterator[Stage]:
    """A namespace with three brokers on three nodes, gone before the next file begins."""
    made = Stage.anew(cluster, NAMESPACE)
    made.apply(kafka())
    made.wait_kafka()
    yield made
    made.kube.call("delete", "namespace", NAMESPACE, "--wait=false", "--ignore-not-found")


@pytest.fixture(autouse=True)
def dump(
    stage: Stage,
    machine: IO[str],
    request: pytest.FixtureRequest,
) -> Iterator[None]:
    """Show the cluster's state after a failure."""
    with held(machine, request.node):
        yield
    if getattr(request.node, "failed", False):
        stage.kube.dump()


def pods(stage: Stage, component: str) -> list[Json]:
    """The pods of a component, by name."""
    found = stage.kube.get("pods", "-l", f"trimtab.dev/component={component}") or {"items": []}
    return sorted(found["items"], key=lambda pod: str(pod["metadata"]["name"]))


def zone_of_node(stage: Stage) -> dict[str, str]:
    """The zone of each node."""
    nodes = (stage.kube.get("nodes") or {"items": []})["items"]
    return {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in nodes}


def process_of(uid: str) -> str:
    """The id of a process in a pod, as this machine sees it."""
    for group in cgroups.groups():
        for listing in group.rglob(f"pod{uid}/*/cgroup.procs"):
            numbers = listing.read_text().split()
            if numbers:
                return numbers[0]
    raise AssertionError(f"no process of pod {uid}")


def received_bytes(pod: Json, port: int) -> Counter[str]:
    """What a pod has received on its open connections to a port, by the other side's address."""
    process = process_of(pod["metadata"]["uid"])
    argv = ["nsenter", "--target", process, "--net", "ss", "-tinHO", "dport", "=", f":{port}"]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in shown.splitlines():
        words = line.split()
        peer = words[4].rpartition(":")[0].strip("[]").removeprefix("::ffff:")
        for word in words:
            if word.startswith("bytes_received:"):
                found[peer] += int(word.partition(":")[2])
    return found
