"""The signals of one pipeline, from the metrics of its driver.

An instant query hides how old a sample is, so age is judged by the exported heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.api.knobs import FETCH_MAX, FETCH_PARTITION, How
from trimtab.api.reasons import Reason
from trimtab.reconcile.observe.gather import HEARTBEAT, DriverMetrics, latest_s
from trimtab.reconcile.observe.queries import MAX_SERIES
from trimtab.tuning.snapshot import STALE_SCRAPES, Batch, Signals

_OVERHEAD_PHASES = ("planning", "latest_offset", "wal", "state_commit")


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there are no signals: a reason and a message."""

    reason: Reason
    words: str


LATENCY = {False: "batch_record_latency_seconds", True: "batch_wait_seconds"}
"""The figure of the latency: from a record's timestamp, or from when the broker had it."""


def signals(
    seen: DriverMetrics | None, quantile: float, now_s: float, scrape_s: float,
    *, by_broker: bool = False,
) -> Signals | Missing:  # fmt: skip
    """The signals of one pipeline, or why there are none; `by_broker` as in `Policy`."""
    if seen is None:
        return Missing(Reason.NO_METRICS, "Prometheus has no series of this pipeline's driver")
    beat = _heartbeat(seen, now_s, scrape_s)
    if isinstance(beat, Missing):
        return beat
    return Signals(
        sampled_at_s=beat,
        settings_generation=seen.whole("settings_generation") or 0,
        rejected_generation=seen.whole("settings_rejected_generation") or 0,
        batch=_batch(seen, LATENCY[by_broker], quantile),
        waits_in=_largest(seen.by("source_lag_records")),
        real_time=_truth(seen.number("real_time")),
        running_s=seen.number("batch_running_seconds") or 0.0,
        running_records=seen.whole("batch_running_records") or 0,
        running_id=seen.whole("batch_running_id"),
        running_replays=seen.whole("batch_running_replays") or 0,
        running_timed=bool(seen.number("batch_running_timed")),
        running_executors_min=seen.whole("batch_running_executors_min"),
        **_input_rates(seen),
        **_waiting(seen),
        start_backlog=seen.whole("start_backlog_records"),
        partitions=seen.whole("partitions"),
        partition_bytes=_share(seen.number("batch_bytes"), seen.number("partitions")),
        fetch_bytes=_fetch_bytes(seen),
        waves=True,  # Spark runs a task whole, on one slot
        executors_running=seen.whole("executors", "running"),
        executors_pending=seen.whole("executors", "pending"),
        raised_to=seen.whole("reflex_executors"),
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
        scope_load={scope: v for (name, scope), v in seen.values.items() if name == "scope_load"},
        state_rows=seen.number("state_rows"),
        **_calls(seen),
        pause_s={how: pause_s for how in How if (pause_s := _pause_s(seen, how)) is not None},
    )


def _input_rates(seen: DriverMetrics) -> dict[str, float | None]:
    over = ("", "_long", "_2m", "_4m", "_15m")
    return {f"input_rate{span}": seen.number(f"input_rate{span}") for span in over}


def _waiting(seen: DriverMetrics) -> dict[str, float | None]:
    """What is not yet read, how old it is, and how long it may wait."""
    return {
        "lag_records": seen.number("lag_records"),
        "lag_s": seen.number("lag_s"),
        "expires_s": seen.number("retention_deadline_seconds"),
        "kept_s": seen.number("retention_seconds"),
    }


def _heartbeat(seen: DriverMetrics, now_s: float, scrape_s: float) -> float | Missing:
    """When the driver was last alive, or why its metrics cannot be believed."""
    if (series := seen.whole("crowded")) is not None:
        words = f"the driver has {series} series, and trimtab reads at most {MAX_SERIES} of one"
        return Missing(Reason.NO_METRICS, f"{words}: does something else export metrics there?")
    beat = seen.number(HEARTBEAT)
    if beat is None or now_s - beat > STALE_SCRAPES * scrape_s:
        age = "never" if beat is None else f"{now_s - beat:.0f} s ago"
        return Missing(Reason.METRICS_STALE, f"the driver's last heartbeat was {age}")
    if beat > latest_s(now_s, scrape_s):
        words = f"the driver's heartbeat is {beat - now_s:.0f} s in the future: its clock is wrong"
        return Missing(Reason.METRICS_STALE, f"{words}, or the operator's")
    return beat


def _fetch_bytes(seen: DriverMetrics) -> float | None:
    sizes = [seen.number("effective_number", knob.name) for knob in (FETCH_PARTITION, FETCH_MAX)]
    return min((size for size in sizes if size is not None), default=None)


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


def _truth(number: float | None) -> bool | None:
    return None if number is None else bool(number)


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


def _largest(values: Mapping[str, float]) -> str | None:
    return max(values, key=lambda name: values[name], default=None)


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
        slowest_sink=_largest(seen.by("sink_write_seconds")),
        state_s=_sum(seen, "state_commit"),
        latency_s=seen.number(latency, f"{quantile:g}"),
    )
