"""Signals of all pipelines from a constant number of grouped PromQL queries.

An instant query hides how old a sample is, so age is judged by the exported heartbeat. Of a
pipeline's instances, only the series of the driver process with the newest heartbeat count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.api.figures import DRIVER, PREFIX, Reader
from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.errors import UnavailableError
from trimtab.ports import MetricSource, Sample
from trimtab.reconcile.observe.executor_pods import Name, Owners
from trimtab.sizing.jvm import WATCHED_S
from trimtab.tuning.snapshot import STALE_SCRAPES, Batch, Signals, long_window_s

_AS_THEY_STAND = tuple(figure.series for figure in DRIVER if figure.reader is Reader.TUNER)

_BY = "sum by (namespace, pipeline, instance)"
_OWN_LABELS = tuple(dict.fromkeys(label for figure in DRIVER for label in figure.labels))
"""Labels that tell the series of a figure apart."""

EXECUTOR_MEMORY = "executor_memory"
"""The query whose series know a pod and no pipeline."""

_OVERHEAD_PHASES = ("planning", "latest_offset", "wal", "state_commit")


@dataclass(slots=True)
class DriverMetrics:
    """All metrics of one driver process, by name and label value."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)

    def number(self, name: str, label: str = "") -> float | None:
        """One value; None if it is not exported."""
        return self.values.get((name, label))

    def whole(self, name: str, label: str = "") -> int | None:
        """The same as an int."""
        value = self.number(name, label)
        return None if value is None else int(value)


@dataclass(frozen=True, slots=True)
class Gathered:
    """One tick's answers: the metrics by pipeline, or why there are none at all."""

    metrics: Mapping[Name, DriverMetrics]
    failure: str = ""
    queries: int = 0


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there are no signals: a reason and a message."""

    reason: Reason
    words: str


def queries(scrape_s: float) -> dict[str, str]:
    """The PromQL of one tick, by what it yields; their number does not depend on what runs."""
    names = "|".join(_AS_THEY_STAND)
    total, latency = "trimtab_partition_input_total", "trimtab_batch_record_latency_seconds"
    minute_s, tasks = long_window_s(scrape_s), "trimtab_task_locality_total"
    return {
        "gauges": f'{{__name__=~"{PREFIX}({names})"}}',
        "input_rate": f"{_BY} (irate({total}[{4 * scrape_s:g}s]))",
        "input_rate_long": f"{_BY} (rate({total}[{minute_s:g}s]))",
        "hottest_rate": f"max by (namespace, pipeline, instance) (rate({total}[{minute_s:g}s]))",
        "partitions": f"count by (namespace, pipeline, instance) ({total})",
        "lag_records": f"{_BY} (trimtab_lag_records)",
        "lag_s": "max by (namespace, pipeline, instance) (trimtab_lag_seconds)",
        "executor_load": "avg by (namespace, pipeline, instance) (trimtab_executor_load)",
        "executor_capacity": "avg by (namespace, pipeline, instance) (trimtab_executor_capacity)",
        "least_capacity": "min by (namespace, pipeline, instance) (trimtab_executor_capacity)",
        "most_capacity": "max by (namespace, pipeline, instance) (trimtab_executor_capacity)",
        "tasks": f"{_BY} (rate({tasks}[{minute_s:g}s]))",
        "tasks_near": f'{_BY} (rate({tasks}{{level=~"PROCESS_LOCAL|NODE_LOCAL"}}[{minute_s:g}s]))',
        **_jvm_queries(),
        EXECUTOR_MEMORY: _executor_memory(),
        "worst_latency": "max by (namespace, pipeline, instance, quantile)"
        f" (max_over_time({latency}[{minute_s:g}s]))",
    }


def _jvm_queries() -> dict[str, str]:
    """How much the JVMs recently collected and allocated, by role and generation."""
    by = "sum by (namespace, pipeline, instance, role, generation)"
    counters = {
        "jvm_seconds": "seconds", "jvm_collections": "collections",
        "jvm_collection_s": "collection_seconds", "jvm_allocated": "allocated_bytes",
    }  # fmt: skip
    return {
        what: f"{by} (increase(trimtab_jvm_{name}_total[{WATCHED_S:g}s]))"
        for what, name in counters.items()
    }


def _executor_memory() -> str:
    """The recent peak memory of each executor's pod, as the kubelets report it."""
    held = 'container_memory_working_set_bytes{container="spark-kubernetes-executor"}'
    return f"max by (namespace, pod) (max_over_time({held}[{WATCHED_S:g}s]))"


