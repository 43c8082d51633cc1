from __future__ import annotations

import dataclasses
import re

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from tests.unit.job.samples import T0, progress

from trimtab.api.figure import PREFIX, Type
from trimtab.api.figures import BY_NAME
from trimtab.job.batches.progress import parse
from trimtab.job.pending.pending_map import StageCalls
from trimtab.job.telemetry.driver_state import (
    CommittedBatch,
    DriverState,
    ExecutorLoad,
    ExecutorStates,
    JvmTotals,
    Load,
    PartitionLag,
    RunningBatch,
)
from trimtab.job.telemetry.metrics import DriverCollector


def exported(driver: DriverState, now: float = T0 + 5) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(DriverCollector(driver, lambda: now))
    text = generate_latest(registry).decode()
    pairs = re.findall(r"^trimtab_(\S+) (\S+)$", text, re.M)
    return {name: float(value) for name, value in pairs}


def full_state() -> DriverState:
    driver = DriverState(settings_generation=4, run_number=2, heartbeat=T0)
    driver.pipeline_uid, driver.polled_s = "uid-clicks", T0 - 0.5
    driver.effective = {"trigger": 0.5, "executors": 3.0}
    report = parse(progress())
    assert report is not None
    driver.totals.ledger_mismatch = 0
    driver.totals.add(report)
    driver.totals.changes["query"] += 1
    driver.last = CommittedBatch(report, settings_generation=4, executors_min=2, replayed=False)
    driver.running = RunningBatch(4, T0 + 3, 700, executors_min=2, replays=1)
    driver.executors = ExecutorStates(requested=3, running=2, decommissioning=1)
    driver.load = Load(
        slots_busy=0.5, cpu=0.3, heap=0.7,
        executors={"1": ExecutorLoad(0.8, 0.4), "2": ExecutorLoad(1.0, None)},
    )  # fmt: skip
    driver.totals.localities["PROCESS_LOCAL"] += 4
    driver.sinks_s = {"lake": 0.4, "alerts": 1.5}
    driver.lag = {("in", 0): PartitionLag(100, 7, 1.5), ("in", 1): PartitionLag(50, None, None)}
    return driver


def test_every_family_is_as_the_table_has_it() -> None:
    driver = full_state()
    driver.jvms = {"driver": JvmTotals(seconds=9.0, heap_limit=100, collector="G1")}
    driver.calls = {"prices": StageCalls(most=4, count=2, seconds=1.0, errors=0)}
    driver.totals.add_calls(driver.calls)
    families = list(DriverCollector(driver, lambda: T0).collect())
    assert len(families) > 40
    for family in families:
        figure = BY_NAME[family.name.removeprefix(PREFIX)]
        assert (family.type, family.documentation) == (figure.type, figure.help)
        own = {"le"} if figure.type is Type.HISTOGRAM else set()
        for sample in family.samples:
            assert set(sample.labels) - own == set(figure.labels), family.name


def test_says_nothing_that_is_not_known() -> None:
    names = set(exported(DriverState()))
    counted = {"unclean_stops", "records", "batches", "record_latency_clipped", "failed_tasks",
               "replayed_batches", "skipped_records", "late_records",
               "dead_letters"}  # fmt: skip
    assert names == {f"{count}_total" for count in counted}


def test_exports_the_contract() -> None:
    samples = exported(full_state())
    expected = {
        'pipeline_info{uid="uid-clicks"}': 1,
        "lag_polled_timestamp_seconds": T0 - 0.5,
        "settings_generation": 4,
        "run_number": 2,
        "batch_id": 3,
        "batch_records": 40,
        "batch_committed_timestamp_seconds": T0 + 1,
        "heartbeat_timestamp_seconds": T0,
        'batch_duration_seconds{phase="add_batch"}': 0.7,
        'batch_duration_seconds{phase="total"}': 1.0,
        "batch_settings_generation": 4,
        "batch_executors_min": 2,
        "batch_replayed": 0,
        "batch_limit_binding": 0,
        "batch_running_seconds": 2,
        "batch_running_records": 700,
        "batch_running_executors_min": 2,
        'batch_record_latency_seconds{quantile="0.95"}': 2.0,
        'executors{state="requested"}': 3,
        'executors{state="running"}': 2,
        'executors{state="pending"}': 2,
        'executors{state="decommissioning"}': 1,
        'effective{knob="trigger",value="500ms"}': 1,
        'effective_number{knob="trigger"}': 0.5,
        'lag_records{partition="0",topic="in"}': 7,
        'lag_seconds{partition="0",topic="in"}': 1.5,
        'partition_input_total{partition="1",topic="in"}': 50,
        'ledger_records_total{side="sink"}': 40,
        "ledger_mismatch_total": 0,
        'changes_total{how="query"}': 1,
        "record_latency_seconds_count": 40,
        "slots_busy_ratio": 0.5,
        "cpu_ratio": 0.3,
        "heap_used_ratio": 0.7,
        'executor_load{executor="1"}': 0.8,
        'executor_capacity{executor="1"}': 0.4,
        'sink_write_seconds{sink="alerts"}': 1.5,
        'task_locality_total{level="PROCESS_LOCAL"}': 4,
    }
    assert {name: samples.get(name) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    "absent",
    ["lag_records{partition=\"1\"", "lag_seconds{partition=\"1\"", "state_", "gc_ratio",
     "executor_capacity{executor=\"2\"", "pending", "settings_rejected", "pause"],
)  # fmt: skip
def test_leaves_out_what_does_not_exist(absent: str) -> None:
    assert not [name for name in exported(full_state()) if name.startswith(absent)]


def test_an_idle_query_has_no_batch_under_way() -> None:
    driver = dataclasses.replace(full_state(), running=None)
    samples = exported(driver)
    assert samples["batch_running_seconds"] == samples["batch_running_records"] == 0


def test_records_that_did_not_come_out_are_counted() -> None:
    driver = full_state()
    event = progress()
    event["observedMetrics"]["trimtab_sink"]["records"] = 37
    report = parse(event)
    assert report is not None
    driver.totals.add(report)
    assert exported(driver)["ledger_mismatch_total"] == 3


def test_the_histogram_is_cumulative() -> None:
    buckets = [
        v
        for k, v in exported(full_state()).items()
        if k.startswith("record_latency_sec") and "le=" in k
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 40
