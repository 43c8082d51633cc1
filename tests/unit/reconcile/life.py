"""A scripted life of a pipeline, with the kubelet, the driver and Prometheus around it, and an
operator that can be killed after any of its writes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.histories import told
from tests.unit.reconcile.stage import NAMESPACE, PARENT, POD, TUNING, Stage, series
from tests.unit.workloads.manifests import Json, example

from trimtab.adapters.memory import MemoryCluster
from trimtab.api.contract import SETTINGS_KEY, Settings
from trimtab.job.lifecycle.settings_watch import judge
from trimtab.ports import Key, Manifest

SET = ("StatefulSet", NAMESPACE, "clicks-driver")

CALM, LOADED = 25.0, 280.0  # records/s
CAPACITY = 110.0  # records/s of one executor


class Killed(BaseException):
    """The process ends here: no `except Exception` of the operator may hold it up."""


class MortalCluster(MemoryCluster):
    """Counts the operator's writes, Events included, and kills it right after some of them."""

    def __init__(self, dies: Callable[[int], bool]) -> None:
        super().__init__()
        self.dies, self.count = dies, 0

    def _written(self) -> None:
        self.count += 1
        if self.dies(self.count):
            raise Killed

    def apply(self, manifest: Manifest) -> Manifest:
        applied = super().apply(manifest)
        self._written()
        return applied

    def replace(self, manifest: Manifest) -> Manifest:
        replaced = super().replace(manifest)
        self._written()
        return replaced

    def patch_status(self, kind: str, manifest: Manifest, status: Manifest) -> Manifest:
        patched = super().patch_status(kind, manifest, status)
        self._written()
        return patched

    def delete(self, key: Key, *, uid: str | None = None) -> None:
        super().delete(key, uid=uid)
        self._written()

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        super().event(about, warning=warning, reason=reason, message=message)
        self._written()


