"""Which pods reach which, each tried; the ports that Spark opens; the secret of each run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dev.demo.kube import Kube
from tests.e2e.conftest import PLAIN, Stage, pipeline
from tests.flows import CHART_FLOWS, FLOWS, Flow
from tests.unit.workloads.test_network import DEFAULT, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

Json = dict[str, Any]
Place = tuple[Kube, str]
"""A namespace, and a pod in it."""

SLEEPERS = (
    "other-driver", "other-executor", "twin-executor", "sibling", "fellow", "other-broker",
    "topics", "neighbour", "stranger",
)  # fmt: skip
"""Pods that have the labels of such a pod, and sleep."""
SECRET = "_SPARK_AUTH_SECRET"
WAIT_S = 3
AT_ONCE = 4
LOOPBACK = ("0100007F", "01000000")
"""How addresses end that only the pod itself reaches, IPv4 and IPv6, as the kernel writes them."""
LISTENS = "0A"
"""The state of a socket that listens, as the kernel writes it."""


def within(kube: Kube, namespace: str) -> Kube:
    return Kube(kube.kubectl, kube.helm, kube.kubeconfig, namespace)


def sleeper(name: str, namespace: str, image: str, labels: dict[str, str]) -> Json:
    restricted = {
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    container = {
        "name": "sleeper", "image": image, "command": ["sleep", "3600"],
        "imagePullPolicy": "IfNotPresent", "securityContext": restricted,
    }  # fmt: skip
    spec = {
        "containers": [container], "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0, "securityContext": {"runAsUser": 10001},
    }  # fmt: skip
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def run(stage: Stage) -> str:
    """Run a pipeline with one executor; returns its pod's name."""
    stage.apply(pipeline(transform=PLAIN, tuning={"pinned": {"executors": 1, "trigger": "2s"}}))
    stage.wait_ready()
    stage.wait_long("the executor runs", 120, lambda: len(stage.executors()) == 1)
    return str(stage.executors()[0]["metadata"]["name"])


def address(place: Place) -> str:
    kube, pod = place
    found = kube.get("pod", pod) or {}
    return str(found["status"]["podIP"])


@pytest.fixture
def places(stage: Stage) -> Iterator[dict[str, Place]]:
    """Each end of a flow: a running pipeline, its Kafka, the chart's pods, and sleepers."""
    kube = stage.kube
    away, home = within(kube, f"{kube.namespace}-away"), within(kube, "trimtab")
    away.call("create", "namespace", away.namespace, check=False)
    executor = run(stage)
    ends = World(DEFAULT).ends
    found = {}
    for name in SLEEPERS:
        where = away if name in {"twin-executor", "stranger"} else kube
        where.apply(sleeper(name, where.namespace, stage.image, dict(ends[name].labels)))
        found[name] = (where, name)
    for where, name in found.values():
        where.call("wait", "pod", name, "--for=condition=Ready", "--timeout=120s", limit_s=130)
    for name, pod in (
        ("driver", "clicks-driver-0"), ("executor", executor), ("broker", "events-kafka-0"),
    ):  # fmt: skip
        found[name] = (kube, pod)
    for component in ("operator", "prometheus"):
        selector = ("-l", f"app.kubernetes.io/component={component}")
        (pod,) = json.loads(home.call("get", "pods", *selector, "-o", "json"))["items"]
        found[component] = (home, pod["metadata"]["name"])
    yield found
    names = [name for where, name in found.values() if where is kube and name in SLEEPERS]
    kube.call("delete", "pod", *names, "--wait=false")
    away.call("delete", "namespace", away.namespace, "--wait=false")


def came_of(source: Place, to: str, port: int) -> str:
    """What a client sees: a connection, or that nobody listens, or that it is refused."""
    kube, pod = source
    connect = f"timeout {WAIT_S} bash -c '</dev/tcp/{to}/{port}' 2>&1; echo code $?"
    said = kube.call("exec", pod, "--", "bash", "-c", connect, limit_s=60)
    if "code 0" in said or "Connection refused" in said:
        return "allowed"
    return "refused" if "No route to host" in said or "code 124" in said else said


