"""Signals of all pipelines, from the answers of Prometheus.

An instant query hides how old a sample is, so age is judged by the exported heartbeat. Only the
series of the driver's own pod count: anybody who may make pods can give one a pipeline's labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.api.figures import DRIVER, PREFIX
from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.errors import UnavailableError
from trimtab.ports import MetricSource, Sample
from trimtab.reconcile.observe.executor_pods import Name
from trimtab.reconcile.observe.queries import (
    AS_THEY_STAND,
    EXECUTOR_MEMORY,
    MAX_SERIES,
    NO_MATCHERS,
    queries,
)
from trimtab.reconcile.observe.targets import Target, speaks
from trimtab.tuning.snapshot import STALE_SCRAPES, Batch, Signals

_OWN_LABELS = tuple(dict.fromkeys(label for figure in DRIVER for label in figure.labels))
"""Labels that tell the series of a figure apart."""

_HEARTBEAT = "heartbeat_timestamp_seconds"
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
    strangers: frozenset[Name] = frozenset()
    """Pipelines whose labels are on series of other pods."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many series were not read, by reason."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there are no signals: a reason and a message."""

    reason: Reason
    words: str


def gather(
    metrics: MetricSource, targets: Mapping[Name, Target], now_s: float, scrape_s: float,
    matchers: Mapping[str, str] = NO_MATCHERS,
) -> Gathered:  # fmt: skip
    """Run every query once; any failure makes everything unknown, as partial data misleads.

    `targets` are the pods of the drivers that run, `matchers` go into every query.
    """
    reading, asked = _Reading(targets), queries(scrape_s, matchers)
    for what, promql in asked.items():
        try:
            samples = metrics.query(promql)
        except UnavailableError as error:
            return Gathered({}, str(error), len(asked))
        for sample in samples:
            reading.take(what, sample)
    return Gathered(
        {name: reading.of(name, _latest_s(now_s, scrape_s)) for name in reading.processes},
        queries=len(asked),
        strangers=frozenset(reading.strangers),
        skipped=reading.skipped,
    )


class _Reading:
    """Sorts the series of all answers by pipeline and driver process."""

    def __init__(self, targets: Mapping[Name, Target]) -> None:
        self._targets = targets
        self._owners = {
            (name[0], pod): name for name, target in targets.items() for pod in target.executors
        }
        self.processes: dict[Name, dict[str, DriverMetrics]] = {}
        """The processes of each pipeline, by instance."""
        self.strangers: set[Name] = set()
        self.skipped: Counter[str] = Counter()
        self._of_pods: dict[Name, DriverMetrics] = {}

    def take(self, what: str, sample: Sample) -> None:
        """Keep a series, if it is that of a driver's pod."""
        if what == EXECUTOR_MEMORY:
            self._take_memory(sample)
            return
        labels = sample.labels
        name = labels.get("namespace", ""), labels.get("pipeline", "")
        metric = labels.get("__name__", "").removeprefix(PREFIX) if what == "gauges" else what
        if not all(name) or (what == "gauges" and metric not in AS_THEY_STAND):
            self.skipped["unlabelled"] += 1
            return
        if name not in self._targets:
            self.skipped["no_driver"] += 1
            return
        own = "/".join(labels[k] for k in _OWN_LABELS if k in labels)
        if not speaks(labels, self._targets[name]):
            self.skipped["other_pod"] += 1
            self.strangers.add(name)
            return
        processes = self.processes.setdefault(name, {})
        seen = processes.setdefault(labels.get("instance", ""), DriverMetrics())
        seen.values[metric, own] = sample.value

    def _take_memory(self, sample: Sample) -> None:
        """Keep what a kubelet says of an executor; of several of a pipeline, the largest counts."""
        labels = sample.labels
        name = self._owners.get((labels.get("namespace", ""), labels.get("pod", "")))
        if name is None:
            self.skipped["no_executor"] += 1
            return
        values = self._of_pods.setdefault(name, DriverMetrics()).values
        values[EXECUTOR_MEMORY, ""] = max(sample.value, values.get((EXECUTOR_MEMORY, ""), 0.0))

    def of(self, name: Name, latest_s: float) -> DriverMetrics:
        """The metrics of a pipeline's driver.

        A pod that was replaced has the name of its successor for as long as Prometheus remembers
        it: the one at the pod's address counts, else the one with the newest heartbeat.
        """
        target = self._targets[name]

        def rank(instance: str) -> tuple[bool, float]:
            beat = self.processes[name][instance].number(_HEARTBEAT)
            return target.at(instance), beat if beat is not None and beat <= latest_s else 0.0

        seen = self.processes[name][max(sorted(self.processes[name]), key=rank)]
        if name in self._of_pods:
            seen.values.update(self._of_pods[name].values)
        return seen


def _latest_s(now_s: float, scrape_s: float) -> float:
    """Up to when a heartbeat is believed: clocks differ."""
    return now_s + STALE_SCRAPES * scrape_s


LATENCY = {False: "batch_record_latency_seconds", True: "batch_wait_seconds"}
"""The figure of the latency: from a record's timestamp, or from when the broker had it."""


def signals(
    seen: DriverMetrics | None, quantile: float, now_s: float, scrape_s: float,
    *, by_broker: bool = False,
) -> Signals | Missing:  # fmt: skip
    """The signals of one pipeline, or why there are none.

    `by_broker`: latency counts from when a record was in Kafka, instead of from its timestamp.
    """
    if seen is None:
        return Missing(Reason.NO_METRICS, "Prometheus has no series of this pipeline's driver")
    if (series := seen.whole("crowded")) is not None:
        words = f"the driver has {series} series, and trimtab reads at most {MAX_SERIES} of one"
        return Missing(Reason.NO_METRICS, f"{words}: does something else export metrics there?")
    beat = seen.number(_HEARTBEAT)
    if beat is None or now_s - beat > STALE_SCRAPES * scrape_s:
        age = "never" if beat is None else f"{now_s - beat:.0f} s ago"
        return Missing(Reason.METRICS_STALE, f"the driver's last heartbeat was {age}")
    if beat > _latest_s(now_s, scrape_s):
        words = f"the driver's heartbeat is {beat - now_s:.0f} s in the future: its clock is wrong"
        return Missing(Reason.METRICS_STALE, f"{words}, or the operator's")
    return Signals(
        sampled_at_s=beat,
        settings_generation=seen.whole("settings_generation") or 0,
        rejected_generation=seen.whole("settings_rejected_generation") or 0,
        batch=_batch(seen, LATENCY[by_broker], quantile),
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


def _batch(seen: DriverMetrics, latency: str, quantile: float) -> Batch | None:
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
        latency_s=seen.number(latency, f"{quantile:g}"),
    )
