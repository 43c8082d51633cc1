"""The Flink autoscaler as an opponent: its own engine, version 1.10.0, fed from our signals.

Source: org.apache.flink:flink-autoscaler:1.10.0, Apache-2.0; options and defaults are those of
config/AutoScalerOptions.java at release-1.10.0 of apache/flink-kubernetes-operator. Collector,
evaluator and scaler are theirs; we supply what a Flink job would have exported.

The pipeline is a job with one source vertex whose parallelism is the number of executors:

- A micro-batch that has read its records has not processed them. So the vertex counts a record as
  in when it is done, in the running batch at the pace of the last one; all others are pending.
  Records in and pending records add up to what arrived, as they do with a Kafka source.
- Busy is the share of time in a batch, including its overhead: the same useful time that DS2 has in
  `ds2.py`. Records in over busy is then the capacity of the executors.
- Flink's gauges average over a minute (TimerGauge and MeterView), and start again with the job.
- A change restarts a Flink job. Here it runs again once the requested executors run, which is the
  only cost in the plant. While executors are missing it is not running, and is not scaled.

A Kafka source reports its partitions, and Flink rounds up to one of their divisors if the limits
allow it, else down; with `partitions_known` false they are not reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from bench.peers.controller import Limits
from bench.peers.flink_jvm import Seen
from bench.peers.window import Period, Window

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

PREFIX = "job.autoscaler."


def _option(name: str, default: float) -> Any:
    return field(default=default, metadata={"option": PREFIX + name})


@dataclass(frozen=True, slots=True)
class Parameters:
    """Flink's options and defaults, those with `_s` in seconds; then those of our glue."""

    metrics_window_s: float = _option("metrics.window", 900)
    stabilization_interval_s: float = _option("stabilization.interval", 300)
    scale_down_interval_s: float = _option("scale-down.interval", 3600)
    target_utilization: float = _option("target.utilization", 0.7)
    target_utilization_boundary: float = _option("target.utilization.boundary", 0.3)
    catch_up_duration_s: float = _option("catch-up.duration", 1800)
    restart_time_s: float = _option("restart.time", 300)
    """Expected seconds of a restart; a change of this plant takes `live_s`, 5 s by default."""
    scale_up_max_factor: float = _option("scale-up.max-factor", 100_000)
    scale_down_max_factor: float = _option("scale-down.max-factor", 0.6)
    backlog_processing_lag_threshold_s: float = _option("backlog-processing.lag-threshold", 300)
    control_loop_interval_s: float = 10
    """Default of the standalone autoscaler; the loop of Flink's operator takes a minute."""
    gauge_span_s: float = 60
    partitions_known: bool = True

    def options(self, limits: Limits) -> dict[str, str]:
        """The engine's configuration."""
        given = {
            f.metadata["option"]: _text(f.name, getattr(self, f.name))
            for f in fields(self)
            if f.metadata
        }
        return given | {
            f"{PREFIX}enabled": "true",
            f"{PREFIX}vertex.min-parallelism": str(limits.least),
            f"{PREFIX}vertex.max-parallelism": str(limits.most),
        }


def _text(name: str, value: float) -> str:
    return f"{round(value * 1000)} ms" if name.endswith("_s") else str(value)


class Engine(Protocol):
    """What the JVM must provide; `flink_jvm.Engine` does."""

    def begin(self, options: dict[str, str]) -> int:
        """Start a job and return its number."""
        ...

    def scale(self, job: int, seen: Seen) -> int:
        """The parallelism that the job should have."""
        ...


class Records:
    """Processed and waiting records, from rates and lag; all in records."""

    def __init__(self) -> None:
        self.at_s = 0.0
        self.arrived: float | None = None
        self.done, self.pending = 0.0, 0.0

    def add(self, signals: Signals) -> None:
        """Add a scrape with a known lag."""
        lag = signals.lag_records or 0.0
        if self.arrived is None:
            self.arrived = lag
        else:
            self.arrived += (signals.input_rate or 0.0) * (signals.sampled_at_s - self.at_s)
        self.at_s = signals.sampled_at_s
        self.pending = max(0.0, lag - under_way(signals))
        self.done = max(self.done, self.arrived - self.pending)


def under_way(signals: Signals) -> float:
    """Records of the running batch that are done, at each executor's pace in the last batch."""
    last = signals.batch
    if not last or not last.executors_min or last.duration_s <= 0:
        return 0.0
    each = last.records / last.duration_s / last.executors_min
    pace = each * (signals.executors_running or last.executors_min)
    return min(signals.running_records, signals.running_s * pace)


class Flink:
    """One job under one engine."""

    def __init__(self, limits: Limits, parameters: Parameters, engine: Engine) -> None:
        self.limits, self.parameters, self.engine = limits, parameters, engine
        self.job = engine.begin(parameters.options(limits))
        self.period = Period(parameters.control_loop_interval_s)
        self.records = Records()
        self.restarting = False
        self.running_since_s = 0.0
        self._new_gauges()

    def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
        """Run the engine's loop once on the newest scrape, at the time of the scrape."""
        if signals is None or signals.lag_records is None or signals.slots_busy is None:
            return settings
        if signals.sampled_at_s <= self.records.at_s:
            return settings
        self.records.add(signals)
        if not self._running(signals, settings):
            return settings
        self.busy.add(signals.sampled_at_s, signals)
        rate = self._rate(signals.sampled_at_s)
        if not self.period.due(now_s) or rate is None:
            return settings
        target = self.engine.scale(self.job, self._seen(signals, rate))
        self.restarting = target != settings.executors
        return replace(settings, executors=target)

    def _running(self, signals: Signals, settings: Settings) -> bool:
        """Whether the job runs; records when it began to."""
        if signals.executors_running != settings.executors:
            self.restarting = True
            return False
        if self.restarting:
            self.restarting, self.running_since_s = False, signals.sampled_at_s
            self._new_gauges()
        return True

    def _new_gauges(self) -> None:
        self.busy = Window(self.parameters.gauge_span_s)
        self.counts: list[tuple[float, float]] = []

    def _rate(self, at_s: float) -> float | None:
        """Records/s processed over the span of a gauge; None with fewer than two scrapes."""
        begin_s = at_s - self.parameters.gauge_span_s
        self.counts.append((at_s, self.records.done))
        while len(self.counts) > 2 and self.counts[1][0] <= begin_s:
            self.counts.pop(0)
        first_s, first = self.counts[0]
        return (self.records.done - first) / (at_s - first_s) if at_s > first_s else None

    def _seen(self, signals: Signals, rate: float) -> Seen:
        busy = self.busy.mean(lambda s: s.slots_busy) or 0.0
        known = self.parameters.partitions_known and signals.partitions
        return Seen(
            now_ms=round(signals.sampled_at_s * 1000),
            running_since_ms=round(self.running_since_s * 1000),
            parallelism=signals.executors_running or 0,
            max_parallelism=self.limits.most,
            partitions=known or 0,
            records_in=self.records.done,
            records_in_per_s=rate,
            busy_ms_per_s=1000 * busy,
            pending_records=self.records.pending,
        )
