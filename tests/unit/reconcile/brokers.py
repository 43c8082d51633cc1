"""A KafkaCluster in memory, with the controllers and the kubelet that make its brokers run."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from tests.unit.reconcile.stage import NAMESPACE, broker_pod
from tests.unit.workloads.manifests import CONFIG, Json, changed, example

from trimtab.adapters.certificates import OwnCertificates
from trimtab.adapters.memory import ManualClock, MemoryCluster, MemoryMetrics, MemoryTelemetry
from trimtab.api.v1alpha1.kafka import ROLL_ANNOTATION
from trimtab.errors import BadInputError
from trimtab.ports import Key
from trimtab.reconcile.loop import ControlLoop
from trimtab.workloads.common import digest

SET = ("StatefulSet", NAMESPACE, "events-kafka")


class Kafka:
    """Three brokers unless the spec says otherwise; nothing runs before `settle`."""

    def __init__(self, **spec: Any) -> None:
        self.cluster, self.clock = MemoryCluster(), ManualClock()
        manifest = example("kafka")
        manifest["spec"] |= {"replicas": 3, "topics": []} | spec
        self.cluster.put(manifest)
        self.start_operator()

    @classmethod
    def running(cls, **spec: Any) -> Kafka:
        """All brokers are in sync."""
        made = cls(**spec)
        made.settle()
        return made

    def start_operator(self, image: str = "kafka:1") -> None:
        """A new operator process, maybe of another version."""
        config = dataclasses.replace(CONFIG, kafka_image=image)
        self.loop = ControlLoop(
            self.cluster, MemoryMetrics(), MemoryTelemetry(), self.clock, config,
            certificates=OwnCertificates(),
        )  # fmt: skip

    def tick(self, *, listed: bool = True) -> list[str]:
        """Ten seconds later; returns the brokers that the operator replaced."""
        self.clock.now_s += 10
        if listed:
            self.loop.resync()
        self.cluster.writes.clear()
        self.loop.tick()
        return [key[2] for what, key in self.cluster.writes if what == "delete" and key[0] == "Pod"]

    def settle(self, *, jobs: bool = True) -> None:
        """Tick until everything runs and rests; Jobs do not start if they are not meant to."""
        for _ in range(20):
            self.tick()
            self.controllers()
            self.kubelet(jobs=jobs)
        self.tick()

    def controllers(self) -> None:
        """The StatefulSet controller: it takes notice of the template, and makes missing pods."""
        found = self.cluster.objects[SET]
        revision = f"events-kafka-{digest(found['spec']['template'])}"
        status = {"observedGeneration": found["metadata"]["generation"], "updateRevision": revision}
        self.cluster.put(found | {"status": status})
        for ordinal in range(found["spec"]["replicas"]):
            if self.pod(ordinal) is None:
                self.cluster.put(broker_pod(found, ordinal, revision, started=False, ready=False))

    def kubelet(self, *, jobs: bool = True) -> None:
        """All pods come up and get in sync, and Jobs succeed."""
        for ordinal in range(self.cluster.objects[SET]["spec"]["replicas"]):
            if self.pod(ordinal) is not None:
                self.report(ordinal)
        for key, found in list(self.cluster.objects.items()):
            if jobs and key[0] == "Job" and not found.get("status"):
                self.cluster.put(found | {"status": {"succeeded": 1}})

    def report(self, ordinal: int, *, started: bool = True, ready: bool = True) -> None:
        """What the kubelet says of a broker."""
        pod = self.pod(ordinal)
        assert pod is not None
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        containers = [{"name": "kafka", "image": "kafka:1", "started": started}]
        status = {"conditions": conditions, "containerStatuses": containers}
        self.cluster.put(pod | {"status": status})

    def pod(self, ordinal: int) -> Json | None:
        return copy.deepcopy(self.cluster.objects.get(self.key(ordinal)))

    @staticmethod
    def key(ordinal: int) -> Key:
        return ("Pod", NAMESPACE, f"events-kafka-{ordinal}")

    def edit(self, path: str, value: Any) -> None:
        """Somebody edits the spec."""
        live = changed(self.parent, path, value)
        live["metadata"]["generation"] += 1
        self.cluster.put(live)

    def consent(self, revision: str) -> None:
        """Somebody lets trimtab replace the brokers by this revision."""
        live = self.parent
        live["metadata"]["annotations"] = {ROLL_ANNOTATION: revision}
        self.cluster.put(live)

    @property
    def parent(self) -> Json:
        return copy.deepcopy(self.cluster.objects["KafkaCluster", NAMESPACE, "events"])

    @property
    def status(self) -> Json:
        found: Json = self.parent["status"]
        return found

    def condition(self, type_: str) -> tuple[str, str, str]:
        (found,) = (c for c in self.status["conditions"] if c["type"] == type_)
        return found["status"], found["reason"], found["message"]

    def jobs(self) -> list[Json]:
        return [o for key, o in self.cluster.objects.items() if key[0] == "Job"]

    def refuse(self, kind: str, words: str = "") -> None:
        """The API server refuses to apply a kind from now on; no words: it does not any more."""
        apply = MemoryCluster.apply.__get__(self.cluster)

        def refusing(manifest: Json) -> Json:
            if words and manifest["kind"] == kind:
                raise BadInputError(f"the API server refused: {words}")
            applied: Json = apply(manifest)
            return applied

        self.cluster.apply = refusing  # type: ignore[method-assign]
