"""Generated specs on a cluster in memory: each is refused, `Stalled` in words, or carried out.

What the structural schema refuses never comes so far. CEL rules are not asked here, so the models
have to refuse what these would: tests/apiserver/test_generated.py asks both. After each spec the
good one is restored, and must bring all back without anybody's help.
"""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from tests.faults.door import refusals, stored
from tests.faults.generated import spec_schema, specs, status_schema
from tests.faults.record import Row, record
from tests.long import WHOLE
from tests.unit.reconcile.stage import NAMESPACE, POD, Stage, broker_pod, series
from tests.unit.workloads.manifests import Json, example

KINDS = {"StreamPipeline": "clicks", "KafkaCluster": "events"}
FILES = {"StreamPipeline": "pipeline", "KafkaCluster": "kafka"}
EXAMPLES = {"StreamPipeline": 8000 if WHOLE else 100, "KafkaCluster": 2000 if WHOLE else 40}
LAST_GENERATION = 10**6
BROKERS = ("StatefulSet", NAMESPACE, "events-kafka")
COUNTED = settings(
    deadline=None, database=None, derandomize=not WHOLE, print_blob=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

pytestmark = pytest.mark.timeout(7200 if WHOLE else 300)


class Cell:
    """One pipeline and its Kafka, all at rest, and those who make them run."""

    def __init__(self, kind: str) -> None:
        self.kind, self.stage, self.generation, self.raised = kind, Stage(), 1, False
        self.stage.cluster.put(example("kafka"))
        self.good = stored(spec_schema(kind), self.live()["spec"])
        self.restore()

    def live(self) -> Json:
        return self.stage.get(self.kind, KINDS[self.kind])

    def edit(self, spec: Json, ticks: int = 2) -> None:
        """Somebody applies a spec, and time passes."""
        live = copy.deepcopy(self.live()) | {"spec": spec}
        before, said = self.generation, spec.get("checkpoint", {}).get("generation", 1)
        self.generation, self.raised = max(before, said), said > before
        live["metadata"]["generation"] += 1
        self.stage.cluster.put(live)
        for _ in range(ticks):
            self.play()
            self.stage.see(series("clicks", self.stage.clock.now_s + 10))
            self.stage.tick()

    def play(self) -> None:
        """The StatefulSet controller, the kubelet and the Job controller."""
        objects = self.stage.cluster.objects
        for key, found in list(objects.items()):
            if key[0] == "Job" and not found.get("status"):
                self.stage.cluster.put(found | {"status": {"succeeded": 1}})
        driver = objects.get(("StatefulSet", NAMESPACE, "clicks-driver"))
        if driver and driver["spec"]["replicas"] and POD not in objects:
            self.stage.run_driver()
        elif driver and not driver["spec"]["replicas"]:
            objects.pop(POD, None)
        brokers = objects.get(BROKERS)
        if brokers and (brokers.get("spec") or {}).get("template"):
            self.run_brokers(brokers)

    def run_brokers(self, brokers: Json) -> None:
        revision = brokers["metadata"]["annotations"]["trimtab.dev/applied-hash"]
        status = {"observedGeneration": brokers["metadata"]["generation"]}
        status |= {"updateRevision": revision}
        if brokers.get("status") != status:
            self.stage.cluster.put(brokers | {"status": status})
        for ordinal in range(brokers["spec"]["replicas"]):
            if ("Pod", NAMESPACE, f"events-kafka-{ordinal}") not in self.stage.cluster.objects:
                self.stage.cluster.put(broker_pod(brokers, ordinal, revision))

    def restore(self) -> None:
        """Somebody undoes the edit, but for the generation of the checkpoint: it only rises.

        One that the edit began may belong to another output mode, so another one follows it.
        """
        good = copy.deepcopy(self.good)
        if self.kind == "StreamPipeline":
            good["checkpoint"]["generation"] = self.generation + self.raised
        self.edit(good, ticks=3)

    def verdict(self) -> str:
        """What the status says of the spec; asserts that it says it as it should."""
        live = self.live()
        told = live["status"]
        assert list(refusals(status_schema(self.kind), told, "status")) == []
        assert told["observedGeneration"] == live["metadata"]["generation"]
        by_type = {c["type"]: c for c in told["conditions"]}
        stalled, ready = by_type["Stalled"], by_type["Ready"]
        if stalled["status"] == "True":
            assert stalled["reason"]
            assert "Traceback" not in stalled["message"]
            assert len(stalled["message"]) > 10
            return str(stalled["reason"])
        moving = by_type["Reconciling"]["status"] == "True"
        assert ready["status"] == "True" or moving or ready["reason"] == "Suspended", ready
        return "carried out"


@contextmanager
def no_exception() -> Iterator[None]:
    """Nothing in the block may be logged with an exception."""
    found: list[logging.LogRecord] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                found.append(record)

    handler, log = Kept(), logging.getLogger("trimtab")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
    assert [logging.Formatter().format(record) for record in found] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_spec_is_refused_stalled_or_carried_out(kind: str) -> None:
    counted: Counter[str] = Counter()
    cells = [Cell(kind)]
    first = cells[0].verdict()
    assert first == "carried out"

    @settings(COUNTED, max_examples=EXAMPLES[kind])
    @given(specs(kind, example(FILES[kind])["spec"]))
    def tried(spec: Json) -> None:
        if any(refusals(spec_schema(kind), spec, "spec")):
            counted["refused at the door"] += 1
            return
        cell, known = cells[0], stored(spec_schema(kind), spec)
        try:
            with no_exception():
                cell.edit(known)
                counted[cell.verdict()] += 1
                if cell.generation == LAST_GENERATION:
                    cells[0] = Cell(kind)  # no checkpoint can follow
                    return
                cell.restore()
            assert cell.verdict() == "carried out"
            assert cell.stage.condition("Ready") == ("True", "QueryRunning")
        except BaseException:
            cells[0] = Cell(kind)
            raise

    tried()
    assert counted["refused at the door"]
    assert counted["carried out"]
    said = ", ".join(f"{outcome} {number}" for outcome, number in counted.most_common())
    record(Row(f"generated-{kind}", counted.total(), said=said))
