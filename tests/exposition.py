"""What an operator and a driver export, with everything that alerts and dashboards ask for."""

from __future__ import annotations

import dataclasses
import time

from prometheus_client import CollectorRegistry
from tests.unit.job.telemetry.test_metrics import full_state
from tests.unit.reconcile.stage import NAMESPACE, OVERLOAD, Stage, series
from tests.unit.reconcile.test_policies import put

from trimtab.adapters.clock import WallClock
from trimtab.adapters.telemetry import PrometheusTelemetry
from trimtab.job.pending.pending_map import StageCalls
from trimtab.job.telemetry.driver_state import JvmTotals
from trimtab.job.telemetry.metrics import DriverCollector
from trimtab.ports import Sample

PIPELINES = ("clicks", "orders")
"""The first has a latency goal and waits for approval, the second one of records per second."""

KNOBS = {"executors": 1.0, "trigger": 5.0, "maxOffsetsPerTrigger": 5000.0, "maxInFlight": 4.0}


def driver() -> CollectorRegistry:
    """Of a driver that has run for a while."""
    state = full_state()
    state.heartbeat = time.time()
    assert state.load is not None
    state.load = dataclasses.replace(state.load, gc=0.1)
    state.jvms = {"driver": JvmTotals(seconds=9.0, heap_limit=100, collector="G1")}
    state.calls = {"prices": StageCalls(most=4, count=2, seconds=1.0, errors=0)}
    state.totals.add_calls(state.calls)
    state.totals.pause_s["query"] += 2.5
    state.totals.arrived, state.totals.missing = 38, 2
    registry = CollectorRegistry()
    registry.register(DriverCollector(state, time.time))
    return registry


def operator() -> CollectorRegistry:
    """Of an operator whose pipelines have more load than they may carry."""
    telemetry = PrometheusTelemetry(WallClock())
    stage = Stage(*PIPELINES)
    stage.put_pipeline("orders", goal={"throughput": {"recordsPerSecond": 1000}})
    stage.telemetry = telemetry
    stage.start_operator()
    stage.running(*PIPELINES)
    put(stage, "team", mode="Recommend")
    for _ in range(4):
        now_s = stage.clock.now_s + 10
        stage.see(*(_seen(stage, name, now_s) for name in PIPELINES))
        stage.tick()
    telemetry.driver_reads(read=2, failed=0)
    telemetry.skipped("not_finite", 1)
    telemetry.decision(NAMESPACE, "clicks", "Change", "ExecutorsRaised")
    return telemetry.registry


def _seen(stage: Stage, name: str, now_s: float) -> dict[str, list[Sample]]:
    """What Prometheus says of an overloaded driver, with the knobs that it runs."""
    generation = stage.document(name)["generation"]
    found = series(
        name, now_s, batch_id=int(now_s), batch_duration_seconds=22.9,
        settings_generation=generation, batch_settings_generation=generation,
        retention_deadline_seconds=80_000, retention_seconds=86_400, **OVERLOAD,
    )  # fmt: skip
    (labels, *_) = (sample.labels for sample in found["gauges"])
    own = labels | {"__name__": "trimtab_effective_number"}
    found["gauges"] += [Sample(own | {"knob": knob}, value) for knob, value in KNOBS.items()]
    return found
