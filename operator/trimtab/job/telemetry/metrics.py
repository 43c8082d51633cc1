"""The driver's state as Prometheus metrics, by the one table of figures.

Unknown values are omitted, never zero. Namespace and pipeline are not labels here: relabelling
adds them from the pod's metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from trimtab.api.figure import PREFIX, Type
from trimtab.api.figures import BY_NAME
from trimtab.api.knobs import KNOBS, MIN_PARTITIONS, SCOPE
from trimtab.api.topics import unqualified
from trimtab.job.batches.ledger import SHOWN
from trimtab.job.executors.locality import scope_loads, wait_is_inert
from trimtab.job.telemetry.driver_state import (
    LATENCY_BUCKETS_S,
    NEW,
    OLD,
    CommittedBatch,
    DriverState,
    JvmTotals,
    Totals,
)


class DriverCollector(Collector):
    """Reads the driver's state once a scrape."""

    def __init__(self, driver: DriverState, clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970."""
        self._driver = driver
        self._clock = clock

    def collect(self) -> Iterable[Metric]:
        """A consistent set of all families that are known now."""
        with self._driver.writing() as driver:
            families = [
                *_settings(driver),
                *_running(driver, self._clock()),
                *_executors(driver),
                *_jvms(driver.jvms),
                *_source(driver),
                *_calls(driver),
                *_totals(driver.totals),
                *(_last(driver.last, driver.waits) if driver.last else ()),
                _one("sink_ratio", driver.sink_share),
                _by("sink_write_seconds", driver.sinks_s),
            ]
        return [family for family in families if family.samples]


Labelled = Mapping[tuple[str, ...], float]
"""A value for each combination of label values."""


def _family(name: str, values: Labelled) -> Metric:
    """A gauge or a counter of the table, with its values by label values."""
    figure = BY_NAME[name]
    of_type = CounterMetricFamily if figure.type is Type.COUNTER else GaugeMetricFamily
    family = of_type(PREFIX + name, figure.help, labels=list(figure.labels))
    for labels, value in values.items():
        family.add_metric(list(labels), float(value))
    return family


def _one(name: str, value: float | bool | None) -> Metric:
    return _family(name, {} if value is None else {(): value})


def _by(name: str, values: Mapping[str, float]) -> Metric:
    return _family(name, {(label,): value for label, value in values.items()})


def _quantiles(name: str, values: Mapping[float, float]) -> Metric:
    """A summary of one batch: quantiles without count and sum, which would be those of all."""
    figure = BY_NAME[name]
    family = Metric(PREFIX + name, figure.help, "summary")
    for quantile, value in values.items():
        family.add_sample(PREFIX + name, {"quantile": str(quantile)}, value)
    return family


def _settings(driver: DriverState) -> Iterator[Metric]:
    yield _by("pipeline_info", {driver.pipeline_uid: 1.0} if driver.pipeline_uid else {})
    yield _one("settings_generation", driver.settings_generation)
    yield _one("settings_rejected_generation", driver.rejected_generation)
    yield _one("run_number", driver.run_number)
    yield _one("real_time", driver.real_time)
    yield _one("heartbeat_timestamp_seconds", driver.heartbeat)
    yield _one("reflex_executors", driver.raised_to)
    knobs = driver.effective
    yield _family("effective", {(knob, KNOBS[knob].format(v)): 1 for knob, v in knobs.items()})
    yield _by("effective_number", knobs)
    if driver.lag:
        scope, tasks = knobs.get(SCOPE.name), knobs.get(MIN_PARTITIONS.name)
        yield _by("locality_places", driver.places)
        yield _one("locality_wait_inert", wait_is_inert(scope, tasks, len(driver.lag)))


def _running(driver: DriverState, now: float) -> Iterator[Metric]:
    if driver.run_number is None:
        return
    running = driver.running
    yield _one("batch_running_seconds", max(0.0, now - running.since) if running else 0.0)
    yield _one("batch_running_records", running.records if running else 0)
    yield _one("batch_stalled_seconds", driver.stalled_s if running else 0.0)
    yield _one("batch_running_replays", running.replays if running else 0)
    if running is None:
        return
    yield _one("batch_running_id", running.batch_id)
    yield _one("batch_running_timed", running.timed)
    yield _one("batch_running_executors_min", running.executors_min)


def _last(batch: CommittedBatch, waits: Mapping[float, float] | None) -> Iterator[Metric]:
    report = batch.report
    yield _one("batch_id", report.batch_id)
    yield _one("batch_committed_timestamp_seconds", report.committed_at)
    yield _one("batch_records", report.records)
    yield _one("batch_bytes", report.bytes)
    yield _by("batch_duration_seconds", report.phases)
    yield _one("batch_settings_generation", batch.settings_generation)
    yield _one("batch_executors_min", batch.executors_min)
    yield _one("batch_replayed", batch.replayed)
    yield _one("batch_timed", batch.timed)
    yield _one("batch_limit_binding", report.limit_binding)
    if report.latency is not None:
        yield _quantiles("batch_record_latency_seconds", report.latency.quantiles)
    if waits is not None:
        yield _quantiles("batch_wait_seconds", waits)
    if report.state is not None:
        yield _one("state_rows", report.state.rows)
        yield _one("state_bytes", report.state.bytes)
        yield _one("state_commit_seconds", report.state.commit_s)


def _executors(driver: DriverState) -> Iterator[Metric]:
    states = driver.executors
    if states is not None:
        by_state = {
            "requested": states.requested,
            "running": states.running,
            "pending": states.pending,
            "decommissioning": states.decommissioning,
        }
        yield _by("executors", by_state)
        totals = driver.totals
        yield _one("reflex_raises", totals.reflex_raises)
        yield _one("executors_refused", totals.executors_refused)
        yield _one("executors_failed", totals.executors_failed)
        yield _one("executors_lost", totals.executors_lost)
    load = driver.load
    if load is None:
        return
    yield _one("slots_busy_ratio", load.slots_busy)
    yield _one("gc_ratio", load.gc)
    yield _one("cpu_ratio", load.cpu)
    yield _one("heap_used_ratio", load.heap)
    loads = {name: each.load for name, each in load.executors.items()}
    yield _by("executor_load", loads)
    if driver.lag:
        yield _by("scope_load", scope_loads(loads, driver.lag))
    capacities = {name: each.capacity for name, each in load.executors.items()}
    known = {name: capacity for name, capacity in capacities.items() if capacity is not None}
    yield _by("executor_capacity", known)


def _jvms(jvms: Mapping[str, JvmTotals]) -> Iterator[Metric]:
    """Collections and heaps by role; divided by `jvm_seconds` they are rates per JVM."""
    yield _by("jvm_seconds", {role: jvm.seconds for role, jvm in jvms.items()})
    both = [(role, generation) for role in jvms for generation in (NEW, OLD)]
    yield _family("jvm_collections", {(r, g): jvms[r].count[g] for r, g in both})
    yield _family("jvm_collection_seconds", {(r, g): jvms[r].collecting_s[g] for r, g in both})
    named: Labelled = {(role, jvm.collector): 1 for role, jvm in jvms.items() if jvm.collector}
    yield _family("jvm_collector", named)
    yield _by("jvm_heap_limit_bytes", {role: jvm.heap_limit for role, jvm in jvms.items()})
    peaks = {role: jvm.heap_peak for role, jvm in jvms.items() if jvm.heap_peak}
    yield _by("jvm_heap_peak_bytes", peaks)
    live = {role: jvm.live_bytes for role, jvm in jvms.items()}
    yield _by("jvm_heap_live_bytes", _known(live))
    sizes = {role: jvm.new_bytes for role, jvm in jvms.items()}
    yield _by("jvm_new_generation_bytes", _known(sizes))
    allocated = {role: jvm.allocated_bytes for role, jvm in jvms.items()}
    yield _by("jvm_allocated_bytes", _known(allocated))


def _known(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def _source(driver: DriverState) -> Iterator[Metric]:
    partitions = {(t, str(p)): lag for (t, p), lag in (driver.lag or {}).items()}
    records: Labelled = {
        key: lag.records for key, lag in partitions.items() if lag.records is not None
    }
    seconds: Labelled = {
        key: lag.seconds for key, lag in partitions.items() if lag.seconds is not None
    }
    yield _family("lag_records", records)
    yield _by("source_lag_records", _by_source(records))
    yield _family("lag_seconds", seconds)
    yield _family("partition_input", {key: lag.end for key, lag in partitions.items()})
    yield _one("lag_polled_timestamp_seconds", driver.polled_s if partitions else None)
    yield _one("start_backlog_records", driver.start_backlog)
    yield _one("partitions_out_of_sync", driver.out_of_sync)
    beyond = [each.beyond for each in driver.lag.values()] if driver.lag else None
    expiry = driver.expiry
    yield _one("retention_deadline_seconds", expiry.seconds if expiry else None)
    yield _one("retention_seconds", expiry.kept_s if expiry else None)
    yield _one("partitions_beyond_end", None if beyond is None else sum(beyond))


def _by_source(records: Labelled) -> dict[str, float]:
    """The lag of each of several sources; empty for a single one, which has no name."""
    found: dict[str, float] = {}
    for (topic, _), waiting in records.items():
        source, _own = unqualified(topic)
        found[source] = found.get(source, 0) + waiting
    return {} if "" in found else found


def _calls(driver: DriverState) -> Iterator[Metric]:
    """Stages of calls: in the last batch, and in total since the driver started."""
    calls, totals = driver.calls, driver.totals
    yield _by("pending_calls", {stage: called.most for stage, called in calls.items()})
    mean = {s: called.seconds / called.count for s, called in calls.items() if called.count}
    yield _by("batch_pending_call_seconds", mean)
    figure = BY_NAME["pending_call_seconds"]
    seconds = SummaryMetricFamily(PREFIX + figure.name, figure.help, labels=list(figure.labels))
    for stage, count in totals.calls.items():
        seconds.add_metric([stage], count_value=count, sum_value=totals.call_s[stage])
    yield seconds
    yield _by("pending_call_errors", totals.call_errors)


def _totals(totals: Totals) -> Iterator[Metric]:
    yield _by("pause_seconds", totals.pause_s)
    yield _by("changes", totals.changes)
    yield _by("task_locality", totals.localities)
    yield _one("unclean_stops", totals.unclean_stops)
    yield _one("failed_tasks", totals.failed_tasks)
    yield _one("replayed_batches", totals.replays)
    yield _one("records", totals.records)
    yield _one("batches", totals.batches)
    yield _by("phase_seconds", totals.phase_s)
    yield _by("ledger_records", totals.ledger)
    yield _by("ledger_xor", _low(totals.ledger_xor))
    yield _by("ledger_sum", _low(totals.ledger_sum))
    yield _one("ledger_mismatch", totals.ledger_mismatch)
    yield _one("arrived_records", totals.arrived)
    yield _one("missing_records", totals.missing)
    yield _one("skipped_records", totals.skipped)
    yield _one("late_records", totals.late)
    yield _one("dead_letters", totals.dead_letters)
    yield _one("record_latency_clipped", totals.clipped)
    if totals.batches:
        figure = BY_NAME["record_latency_seconds"]
        family = HistogramMetricFamily(PREFIX + figure.name, figure.help)
        family.add_metric([], _buckets(totals.latency_buckets), totals.latency_sum_s)
        yield family


def _low(values: Mapping[str, int]) -> dict[str, float]:
    return {side: float(value & SHOWN) for side, value in values.items()}


def _buckets(counts: list[float]) -> list[tuple[str, float]]:
    bounds = [str(bound) for bound in LATENCY_BUCKETS_S] + ["+Inf"]
    total, cumulated = 0.0, []
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        cumulated.append((bound, round(total, 6)))
    return cumulated