def test_connections_are_let_in_or_refused_as_the_page_says(places: dict[str, Place]) -> None:
    tried: list[tuple[Flow, int]] = [
        (flow, port)
        for flow in (*FLOWS, *CHART_FLOWS)
        if {flow.source, flow.to} <= set(places)
        # the demo's values let everybody query Prometheus
        and not (flow.to == "prometheus" and not flow.allowed)
        for port in flow.ports
    ]
    assert len(tried) >= 60
    targets = {flow.to: address(places[flow.to]) for flow, _ in tried}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        seen = list(pool.map(lambda t: came_of(places[t[0].source], targets[t[0].to], t[1]), tried))
    wrong = [(f.row, port, s) for (f, port), s in zip(tried, seen, strict=True) if s != f.verdict]
    assert wrong == []


def listening(place: Place) -> set[int]:
    """The ports at which a pod takes connections from others."""
    kube, pod = place
    text = kube.call("exec", pod, "--", "cat", "/proc/net/tcp", "/proc/net/tcp6")
    rows = (line.split() for line in text.splitlines() if ":" in line.split()[0])
    local = [row[1].split(":") for row in rows if row[3] == LISTENS]
    return {int(port, 16) for host, port in local if not host.endswith(LOOPBACK)}


def test_spark_listens_at_the_fixed_ports_and_no_others(stage: Stage) -> None:
    executor = run(stage)
    stage.wait_long("the executor listens", 60, lambda: bool(listening((stage.kube, executor))))
    assert listening((stage.kube, "clicks-driver-0")) == {7078, 7079, 9400}
    assert listening((stage.kube, executor)) == {7079}


def secrets(stage: Stage) -> set[str]:
    """The secrets of the executors."""
    return {
        variable["value"]
        for pod in stage.executors()
        for variable in pod["spec"]["containers"][0].get("env", ())
        if variable["name"] == SECRET
    }


def impostor(stage: Stage, name: str) -> Json:
    """An executor of the pipeline with another secret, as somebody would make it."""
    true: Json = stage.kube.get("pod", name) or {}
    (container,) = true["spec"]["containers"]
    kept = ("image", "imagePullPolicy", "args", "env", "securityContext", "volumeMounts")
    forged = {key: container[key] for key in kept if key in container}
    others = {SECRET: "0" * 64, "SPARK_EXECUTOR_ID": "77"}
    forged["env"] = [
        {"name": v["name"], "value": others[v["name"]]} if v["name"] in others else v
        for v in container["env"]
    ]
    labels = {k: v for k, v in true["metadata"]["labels"].items() if k.startswith("trimtab.dev/")}
    mounted = {mount["name"] for mount in forged["volumeMounts"]}
    spec = {
        # until the network lets the new pod through, it fails for want of a route
        "containers": [forged | {"name": "impostor"}], "restartPolicy": "OnFailure",
        "automountServiceAccountToken": False, "enableServiceLinks": False,
        "securityContext": true["spec"]["securityContext"],
        "volumes": [v for v in true["spec"]["volumes"] if v["name"] in mounted],
    }  # fmt: skip
    meta = {"name": "impostor", "namespace": stage.kube.namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def test_each_run_has_its_secret_and_nobody_joins_without_it(stage: Stage) -> None:
    name = run(stage)
    (secret,) = secrets(stage)
    assert re.fullmatch("[0-9a-f]{64}", secret)
    stage.apply(impostor(stage, name))

    def refused() -> bool:
        # the driver closes the connection, before or after its answer gets there
        told = stage.kube.call("logs", "impostor", check=False)
        return bool(re.search(r"SaslException|Connection from \S+ closed", told))

    stage.wait_long("the driver refuses the impostor", 120, refused)
    stage.kube.call("delete", "pod", "impostor", "--wait=false")
    before = stage.uid("clicks-driver-0")
    stage.kube.call("delete", "pod", "clicks-driver-0", "--wait=false")
    stage.wait_replaced("clicks-driver-0", before)
    stage.wait_long("another secret", 180, lambda: bool(secrets(stage) - {secret}))
