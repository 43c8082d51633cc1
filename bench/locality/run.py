"""One pipeline on three zones, under one load: pinned to a scope, or moved by the tuner."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import yaml
from bench.link import Pair, counted
from dev.demo import deploy, load
from dev.demo.kube import Json, Kube, condition
from dev.localcluster.network import NODE_STEP, node_address

NAMESPACE, PORT = "locality", 9092
ONE_COPY, COPIES = "spread", "spread-copies"
"""Topics whose leaders are in all zones: with one copy, and with one in each zone."""
NODES, PARTITIONS, EXECUTORS = 3, 12, 3
WAIT_MS, TRIGGER_S = 8, 5
WARM = (60.0, 100.0)
STEPS = (("low", 120.0, 100.0), ("high", 150.0, 480.0), ("low again", 150.0, 100.0))
"""Name, seconds and records/s. Six slots that wait 8 ms a record carry 750/s at most."""

SETTLES_S = 40.0
"""Of each step before its figures count: the loop has then moved, or it does not."""

POLL_S = 2.0
PROCESS: Json = {"pinned": {"locality": {"scope": "Process"}}}
ANY: Json = {"pinned": {"locality": {"scope": "Any"}}}
PINNED: Mapping[str, Json] = {
    "Process": PROCESS,
    "Any": ANY,
    "Process, a copy in each zone": PROCESS,
    "Any, a copy in each zone": ANY,
    "the tuner": {"locality": {"enabled": True, "bounds": {"higher": 0.7, "lower": 0.5}}},
}
"""By contender, its part of `tuning`. The bounds are such that both steps lie within those of the
goal, where only the scope moves."""


@dataclass
class Phase:
    """What one step of the load showed, once it had settled."""

    name: str
    scope: str = ""
    """In force at its end."""
    p95_s: list[float] = field(default_factory=list)
    crossed_bytes: int = 0
    """From brokers to executors of other zones, with headers."""
    records: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    """By Spark's level of locality."""

    @property
    def bytes_each(self) -> float:
        """Bytes that crossed, per record."""
        return self.crossed_bytes / max(1, self.records)

    @property
    def near(self) -> float:
        """Share of the tasks that ran on the executor that they prefer."""
        return self.tasks.get("PROCESS_LOCAL", 0) / max(1, sum(self.tasks.values()))


@dataclass
class Run:
    """One contender."""

    contender: str
    phases: list[Phase]
    decisions: list[str] = field(default_factory=list)
    lost: int | None = None

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def manifest(contender: str) -> Json:
    """The quickstart's pipeline with an executor in each zone, as far as they fit."""
    made: Json = _example("pipeline")[0]
    spread = {
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": {"trimtab.dev/component": "executor"}},
            "topologyKey": "topology.kubernetes.io/zone",
        },
    }
    tuning: Json = {"bounds": {"higher": 0.9, "lower": 0.1}, "dwell": {"up": 2, "down": 4}}
    tuning |= PINNED[contender]
    tuning["pinned"] = {
        "executors": EXECUTORS, "trigger": f"{TRIGGER_S}s", "maxOffsetsPerTrigger": 5000,
        **tuning.get("pinned", {}),
    }  # fmt: skip
    made["spec"] |= {
        "source": {"kafka": {"cluster": "events", "topics": [topic(contender)]}},
        "limits": {"executors": {"min": EXECUTORS, "max": EXECUTORS}},
        "podTemplate": {
            "affinity": {"podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [spread]
            }}
        },
        "tuning": tuning,
    }  # fmt: skip
    made["spec"]["transform"]["python"]["params"] = {"wait_ms": str(WAIT_MS)}
    return made


def _example(name: str) -> list[Json]:
    text = (Path(deploy.EXAMPLE) / f"{name}.yaml").read_text()
    return [each for each in yaml.safe_load_all(text) if each]


def zones() -> list[str]:
    """The pod range of each node."""
    prefix = 32 - (NODE_STEP * 256 - 1).bit_length()
    return [f"{node_address(number)}/{prefix}" for number in range(NODES)]


def topic(contender: str) -> str:
    """The topic that a contender reads."""
    return COPIES if "copy" in contender else ONE_COPY