def gather(metrics: MetricSource, scrape_s: float, pods: Owners) -> Gathered:
    """Run every query once; any failure makes everything unknown, as partial data misleads.

    `pods` are the executors whose memory counts.
    """
    by_instance: dict[tuple[str, str, str], DriverMetrics] = {}
    asked = queries(scrape_s)
    for what, promql in asked.items():
        try:
            samples = metrics.query(promql)
        except UnavailableError as error:
            return Gathered({}, str(error), len(asked))
        for sample in samples:
            _take(by_instance, what, _owned(sample, pods) if what == EXECUTOR_MEMORY else sample)
    newest: dict[Name, tuple[float, DriverMetrics]] = {}
    for (namespace, pipeline, _), seen in by_instance.items():
        beat = seen.number("heartbeat_timestamp_seconds")
        if beat is not None and beat > newest.get((namespace, pipeline), (0.0, seen))[0]:
            newest[namespace, pipeline] = (beat, seen)
    for name, (_, seen) in newest.items():
        if (of_pods := by_instance.get((*name, ""))) is not None:
            seen.values.update(of_pods.values)
    return Gathered({name: seen for name, (_, seen) in newest.items()}, "", len(asked))


def _owned(sample: Sample, pods: Owners) -> Sample:
    """The sample of a pod with the label of its pipeline; unchanged if the pod is not known."""
    place = sample.labels.get("namespace", ""), sample.labels.get("pod", "")
    if place not in pods:
        return sample
    return Sample({"namespace": place[0], "pipeline": pods[place]}, sample.value)


def _take(
    by_instance: dict[tuple[str, str, str], DriverMetrics], what: str, sample: Sample
) -> None:
    labels = sample.labels
    if "pipeline" not in labels:
        return
    key = (labels.get("namespace", ""), labels["pipeline"], labels.get("instance", ""))
    seen = by_instance.setdefault(key, DriverMetrics())
    own = "/".join(labels[k] for k in _OWN_LABELS if k in labels)
    if what != "gauges":
        # of several pods of one pipeline, the largest
        seen.values[what, own] = max(sample.value, seen.values.get((what, own), sample.value))
        return
    seen.values[labels["__name__"].removeprefix(PREFIX), own] = sample.value


def signals(
    seen: DriverMetrics | None, quantile: float, now_s: float, scrape_s: float
) -> Signals | Missing:
    """The signals of one pipeline, or why there are none."""
    if seen is None:
        return Missing(Reason.NO_METRICS, "Prometheus has no series of this pipeline's driver")
    beat = seen.number("heartbeat_timestamp_seconds")
    if beat is None or now_s - beat > STALE_SCRAPES * scrape_s:
        age = "never" if beat is None else f"{now_s - beat:.0f} s ago"
        return Missing(Reason.METRICS_STALE, f"the driver's last heartbeat was {age}")
    return Signals(
        sampled_at_s=beat,
        settings_generation=seen.whole("settings_generation") or 0,
        rejected_generation=seen.whole("settings_rejected_generation") or 0,
        batch=_batch(seen, quantile),
        running_s=seen.number("batch_running_seconds") or 0.0,
        running_records=seen.whole("batch_running_records") or 0,
        running_id=seen.whole("batch_running_id"),
        running_replays=seen.whole("batch_running_replays") or 0,
        running_timed=bool(seen.number("batch_running_timed")),
        running_executors_min=seen.whole("batch_running_executors_min"),
        input_rate=seen.number("input_rate"),
        input_rate_long=seen.number("input_rate_long"),
        lag_records=seen.number("lag_records"),
        lag_s=seen.number("lag_s"),
        partitions=seen.whole("partitions"),
        waves=True,  # Spark runs a task whole, on one slot
        executors_running=seen.whole("executors", "running"),
        executors_pending=seen.whole("executors", "pending"),
        slots_busy=seen.number("slots_busy_ratio"),
        cpu_ratio=seen.number("cpu_ratio"),
        gc_ratio=seen.number("gc_ratio"),
        heap_used=seen.number("heap_used_ratio"),
        out_of_sync=seen.whole("partitions_out_of_sync"),
        beyond_end=seen.whole("partitions_beyond_end"),
        hottest_share=_share(seen.number("hottest_rate"), seen.number("input_rate_long")),
        executor_load=seen.number("executor_load"),
        executor_capacity=seen.number("executor_capacity"),
        capacity_spread=_pair(seen.number("least_capacity"), seen.number("most_capacity")),
        remote_share=_away(seen.number("tasks_near"), seen.number("tasks")),
        places={s: int(v) for (name, s), v in seen.values.items() if name == "locality_places"},
        state_rows=seen.number("state_rows"),
        **_calls(seen),
        pause_s={how: pause_s for how in How if (pause_s := _pause_s(seen, how)) is not None},
    )