class Life(Stage):
    """From the creation of a pipeline to the second life of its name."""

    def __init__(self, dies: Callable[[int], bool] = lambda _: False) -> None:
        self.mortal = MortalCluster(dies)
        super().__init__(cluster=self.mortal)
        self.cluster.put(example("kafka"))
        self.rate, self.batch, self.kills, self.starts = CALM, 1, 0, 0
        self.driver: Settings | None = None
        self.documents: dict[tuple[str, int], str] = {}
        self.decided: list[Json] = []

    def live(self) -> None:
        for action, ticks in self.script():
            action()
            for _ in range(ticks):
                self.pass_time()

    def script(self) -> Iterator[tuple[Callable[[], Any], int]]:
        """What people and the world do, and for how many ticks the rest follows."""
        yield lambda: None, 4
        yield lambda: self.load(LOADED), 10
        yield lambda: self.edit("limits.executors", {"min": 1, "max": 3}), 3
        yield lambda: self.edit("drainTimeout", "30s"), 4
        yield lambda: self.edit("source.kafka.failOnDataLoss", False), 3
        yield lambda: self.edit("suspend", True), 2
        yield lambda: self.edit("suspend", False), 4
        yield self.end_first_life, 2
        yield self.begin_second_life, 6

    def pass_time(self) -> None:
        """Ten seconds in which the cluster goes on, and a tick of whichever operator lives."""
        self.clock.now_s += 10
        self.kubelet_works()
        self.driver_works()
        while not self.tick_ends():
            self.kills += 1
            self.start_operator()

    def tick_ends(self) -> bool:
        """One tick, and what follows at once on its writes; False if it killed the operator."""
        try:
            self.loop.resync()
            self.loop.tick()
            return True
        except Killed:
            return False
        finally:
            self.check()
            self.controllers_work()

    def load(self, rate: float) -> None:
        """So many records a second come in from now on."""
        self.rate = rate

    def end_first_life(self) -> None:
        """Somebody deletes the pipeline."""
        self.decided = copy.deepcopy(self.status()["decisions"])
        self.rate = CALM
        del self.cluster.objects[PARENT]

    def begin_second_life(self) -> None:
        """Somebody makes one of the same name, with the claim of the first still there."""
        self.cluster.put(example("pipeline", uid="uid-second"))

    def kubelet_works(self) -> None:
        """What was begun ten seconds ago is there now."""
        objects = self.cluster.objects
        for key, found in list(objects.items()):
            if key[0] == "Job" and not found.get("status"):
                self.cluster.put(found | {"status": {"succeeded": 1}})
        if POD in objects and objects[POD]["status"].get("phase") == "Pending":
            self.run_driver()

    def controllers_work(self) -> None:
        """The garbage collector and the StatefulSet controller, which are quick."""
        objects = self.cluster.objects
        uids = {o["metadata"]["uid"] for o in objects.values()}
        for key, found in list(objects.items()):
            owners = found["metadata"].get("ownerReferences", [])
            if any(owner["uid"] not in uids for owner in owners):
                del objects[key]
        if SET not in objects or objects[SET]["spec"]["replicas"] == 0:
            objects.pop(POD, None)
        elif POD not in objects:
            self.run_driver(phase="Pending")
            self.starts += 1

    def driver_works(self) -> None:
        """Take the tuning document as the real driver does, run a batch, export it."""
        objects = self.cluster.objects
        if POD not in objects or "phase" in objects[POD]["status"]:
            self.driver = None
            self.see()
            return
        before, text = self.driver, objects[TUNING]["data"][SETTINGS_KEY]
        if before is None:
            self.driver = Settings.from_json(text)
        elif isinstance(new := judge(text, before.pipeline_uid, before.generation), Settings):
            self.driver = new
        self.batch += 1
        self.see(self.exported(before or self.driver))

    def exported(self, ran_at: Settings | None) -> Json:
        assert self.driver
        assert ran_at
        executors = self.driver.settings.executors or 1
        records = min(2500.0, self.rate * 10)
        seconds = 0.5 + records / (CAPACITY * (ran_at.settings.executors or 1))
        return series(
            "clicks", self.clock.now_s, batch_id=self.batch, batches_total=self.batch,
            batch_records=records, batch_duration_seconds=seconds,
            batch_record_latency_seconds=10 + seconds / 2, executors=executors,
            batch_executors_min=ran_at.settings.executors,
            batch_settings_generation=ran_at.generation,
            settings_generation=self.driver.generation, input_rate=self.rate,
            input_rate_long=self.rate, lag_records=records * (2 if seconds > 10 else 1),
        )  # fmt: skip

    def check(self) -> None:
        """What must hold at every moment: the status is ahead, and a generation is one thing."""
        if TUNING not in self.cluster.objects or PARENT not in self.cluster.objects:
            return
        uid, document = self.get("StreamPipeline", "clicks")["metadata"]["uid"], self.document()
        if document["pipelineUid"] != uid:
            return
        told = (self.get("StreamPipeline", "clicks").get("status") or {}).get("controller") or {}
        ahead = document["generation"] > told.get("generation", 0)
        assert not ahead, "the document is ahead of the status"
        newest = max((g for u, g in self.documents if u == uid), default=0)
        assert document["generation"] >= newest, "the generation fell"
        text = self.get("ConfigMap", "clicks-tuning")["data"][SETTINGS_KEY]
        assert self.documents.setdefault((uid, document["generation"]), text) == text

    def end(self) -> Json:
        """All that is left, without what every write or every process changes."""
        left = {"/".join(key): _lasting(told(o)) for key, o in self.cluster.objects.items()}
        documents = {f"{uid}/{number}": text for (uid, number), text in self.documents.items()}
        return left | {
            "driver": self.driver.to_json() if self.driver else "",
            "decided in the first life": _lasting(self.decided),
            "documents": documents,
            "driver starts": self.starts,
        }


def _lasting(node: Any) -> Any:
    if isinstance(node, list):
        return [_lasting(item) for item in node]
    if not isinstance(node, dict):
        return node
    passing = {"resourceVersion", "uid", "time", "lastTransitionTime", "spent", "cost"}
    return {k: _lasting(v) for k, v in node.items() if k not in passing}
