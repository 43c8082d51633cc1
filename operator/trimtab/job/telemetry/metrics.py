"""The driver's state as Prometheus metrics; docs/metrics.md lists names, types and units.

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

from trimtab.api.knobs import KNOBS, MIN_PARTITIONS, SCOPE
from trimtab.job.batches.ledger import SHOWN
from trimtab.job.executors.locality import wait_is_inert
from trimtab.job.telemetry.driver_state import (
    LATENCY_BUCKETS_S,
    NEW,
    OLD,
    CommittedBatch,
    DriverState,
    JvmTotals,
    Totals,
)

PREFIX = "trimtab_"


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
                *_lag(driver),
                *_calls(driver),
                *_totals(driver.totals),
                *(_last(driver.last) if driver.last else ()),
                _gauge("sink_ratio", "Writing per time of the last timed batch", driver.sink_share),
            ]
        return [family for family in families if family.samples]


def _gauge(name: str, help_text: str, value: float | bool | None) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, help_text)
    if value is not None:
        family.add_metric([], float(value))
    return family


def _gauges(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _counter(name: str, help_text: str, value: float | None) -> Metric:
    family = CounterMetricFamily(PREFIX + name, help_text)
    if value is not None:
        family.add_metric([], value)
    return family


def _counters(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(PREFIX + name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _settings(driver: DriverState) -> Iterator[Metric]:
    yield _gauge("settings_generation", "Settings applied", driver.settings_generation)
    yield _gauge("settings_rejected_generation", "Settings refused", driver.rejected_generation)
    yield _gauge("run_number", "Starts of the query since the first one", driver.run_number)
    yield _gauge(
        "heartbeat_timestamp_seconds", "When the driver was last seen alive", driver.heartbeat
    )
    words = GaugeMetricFamily(
        PREFIX + "effective", "The value of a knob that is in force", labels=["knob", "value"]
    )
    for knob, value in driver.effective.items():
        words.add_metric([knob, KNOBS[knob].format(value)], 1)
    yield words
    yield _gauges(
        "effective_number",
        "The value of a knob that is in force; durations in seconds",
        "knob",
        driver.effective,
    )
    if driver.lag:
        knobs = driver.effective
        scope, tasks = knobs.get(SCOPE.name), knobs.get(MIN_PARTITIONS.name)
        inert = wait_is_inert(scope, tasks, len(driver.lag))
        yield _gauges("locality_places", "Where partitions are led", "scope", driver.places)
        yield _gauge("locality_wait_inert", "1 when minPartitions leaves no near executor", inert)


def _running(driver: DriverState, now: float) -> Iterator[Metric]:
    if driver.run_number is None:
        return
    running = driver.running
    seconds = max(0.0, now - running.since) if running else 0.0
    yield _gauge("batch_running_seconds", "Age of the batch under way", seconds)
    records = running.records if running else 0
    yield _gauge("batch_running_records", "Records of the batch under way", records)
    again = running.replays if running else 0
    yield _gauge("batch_running_replays", "How often that batch has begun again", again)
    yield _gauge("batch_running_id", "The batch under way", running.batch_id if running else None)
    fewest = running.executors_min if running else None
    timed = float(running.timed) if running else None
    yield _gauge("batch_running_timed", "1 when it is worked out before it is written", timed)
    yield _gauge("batch_running_executors_min", "Fewest executors since it began", fewest)


def _last(batch: CommittedBatch) -> Iterator[Metric]:
    report = batch.report
    yield _gauge("batch_id", "The last committed batch", report.batch_id)
    yield _gauge("batch_committed_timestamp_seconds", "When it was committed", report.committed_at)
    yield _gauge("batch_records", "Records of the last batch", report.records)
    yield _gauge("batch_bytes", "Bytes of their keys and values", report.bytes)
    yield _gauges("batch_duration_seconds", "Its duration by phase", "phase", report.phases)
    yield _gauge(
        "batch_settings_generation",
        "Settings in force during the whole last batch",
        batch.settings_generation,
    )
    yield _gauge("batch_executors_min", "Fewest executors in the last batch", batch.executors_min)
    yield _gauge("batch_replayed", "1 when it ran an old range again", batch.replayed)
    yield _gauge("batch_timed", "1 when it was worked out before it was written", batch.timed)
    yield _gauge("batch_limit_binding", "1 when maxOffsetsPerTrigger cut it", report.limit_binding)
    if report.latency is not None:
        ages = {str(quantile): age for quantile, age in report.latency.quantiles.items()}
        yield _gauges(
            "batch_record_latency_seconds",
            "Kafka timestamp to commit, last batch",
            "quantile",
            ages,
        )
    if report.state is not None:
        yield _gauge("state_rows", "Rows in the state", report.state.rows)
        yield _gauge("state_bytes", "Memory of the state", report.state.bytes)
        yield _gauge("state_commit_seconds", "State commit, last batch", report.state.commit_s)


def _executors(driver: DriverState) -> Iterator[Metric]:
    states = driver.executors
    if states is not None:
        by_state = {
            "requested": states.requested,
            "running": states.running,
            "pending": states.pending,
            "decommissioning": states.decommissioning,
        }
        yield _gauges("executors", "Executors by state", "state", by_state)
    if driver.load is not None:
        yield _gauge("slots_busy_ratio", "Task slots in use", driver.load.slots_busy)
        yield _gauge("gc_ratio", "Garbage collection per task time", driver.load.gc)
        yield _gauge("cpu_ratio", "Time on a CPU per task time", driver.load.cpu)
        yield _gauge("heap_used_ratio", "Fullest heap of an executor", driver.load.heap)
        executors = driver.load.executors
        loads = {name: measured.load for name, measured in executors.items()}
        yield _gauges("executor_load", "Slots in use or waited for", "executor", loads)
        capacities = {
            name: measured.capacity
            for name, measured in executors.items()
            if measured.capacity is not None
        }
        yield _gauges("executor_capacity", "Task time per slot time", "executor", capacities)


def _jvms(jvms: Mapping[str, JvmTotals]) -> Iterator[Metric]:
    """Collections and heaps by role; divided by `jvm_seconds` they are rates per JVM."""
    seconds = {role: jvm.seconds for role, jvm in jvms.items()}
    yield _counters("jvm_seconds", "Time of the JVMs that were watched", "role", seconds)
    labels = ["role", "generation"]
    count = CounterMetricFamily(PREFIX + "jvm_collections", "Collections", labels=labels)
    taken = CounterMetricFamily(PREFIX + "jvm_collection_seconds", "Their time", labels=labels)
    names = GaugeMetricFamily(PREFIX + "jvm_collector", "Is 1", labels=["role", "collector"])
    for role, jvm in jvms.items():
        for generation in (NEW, OLD):
            count.add_metric([role, generation], jvm.count[generation])
            taken.add_metric([role, generation], jvm.collecting_s[generation])
        if jvm.collector:
            names.add_metric([role, jvm.collector], 1)
    yield from (count, taken, names)
    limits = {role: float(jvm.heap_limit) for role, jvm in jvms.items()}
    yield _gauges("jvm_heap_limit_bytes", "The most that a heap may be", "role", limits)
    peaks = {role: float(jvm.heap_peak) for role, jvm in jvms.items() if jvm.heap_peak}
    yield _gauges("jvm_heap_peak_bytes", "The fullest that one was", "role", peaks)
    live = {r: float(jvm.live_bytes) for r, jvm in jvms.items() if jvm.live_bytes is not None}
    yield _gauges("jvm_heap_live_bytes", "Left by the last old-gen collection", "role", live)
    sizes = {r: float(jvm.new_bytes) for r, jvm in jvms.items() if jvm.new_bytes is not None}
    yield _gauges("jvm_new_generation_bytes", "Its size where it was set", "role", sizes)
    allocated = {r: b for r, jvm in jvms.items() if (b := jvm.allocated_bytes) is not None}
    yield _counters("jvm_allocated_bytes", "Bytes allocated, about", "role", allocated)


def _lag(driver: DriverState) -> Iterator[Metric]:
    labels = ["topic", "partition"]
    records = GaugeMetricFamily(PREFIX + "lag_records", "Records not committed", labels=labels)
    seconds = GaugeMetricFamily(
        PREFIX + "lag_seconds", "Age of the oldest record not committed", labels=labels
    )
    written = CounterMetricFamily(
        PREFIX + "partition_input", "Records written to the partition", labels=labels
    )
    for (topic, partition), lag in (driver.lag or {}).items():
        key = [topic, str(partition)]
        written.add_metric(key, lag.end)
        if lag.records is not None:
            records.add_metric(key, lag.records)
        if lag.seconds is not None:
            seconds.add_metric(key, lag.seconds)
    yield from (records, seconds, written)


def _calls(driver: DriverState) -> Iterator[Metric]:
    """Stages of calls: in the last batch, and in total since the driver started."""
    most = {stage: called.most for stage, called in driver.calls.items()}
    yield _gauges("pending_calls", "Most calls under way at once, last batch", "stage", most)
    mean = {s: called.seconds / called.count for s, called in driver.calls.items() if called.count}
    yield _gauges("batch_pending_call_seconds", "Mean of a call, last batch", "stage", mean)
    seconds = SummaryMetricFamily(PREFIX + "pending_call_seconds", "Calls", labels=["stage"])
    totals = driver.totals
    for stage, count in totals.calls.items():
        seconds.add_metric([stage], count_value=count, sum_value=totals.call_s[stage])
    yield seconds
    yield _counters(
        "pending_call_errors", "Calls that failed or were given up", "stage", totals.call_errors
    )


def _totals(totals: Totals) -> Iterator[Metric]:
    yield _counters("pause_seconds", "Time without commits by changes", "how", totals.pause_s)
    yield _counters("changes", "Changes applied", "how", totals.changes)
    yield _counters("task_locality", "Tasks by Spark's locality level", "level", totals.localities)
    yield _counter("unclean_stops", "Stops in mid-batch", totals.unclean_stops)
    yield _counter("records", "Records committed", totals.records)
    yield _counter("batches", "Batches committed", totals.batches)
    yield _counters("phase_seconds", "Time in batches by phase", "phase", totals.phase_s)
    yield _counters("ledger_records", "Records read and handed on", "side", totals.ledger)
    yield _gauges("ledger_xor", "Of the records' identities", "side", _low(totals.ledger_xor))
    yield _gauges("ledger_sum", "Of the records' identities", "side", _low(totals.ledger_sum))
    yield _counter(
        "ledger_mismatch", "Records read but not handed on, or the reverse", totals.ledger_mismatch
    )
    yield _counter("record_latency_clipped", "Records from a clock ahead of ours", totals.clipped)
    if totals.batches:
        family = HistogramMetricFamily(PREFIX + "record_latency_seconds", "Record to commit")
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
