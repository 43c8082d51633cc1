"""The local cluster with the wait-bound job: applies, loads and reads it."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import Any

import yaml
from bench.live.points import TARGET_S, Goal, Point
from bench.live.shapes import Shape
from bench.simreal.seen import SCRAPED, Batch, from_prometheus
from dev.demo import deploy, load
from dev.demo.kube import Kube, condition
from dev.localcluster.paths import REPO, from_environment

Json = dict[str, Any]

NAMESPACE = "live"
PIPELINE = "prices"
TOPIC, FLOOD = "orders", "flood"
PARTITIONS = 4
FLOOD_RECORDS, FLOOD_PER_S = 4_000_000, 16_000.0
"""How many records wait in the flood, and how fast they are produced."""
TICK_S = 3.0
EXAMPLE = REPO / "examples/20-remote-calls"
GOALS: dict[Goal, Json] = {
    "latency": {"latency": {"percentile": 95, "target": f"{TARGET_S:g}s", "catchUp": "60s"}},
    "throughput": {"throughput": {"max": True}},
}


def kafka() -> Json:
    """One broker with the topics."""
    names = (TOPIC, f"{TOPIC}-out", FLOOD, f"{FLOOD}-out")
    return {
        "apiVersion": "trimtab.dev/v1alpha1", "kind": "KafkaCluster",
        "metadata": {"name": "events"},
        "spec": {
            "storage": {"size": "8Gi"}, "resources": {"cpuRequest": "100m", "memory": "1Gi"},
            "topics": [{"name": n, "partitions": PARTITIONS} for n in names],
        },
    }  # fmt: skip


def pipeline(goal: Goal, tuning: Json, generation: int) -> Json:
    """The example's pipeline with another goal, tuning and checkpoint.

    A load is read from its beginning, the flood from its first record.
    """
    manifest: Json = yaml.safe_load((EXAMPLE / "pipeline.yaml").read_text())
    topic, offsets = (TOPIC, "latest") if goal == "latency" else (FLOOD, "earliest")
    manifest["spec"] |= {
        "goal": GOALS[goal],
        "source": {"kafka": {"cluster": "events", "topics": [topic], "startingOffsets": offsets}},
        "sink": {"kafka": {"cluster": "events", "topic": f"{topic}-out"}},
        "checkpoint": {"generation": generation},
        "drainTimeout": "10s",  # nothing of a deleted pipeline is used any more
        "tuning": tuning,
    }
    return manifest


def pinned(point: Point) -> Json:
    """A `tuning` that leaves nothing to tune."""
    return {
        "pinned": {
            "executors": point.executors,
            "trigger": f"{point.trigger_s:g}s",
            "maxOffsetsPerTrigger": point.limit,
            "maxInFlight": point.calls,
        }
    }


@dataclass
class Site:
    """One namespace with Kafka and at most one pipeline."""

    kube: Kube
    image: str
    generation: int = 1

    def apply(self, goal: Goal, tuning: Json) -> None:
        """Apply the pipeline with this goal and tuning, on the current checkpoint."""
        self.kube.apply(pipeline(goal, tuning, self.generation))

    def begin(self, goal: Goal, tuning: Json) -> None:
        """Apply a new pipeline about which nothing is known, on a new checkpoint."""
        self.end()
        self.generation += 1
        self.apply(goal, tuning)
        self.kube.wait("pipeline ready", 240, self.ready)

    def ready(self) -> bool:
        """Whether the query runs."""
        return condition(self.kube.get("spl", PIPELINE), "Ready") == "True"

    def end(self) -> None:
        """Delete the pipeline and its checkpoint."""
        self.kube.call("delete", "spl", PIPELINE, "--ignore-not-found", limit_s=120)
        self.kube.wait("driver gone", 120, self._no_driver)
        self.kube.call("delete", "pvc", f"{PIPELINE}-checkpoint", "--ignore-not-found")

    def _no_driver(self) -> bool:
        return self.kube.get("pod", f"{PIPELINE}-driver-0") is None

    def status(self) -> Json:
        """The pipeline's status."""
        status: Json = (self.kube.get("spl", PIPELINE) or {}).get("status") or {}
        return status

    def effective(self, point: Point) -> bool:
        """Whether the settings are in force and all executors are running."""
        told = self.status().get("effective") or {}
        seen = [told.get(name) for name in ("executors", "maxInFlight", "maxOffsetsPerTrigger")]
        wanted = [point.executors, point.calls, point.limit]
        running = self.number('trimtab_executors{state="running"}')
        same = seen == wanted and _seconds(told.get("trigger")) == point.trigger_s
        return same and running == point.executors

    def number(self, metric: str) -> float | None:
        """The sum of a metric of the pipeline; None if there is none."""
        name, _, labels = metric.partition("{")
        own = f'namespace="{NAMESPACE}",pipeline="{PIPELINE}"'
        selector = f"{name}{{{own}{',' + labels.rstrip('}') if labels else ''}}}"
        found = self.kube.query("trimtab-prometheus", f"sum({selector})")
        return float(found[0]["value"][1]) if found else None

    def lag(self) -> float:
        """Lag in records; 0 if it is not known yet."""
        return self.number("trimtab_lag_records") or 0.0

    def wait_effective(self, point: Point) -> None:
        """Wait until these settings are in force and all their executors are running."""
        self.kube.wait(f"{point.name} in force", 180, lambda: self.effective(point))

    def batches(self, begin_s: float) -> list[Batch]:
        """The batches committed since then that a scrape saw."""
        names = "|".join(SCRAPED)
        found = self._since(f'__name__=~"{names}"', begin_s)
        return [b for b in from_prometheus(found) if b.committed_s > begin_s]

    def executors(self, begin_s: float) -> list[tuple[float, float]]:
        """Samples of (second, running executors) since then."""
        found = self._since('__name__="trimtab_executors",state="running"', begin_s)
        return [(float(at), float(n)) for series in found for at, n in series["values"]]

    def _since(self, labels: str, begin_s: float) -> list[Json]:
        spent_s = math.ceil(time.time() - begin_s)
        selector = f'{{{labels},namespace="{NAMESPACE}",pipeline="{PIPELINE}"}}'
        return self.kube.query("trimtab-prometheus", f"{selector}[{spent_s}s]")

    def load(self, shape: Shape, topic: str = TOPIC) -> float:
        """Start producing; returns the wall time of the first record."""
        self.kube.call("delete", "job", "load", "--ignore-not-found", "--wait")
        return load.start(self.kube, self.image, list(shape), topic)

    def stop_load(self) -> None:
        """End the current step of the load, which must be its last."""
        load.skip(self.kube)
        self.kube.wait("load ends", 60, self._load_ended)

    def fill(self) -> None:
        """Produce the flood's records to its topic and wait until they are there."""
        seconds = FLOOD_RECORDS / FLOOD_PER_S
        self.load(((seconds, FLOOD_PER_S),), FLOOD)
        self.kube.wait(f"{FLOOD_RECORDS} records", seconds + 300, self._load_ended)

    def _load_ended(self) -> bool:
        return load.finished(self.kube, "load")


def _seconds(text: str | None) -> float | None:
    """A duration from the status, in seconds."""
    if text is None:
        return None
    return float(text[:-2]) / 1000 if text.endswith("ms") else float(text.rstrip("s"))


def open_site() -> Site:
    """Set up the cluster with operator and Kafka, and no pipeline yet."""
    kube, tags = deploy.local_cluster(from_environment(), NAMESPACE)
    deploy.install(kube, tags, TICK_S)
    kube.call("delete", "namespace", NAMESPACE, "--ignore-not-found", limit_s=180)
    kube.call("create", "namespace", NAMESPACE)
    kube.apply(kafka(), yaml.safe_load((EXAMPLE / "transform.yaml").read_text()))
    kube.wait("Kafka ready", 240, lambda: condition(kube.get("tkc", "events"), "Ready") == "True")
    return Site(kube, tags["pipeline"])


def machine_load() -> float:
    """The machine's one-minute load average."""
    return round(os.getloadavg()[0], 2)