def _pair(least: float | None, most: float | None) -> tuple[float, float] | None:
    return None if least is None or most is None else (least, most)


def _away(near: float | None, tasks: float | None) -> float | None:
    """Share of the tasks that did not run near their data."""
    return 1 - (near or 0.0) / tasks if tasks else None


def _calls(seen: DriverMetrics) -> dict[str, float | None]:
    """Calls in flight of the stage that has the most, and how long one of its calls takes."""
    by_stage = {s: v for (name, s), v in seen.values.items() if name == "pending_calls"}
    if not by_stage:
        return {}
    stage = max(sorted(by_stage), key=by_stage.__getitem__)
    call_s = seen.number("batch_pending_call_seconds", stage)
    return {"pending_calls": by_stage[stage], "pending_call_s": call_s}


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _pause_s(seen: DriverMetrics, how: How) -> float | None:
    """Mean pause of this driver's changes so far; None before the first."""
    return _share(seen.number("pause_seconds_total", how), seen.number("changes_total", how))


def _sum(seen: DriverMetrics, *phases: str) -> float | None:
    """Total seconds of some phases of the last batch; None if none of them is exported."""
    known = [seen.number("batch_duration_seconds", phase) for phase in phases]
    return sum(part or 0.0 for part in known) if any(p is not None for p in known) else None


def _sink_s(seen: DriverMetrics) -> float | None:
    """Seconds that the last batch spent writing, by the shares of the last timed batch."""
    share, work_s = seen.number("sink_ratio"), seen.number("batch_duration_seconds", "add_batch")
    return None if share is None or work_s is None else share * work_s


def _batch(seen: DriverMetrics, quantile: float) -> Batch | None:
    known = {
        "run": seen.whole("run_number"),
        "id": seen.whole("batch_id"),
        "committed_at_s": seen.number("batch_committed_timestamp_seconds"),
        "records": seen.whole("batch_records"),
        "duration_s": seen.number("batch_duration_seconds", "total"),
        "settings_generation": seen.whole("batch_settings_generation"),
        "executors_min": seen.whole("batch_executors_min"),
        "since_start": seen.whole("batches_total"),
    }
    if any(value is None for value in known.values()):
        return None
    overhead = (seen.number("batch_duration_seconds", phase) for phase in _OVERHEAD_PHASES)
    return Batch(
        **known,  # type: ignore[arg-type]
        overhead_s=sum(part or 0.0 for part in overhead),
        replayed=bool(seen.number("batch_replayed")),
        planning_s=_sum(seen, "planning", "latest_offset"),
        timed=bool(seen.number("batch_timed")),
        sink_s=_sink_s(seen),
        state_s=_sum(seen, "state_commit"),
        latency_s=seen.number("batch_record_latency_seconds", f"{quantile:g}"),
    )
