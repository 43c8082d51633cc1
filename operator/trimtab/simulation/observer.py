"""What a controller sees of the plant, as `Signals`: scrapes with delay, gaps and noise, or what a
direct read finds at once, over them.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from dataclasses import dataclass, replace

from trimtab.api.knobs import How
from trimtab.simulation.batch_time import Phases
from trimtab.simulation.plant import Plant
from trimtab.simulation.running import BatchRecord, Running
from trimtab.tuning.snapshot import STALE_SCRAPES, Batch, Signals, long_window_s

"""The plant's brokers run on three nodes in three zones."""

LOOKING_BACK = ("input_rate_long", "input_rate_2m", "input_rate_4m", "input_rate_15m")
"""What only Prometheus knows, because it looks back."""

OLDEST_S = 300.0
"""Older samples are invisible."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One scrape, or one direct read."""

    at_s: float
    input_total: float
    busy_s: float
    signals: Signals


class Observer:
    """Stores the scrapes of one run and returns what is visible at a given time."""

    def __init__(self, plant: Plant, name: str, seed: int, quantile: float) -> None:
        self.plant, self.quantile = plant, quantile
        self.config = plant.plant.metrics
        self.noise = random.Random(f"{name}/{seed}/metrics")
        self.samples: list[Sample] = []
        self.read: Sample | None = None
        """The last direct read."""

    def scrape(self) -> None:
        """Take a sample now, if the plant answers."""
        plant = self.plant
        in_gap = any(start <= plant.now_s < end for start, end in self.config.gaps)
        if not in_gap and plant.exporting:
            self.samples.append(self._sample(self.samples[-1] if self.samples else None))

    def _sample(self, since: Sample | None) -> Sample:
        """What the driver exports now, with its rates since another sample."""
        plant = self.plant
        running = plant.running
        waiting = running.start_s if running else plant.now_s
        total = plant.arrivals.total(plant.now_s)
        busy_s = plant.busy_s + (plant.now_s - waiting)
        span_s = plant.now_s - since.at_s if since else plant.now_s
        busy = (busy_s - since.busy_s if since else busy_s) / span_s if span_s > 0 else 0.0
        rate = (total - since.input_total) / span_s if since and span_s > 0 else None
        seen = self._signals(total, rate, min(1.0, max(0.0, busy)))
        return Sample(plant.now_s, total, busy_s, seen)

    def _signals(self, total: float, rate: float | None, busy: float) -> Signals:
        """What the driver exports now, with the input so far, its rate, and the slots in use."""
        plant, running = self.plant, self.plant.running
        batch = plant.batches[-1] if plant.batches else None
        ran = running or batch
        lag_s = plant.now_s - plant.arrivals.time_of(plant.committed) if plant.lag > 1e-6 else 0.0
        return Signals(
            sampled_at_s=plant.now_s,
            settings_generation=plant.generation,
            rejected_generation=0,
            batch=self._batch(),
            running_s=plant.now_s - running.start_s if running else 0.0,
            running_records=round(running.last - running.first) if running else 0,
            running_executors_min=running.executors_min if running else None,
            input_rate=None if rate is None else self._noisy(rate),
            input_rate_long=self._rate(total, long_window_s(self.config.scrape_s)),
            input_rate_2m=self._rate(total, 120),
            input_rate_4m=self._rate(total, 240),
            input_rate_15m=self._rate(total, 900),
            lag_records=self._noisy(plant.lag),
            lag_s=lag_s,
            partitions=plant.partitions,
            partition_bytes=self._partition_bytes(),
            fetch_bytes=plant.plant.fetch.size_bytes,
            waves=plant.plant.waves,
            state_rows=1.0 if self._stateful else None,
            executors_running=plant.executors,
            executors_pending=max(0, plant.fleet.requested - plant.executors),
            raised_to=plant.reflex.raised_to,
            slots_busy=busy,
            cpu_ratio=self._computes(ran.phases) if ran else None,
            gc_ratio=batch.phases.gc_ratio if batch else 0.0,
            hottest_share=self._hottest(),
            pending_calls=self._pending(ran),
            pending_call_s=ran.phases.call_s if ran and ran.phases.call_s else None,
            scope_load=self._scope_load(busy),
            executor_load=busy,
            remote_share=ran.phases.remote_share if ran else None,
            pause_s={How.QUERY: plant.plant.change.query_restart_s} if plant.restarts else {},
        )

    def _scope_load(self, busy: float) -> dict[str, float]:
        """In Process, the executors that hold a partition do all the work."""
        executors = max(1, self.plant.executors)
        holders = min(self.plant.partitions or executors, executors)
        return {"Process": busy * executors / holders, "Any": busy}

    def signals(self, now_s: float) -> Signals | None:
        """The newest visible sample, or None; what is read directly is newer, but for windows."""
        scraped = self._scraped(now_s)
        if scraped is None or self.config.direct_s is None or not self.plant.exporting:
            return scraped
        self.read = self._sample(self.read)
        looking_back = {name: getattr(scraped, name) for name in LOOKING_BACK}
        return replace(self.read.signals, **looking_back)

    def _scraped(self, now_s: float) -> Signals | None:
        """The newest visible scrape, or None."""
        for sample in reversed(self.samples):
            if sample.at_s > now_s - self.config.delay_s:
                continue
            age_s = now_s - sample.at_s
            stale_s = self.config.delay_s + STALE_SCRAPES * self.config.scrape_s
            return None if age_s > min(OLDEST_S, stale_s) else sample.signals
        return None

    @property
    def _stateful(self) -> bool:
        state = self.plant.plant.state
        return bool(state.commit_s or state.per_record_s)

    def _computes(self, phases: Phases) -> float:
        """Share of the tasks' time on a CPU: zero while they wait for the remote service."""
        return 0.0 if phases.remote_binds else self.plant.plant.cpu_share

    def _partition_bytes(self) -> float | None:
        records = self.plant.batches[-1].records if self.plant.batches else 0.0
        return records * self.plant.plant.fetch.record_bytes / self.plant.partitions or None

    def _hottest(self) -> float:
        """Share of the records in the largest partition."""
        partitions = self.plant.partitions
        return 1 / partitions + self.plant.scenario.plant.skew * (1 - 1 / partitions)

    def _pending(self, ran: Running | BatchRecord | None) -> float | None:
        """Calls to the remote service in flight; fewer than allowed if the work binds."""
        calls = self.plant.settings.max_in_flight
        if calls is None or ran is None:
            return None
        executors = ran.executors if isinstance(ran, Running) else ran.executors_min
        tasks = self.plant.settings.tasks(self.plant.partitions)
        allowed = max(1, min(executors * self.plant.cores, tasks)) * calls
        busy = ran.phases.call_s * (ran.last - ran.first) / max(ran.phases.work, 1e-9)
        return min(float(allowed), busy)

    def _batch(self) -> Batch | None:
        if not self.plant.batches:
            return None
        last = self.plant.batches[-1]
        oldest = last.last - self.quantile * last.records
        return Batch(
            run=last.run,
            id=last.id,
            committed_at_s=last.end_s,
            records=round(last.records),
            duration_s=self._noisy(last.duration_s),
            overhead_s=last.phases.wal + last.phases.planning + last.phases.state,
            settings_generation=last.generation,
            executors_min=last.executors_min,
            since_start=last.since_start,
            replayed=last.replayed,
            latency_s=last.end_s - self.plant.arrivals.time_of(oldest),
            planning_s=last.phases.planning,
            state_s=last.phases.state,
            sink_s=last.phases.sink,
        )

    def _rate(self, total: float, span_s: float) -> float | None:
        """Records/s over the last `span_s` seconds, or over what was seen of them."""
        now_s = self.plant.now_s
        first = bisect_left(self.samples, now_s - span_s, key=lambda sample: sample.at_s)
        if first == len(self.samples) or now_s <= self.samples[first].at_s:
            return None
        since = self.samples[first]
        return (total - since.input_total) / (now_s - since.at_s)

    def _noisy(self, value: float) -> float:
        noise = self.config.noise
        return value * max(0.0, 1 + noise * self.noise.gauss(0, 1)) if noise else value
