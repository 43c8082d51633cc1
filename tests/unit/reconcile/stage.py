"""The control loop on a cluster in memory, with as many quickstarts as a test wants."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.workloads.manifests import CONFIG, Json, changed, example

from trimtab.adapters.memory import ManualClock, MemoryCluster, MemoryMetrics, MemoryTelemetry
from trimtab.errors import BadInputError
from trimtab.ports import Sample
from trimtab.reconcile.loop import ControlLoop
from trimtab.reconcile.observe.queries import queries
from trimtab.settings import OperatorSettings
from trimtab.tuning.capacity.points import ENOUGH
from trimtab.workloads.common import MANAGED_BY, owner

NAMESPACE = "n"
SCRAPE_S = CONFIG.scrape_s
PARENT = ("StreamPipeline", NAMESPACE, "clicks")
TUNING = ("ConfigMap", NAMESPACE, "clicks-tuning")
HISTORY = ("ConfigMap", NAMESPACE, "clicks-history")
POD = ("Pod", NAMESPACE, "clicks-driver-0")


def series(
    pipeline: str, now_s: float, *, instance: str = "10.0.0.1:9400", worst_latency: float = 0.0,
    **values: Any,
) -> Json:  # fmt: skip
    """What one driver exports, by query name; gauges by metric name, or (name, label, value)."""
    labels = {"namespace": NAMESPACE, "pipeline": pipeline, "instance": instance}
    gauges: dict[str, float] = {
        "heartbeat_timestamp_seconds": now_s - 1, "run_number": 1, "batch_id": 5,
        "batch_committed_timestamp_seconds": now_s - 5, "batch_records": 250,
        "batch_settings_generation": 1, "batch_executors_min": 1, "batches_total": 9,
        "settings_generation": 1, "settings_rejected_generation": 0, "batch_replayed": 0,
        "batch_running_seconds": 0, "batch_running_records": 0,
    }  # fmt: skip
    labelled = {
        ("batch_duration_seconds", "phase", "total"): 2.4,
        ("batch_duration_seconds", "phase", "wal"): 0.1,
        ("batch_record_latency_seconds", "quantile", "0.95"): 12.0,
        ("executors", "state", "running"): 1.0, ("executors", "state", "pending"): 0.0,
    }  # fmt: skip
    rest = {
        "input_rate": 25.0, "input_rate_long": 25.0, "hottest_rate": 2.5, "partitions": 12.0,
        "lag_records": 200.0, "lag_s": 8.0, "executor_load": 0.6, "executor_capacity": 0.4,
        "least_capacity": 0.3, "most_capacity": 0.5, "tasks": 2.4, "tasks_near": 1.8,
    }  # fmt: skip
    named = {key[0]: key for key in reversed(labelled)}
    for name, value in values.items():
        if name in rest:
            rest[name] = value
        elif name in named:
            labelled[named[name]] = value
        else:
            gauges[name] = value
    names = [({"__name__": f"trimtab_{name}"}, value) for name, value in gauges.items()]
    names += [({"__name__": f"trimtab_{n}", k: v}, value) for (n, k, v), value in labelled.items()]
    samples: Json = {"gauges": [Sample(labels | own, value) for own, value in names]}
    worst = max(labelled["batch_record_latency_seconds", "quantile", "0.95"], worst_latency)
    samples["worst_latency"] = [Sample(labels | {"quantile": "0.95"}, worst)]
    return samples | {name: [Sample(labels, value)] for name, value in rest.items()}


def jvm_series(
    pipeline: str, role: str, heap: float, *, new: tuple[float, float] = (0, 0),
    old: tuple[float, float] = (0, 0), over_s: float = 600.0, **gauges: float,
) -> Json:  # fmt: skip
    """What a driver exports of the JVMs of a role: collections and their seconds of 10 minutes."""
    labels = {"namespace": NAMESPACE, "pipeline": pipeline, "instance": "10.0.0.1:9400"}
    labels |= {"role": role}
    gauges |= {"jvm_heap_limit_bytes": heap}
    generations = (("new", new), ("old", old))
    return {
        "gauges": [Sample(labels | {"__name__": f"trimtab_{n}"}, v) for n, v in gauges.items()],
        "jvm_seconds": [Sample(labels, over_s)],
        "jvm_collections": [Sample(labels | {"generation": g}, v[0]) for g, v in generations],
        "jvm_collection_s": [Sample(labels | {"generation": g}, v[1]) for g, v in generations],
    }


OVERLOAD = {
    "batch_records": 2500, "input_rate": 280.0, "input_rate_long": 280.0, "lag_records": 4000.0,
}  # fmt: skip


def broker_pod(
    stateful_set: Json, ordinal: int, revision: str, *, started: bool = True, ready: bool = True
) -> Json:
    """The pod that the StatefulSet controller would make for a broker."""
    own = stateful_set["metadata"]
    controller = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
    controller |= {"name": own["name"], "uid": own["uid"]}
    template = ((stateful_set.get("spec") or {}).get("template") or {}).get("metadata") or {}
    labels = MANAGED_BY | template.get("labels", {}) | {"controller-revision-hash": revision}
    meta = {
        "name": f"{own['name']}-{ordinal}", "namespace": own["namespace"], "labels": labels,
        "annotations": dict(template.get("annotations", {})), "ownerReferences": [controller],
    }  # fmt: skip
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    containers = [{"name": "kafka", "image": "kafka:1", "started": started}]
    status = {"conditions": conditions, "containerStatuses": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": status}


class Stage:
    """Pipelines, the loop over them, and what it wrote."""

    def __init__(self, *names: str, cluster: MemoryCluster | None = None) -> None:
        self.cluster, self.metrics = cluster or MemoryCluster(), MemoryMetrics()
        self.clock, self.telemetry = ManualClock(), MemoryTelemetry()
        self.start_operator()
        self.put_kafka()
        self.cluster.put(example("transform"))
        for name in names or ("clicks",):
            self.put_pipeline(name)

    def start_operator(self, config: OperatorSettings = CONFIG) -> None:
        """A new operator process, as far as the loop can tell."""
        self.loop = ControlLoop(self.cluster, self.metrics, self.telemetry, self.clock, config)

    def put_kafka(self) -> None:
        """A Kafka whose brokers run, as far as its StatefulSet tells."""
        kafka = self.cluster.put(changed(example("kafka"), "topics", None))
        meta = {
            "name": "events-kafka", "namespace": NAMESPACE, "labels": dict(MANAGED_BY),
            "ownerReferences": [owner(kafka)],
        }  # fmt: skip
        status = {"observedGeneration": 1, "updateRevision": "r1"}
        made = {"kind": "StatefulSet", "metadata": meta, "status": status}
        brokers = self.cluster.put({"apiVersion": "apps/v1", **made})
        self.cluster.put(broker_pod(brokers, 0, "r1"))

    def put_pipeline(self, name: str, **spec: Any) -> Json:
        """A pipeline of the quickstart under a name, with parts of its spec replaced."""
        manifest = example("pipeline", name=name, uid=f"uid-{name}")
        manifest["spec"] |= spec
        return self.cluster.put(manifest)

    def edit(self, path: str, value: Any) -> None:
        """Somebody edits one field of the spec of clicks."""
        live = changed(self.get("StreamPipeline", "clicks"), path, value)
        live["metadata"]["generation"] += 1
        self.cluster.put(live)

    def tick(self, *, listed: bool = True) -> None:
        """Ten seconds later; unlisted, only what the operator wrote itself is known."""
        self.clock.now_s += 10
        if listed:
            self.loop.resync()
        self.cluster.writes.clear()
        self.loop.tick()

    def refuse(self, kind: str, name: str = "") -> None:
        """The API server refuses a kind, or one object of it, from now on; no kind: nothing."""
        apply = MemoryCluster.apply.__get__(self.cluster)

        def refusing(manifest: Json) -> Json:
            if manifest["kind"] == kind and name in {"", manifest["metadata"]["name"]}:
                raise BadInputError(f"the API server refused: exceeded quota of {kind}")
            applied: Json = apply(manifest)
            return applied

        self.cluster.apply = refusing  # type: ignore[method-assign]

    def get(self, kind: str, name: str) -> Json:
        """An object; `clicks-job` stands for the job document in force, whose name has a hash."""
        if kind == "ConfigMap" and name.endswith("-job"):
            driver = self.get("StatefulSet", name.removesuffix("-job") + "-driver")
            volumes = driver["spec"]["template"]["spec"]["volumes"]
            name = next(v["configMap"]["name"] for v in volumes if v["name"] == "job")
        return self.cluster.objects[kind, NAMESPACE, name]

    def has(self, kind: str, name: str) -> bool:
        return (kind, NAMESPACE, name) in self.cluster.objects

    def status(self, name: str = "clicks") -> Json:
        found: Json = self.get("StreamPipeline", name)["status"]
        return found

    def condition(self, type_: str, name: str = "clicks") -> tuple[str, str]:
        found = next(c for c in self.status(name)["conditions"] if c["type"] == type_)
        return found["status"], found["reason"]

    def document(self, name: str = "clicks") -> Json:
        text = self.get("ConfigMap", f"{name}-tuning")["data"]["settings.json"]
        read: Json = json.loads(text)
        return read

    def run_driver(self, name: str = "clicks", ordinal: int = 0, **status: Any) -> None:
        """The pod that the StatefulSet controller would make."""
        made_by = self.get("StatefulSet", f"{name}-driver")
        uid = {"uid": made_by["metadata"]["uid"], "name": f"{name}-driver"}
        controller = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True} | uid
        meta = made_by["spec"]["template"]["metadata"] | {
            "name": f"{name}-driver-{ordinal}", "namespace": NAMESPACE,
            "ownerReferences": [controller],
        }  # fmt: skip
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        at = {"podIPs": [{"ip": f"10.0.0.{ordinal + 1}"}]}
        spec = made_by["spec"]["template"]["spec"]
        status = at | (status or ready)
        self.cluster.put({"kind": "Pod", "metadata": meta, "spec": spec, "status": status})

    def see(self, *drivers: Json) -> None:
        """What Prometheus answers from now on."""
        asked = queries(SCRAPE_S)
        self.metrics.answers = {
            promql: [sample for driver in drivers for sample in driver.get(what, ())]
            for what, promql in asked.items()
        }

    @classmethod
    def at_rest(cls) -> Stage:
        """A pipeline that runs and was seen once."""
        made = cls()
        made.running()
        made.see(series("clicks", made.clock.now_s + 10))
        made.tick()
        return made

    def running(self, *names: str) -> None:
        """Two ticks, and the drivers run."""
        self.tick()
        for name in names or ("clicks",):
            self.run_driver(name)
        self.tick()

    def rest(self, **values: Any) -> None:
        """As many batches of one kind as the model learns from before it rests."""
        for batch in range(1000, 1000 + ENOUGH):
            self.see(series("clicks", self.clock.now_s + 10, batch_id=batch, **values))
            self.tick()

    def overload(self, batch: int, **values: Any) -> None:
        """The next sample of a driver that cannot keep up."""
        more = {"batch_duration_seconds": 22.9} | OVERLOAD | values
        self.see(series("clicks", self.clock.now_s + 10, batch_id=batch, **more))