def prepare(kube: Kube) -> None:
    """Three brokers, and the topics."""
    brokers = _example("kafka")[0]
    brokers["spec"] |= {"replicas": NODES, "resources": {"cpuRequest": "100m", "memory": "640Mi"}}
    kube.apply(brokers, *_example("transform"))
    kube.wait("Kafka ready", 300, lambda: condition(kube.get("tkc", "events"), "Ready") == "True")
    for name, copies in ((ONE_COPY, 1), (COPIES, NODES)):
        brokers_of = (
            ":".join(str((first + copy) % NODES) for copy in range(copies))
            for first in range(PARTITIONS)
        )
        kube.call(
            "exec", "events-kafka-0", "--", "kafka", "org.apache.kafka.tools.TopicCommand",
            "--bootstrap-server", f"localhost:{PORT}", "--create", "--topic", name,
            "--replica-assignment", ",".join(brokers_of),
        )  # fmt: skip


def play(kube: Kube, image: str, contender: str) -> Run:
    """Deploy a contender, play the load, and remove it."""
    kube.apply(manifest(contender))
    kube.wait("ready", 300, lambda: condition(kube.get("spl", "clicks"), "Ready") == "True")
    running = f'max(trimtab_executors{{state="running",namespace="{NAMESPACE}"}})'
    kube.wait("executors", 240, lambda: metric(kube, running) == EXECUTORS)
    schedule = [WARM, *((seconds, rate) for _, seconds, rate in STEPS)]
    run, began_s = Run(contender, []), time.monotonic()
    load.start(kube, image, schedule, topic(contender))
    ends_s = began_s + WARM[0]
    with counted(into_executors(kube), PORT) as crossed:
        for name, seconds, _ in STEPS:
            begins_s, ends_s = ends_s + SETTLES_S, ends_s + seconds
            time.sleep(max(0.0, begins_s - time.monotonic()))
            run.phases.append(_watch(kube, name, ends_s, crossed))
    status = (kube.get("spl", "clicks") or {}).get("status") or {}
    run.decisions = [
        f"{each['reason']}: {each['message']}"
        for each in status.get("decisions") or []
        if each["action"] in {"Change", "Revert"}
    ]
    kube.wait("load ends", 60, lambda: load.finished(kube, "load"))
    run.lost = load.verify(kube, image, load.result(kube, "load"), 240)["lost"]
    _remove(kube)
    return run


def into_executors(kube: Kube) -> list[Pair]:
    """From the range of each zone to each executor in another one."""
    selector = ("-l", "trimtab.dev/component=executor")
    pods = (kube.get("pods", *selector) or {"items": []})["items"]
    addresses = [ip_address(pod["status"]["podIP"]) for pod in pods]
    return [
        (zone, f"{address}/32")
        for address in addresses
        for zone in zones()
        if address not in ip_network(zone, strict=False)
    ]


def _watch(kube: Kube, name: str, ends_s: float, crossed: Callable[[], int]) -> Phase:
    phase = Phase(name)
    tasks, records, before = levels(kube), _records(kube), crossed()
    own = f'namespace="{NAMESPACE}"'
    batch, p95_s = None, f'max(trimtab_batch_record_latency_seconds{{quantile="0.95",{own}}})'
    while time.monotonic() < ends_s:
        seen = metric(kube, f"max(trimtab_batch_id{{{own}}})")
        latency_s = metric(kube, p95_s)
        if seen != batch and latency_s is not None:
            phase.p95_s.append(latency_s)
        batch = seen
        time.sleep(POLL_S)
    phase.crossed_bytes = crossed() - before
    phase.records = _records(kube) - records
    phase.tasks = {level: n - tasks.get(level, 0) for level, n in levels(kube).items()}
    status = (kube.get("spl", "clicks") or {}).get("status") or {}
    phase.scope = str(((status.get("effective") or {}).get("locality") or {}).get("scope"))
    return phase


def metric(kube: Kube, promql: str) -> float | None:
    """One number from Prometheus; None if there is none."""
    found = kube.query("trimtab-prometheus", promql)
    return float(found[0]["value"][1]) if found else None


def levels(kube: Kube) -> dict[str, int]:
    """Tasks so far by level of locality."""
    query = f'sum by (level) (trimtab_task_locality_total{{namespace="{NAMESPACE}"}})'
    rows = kube.query("trimtab-prometheus", query)
    return {row["metric"]["level"]: round(float(row["value"][1])) for row in rows}


def _records(kube: Kube) -> int:
    """Records that have come in so far."""
    query = f'sum(trimtab_partition_input_total{{namespace="{NAMESPACE}"}})'
    return round(metric(kube, query) or 0)


def _remove(kube: Kube) -> None:
    kube.call("delete", "jobs", "load", "verify", "--ignore-not-found")
    kube.call("delete", "spl", "clicks", "--ignore-not-found", limit_s=120)
    kube.wait("driver gone", 180, lambda: kube.get("pod", "clicks-driver-0") is None)
    kube.call("delete", "pvc", "clicks-checkpoint", "--ignore-not-found")
