"""The duration of a batch of the plant, split into the metrics' phases."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from trimtab.api.knobs import SCOPES
from trimtab.simulation.plant_model import BatchCost, Plant
from trimtab.simulation.scenario import Scenario
from trimtab.tuning.knobs import sending
from trimtab.tuning.producer import ProducerSettings
from trimtab.tuning.settings import Settings


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds of a batch, in the order of the phases."""

    wal: float
    planning: float
    tasks: float
    work: float
    """The larger of the work on records and the minimum for remote calls."""
    state: float
    sink: float
    fetch: float
    """Part of `work` spent reading."""
    gc_ratio: float
    remote_binds: bool
    call_s: float
    """Seconds per call to the remote service; 0 if there is none."""
    remote_share: float
    """Share of the records read remotely."""

    @property
    def total(self) -> float:
        """Total seconds."""
        return self.wal + self.planning + self.tasks + self.work + self.state + self.sink

    def times(self, factor: float) -> Phases:
        """The same batch with all times multiplied by a factor."""
        return replace(
            self,
            wal=self.wal * factor,
            planning=self.planning * factor,
            tasks=self.tasks * factor,
            work=self.work * factor,
            state=self.state * factor,
            sink=self.sink * factor,
            fetch=self.fetch * factor,
        )

    def paced(self, factor: float) -> Phases:
        """The same batch with the work on its records multiplied by a factor."""
        return replace(self, work=self.work * factor, fetch=self.fetch * factor)


class Noise:
    """A batch's time over its mean: normal, cut off at three sigma and at 0.2.

    With a memory ρ the deviation is AR(1): z = ρ·(that of the last batch) + sqrt(1 − ρ²)·N(0, 1),
    so slow batches come in runs, with the same spread overall. Besides, a share of the batches
    takes twice as long.
    """

    def __init__(self, stream: random.Random, batch: BatchCost) -> None:
        self.stream, self.batch = stream, batch
        self.sigma, self.memory = batch.noise, batch.noise_memory
        self.z: float | None = None

    def factor(self) -> float:
        """The factor of the next batch."""
        doubled = self.batch.doubled
        often = 2.0 if doubled and self.stream.random() < doubled else 1.0
        return often * self._spread()

    def _spread(self) -> float:
        if not self.sigma:
            return 1.0
        drawn = self.stream.gauss(0, 1)
        if self.memory and self.z is not None:
            drawn = self.memory * self.z + math.sqrt(1 - self.memory**2) * drawn
        self.z = drawn
        return max(0.2, 1 + self.sigma * min(max(drawn, -3.0), 3.0))


def next_edge(kind: str, trigger_s: float, start_s: float, now_s: float) -> float:
    """When the next batch is due after one that began at `start_s` and has ended."""
    if trigger_s <= 0:
        return now_s
    if kind == "cap":
        return max(now_s, start_s + trigger_s)
    edge = math.floor(start_s / trigger_s + 1e-9) * trigger_s + trigger_s
    return max(now_s, edge)


def interpolate(table: Mapping[float, float], x: float) -> float:
    """Linear between the points of a table, flat outside."""
    points = sorted(table.items())
    if not points:
        return 0.0
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1]


def capacity(plant: Plant, executors: int) -> float:
    """Records/s by executors: linear between points, proportional below, flat above."""
    first = min(plant.capacity)
    if executors < first:
        return executors * plant.capacity[first] / first
    return interpolate({float(p): c for p, c in plant.capacity.items()}, executors)


def _fetch_s(plant: Plant, records: float, partitions: int) -> float:
    """Seconds of reading in all tasks together: each partition takes whole fetches."""
    cost = plant.fetch
    fetches = 1
    if cost.size_bytes:
        fetches = max(1, math.ceil(records * cost.record_bytes / partitions / cost.size_bytes))
    return records * cost.per_record_s + partitions * fetches * cost.round_trip_s


def batch_phases(
    scenario: Scenario, settings: Settings, records: float, executors: int, slow: float = 1.0,
    *, partitions: int = 0,
) -> Phases:  # fmt: skip
    """The phases of a batch of a scenario at some settings, without noise.

    `partitions` are those of the topic if they have grown since the start.
    """
    return phases(
        scenario.plant,
        records=records,
        executors=executors,
        partitions=max(scenario.partitions, partitions),
        min_partitions=settings.min_partitions or scenario.start.min_partitions,
        max_in_flight=settings.max_in_flight or scenario.start.max_in_flight,
        slow=slow,
        scope=scenario.start.locality_scope if settings.scope is None else SCOPES[settings.scope],
        send=sending.producer(settings),
    )


def phases(
    plant: Plant,
    *,
    records: float,
    executors: int,
    partitions: int,
    min_partitions: int = 0,
    max_in_flight: int = 1,
    slow: float = 1.0,
    scope: str = "Process",
    send: ProducerSettings = sending.UNSAID,
) -> Phases:
    """The phases of a batch without noise; `slow` multiplies the remote latency."""
    tasks = max(partitions, min_partitions)
    used = max(1, min(executors, tasks))
    cost = plant.batch
    gc = _gc(plant, records, used)
    fetch = _fetch_s(plant, records, partitions) / used
    away = plant.locality.remote_cost * plant.locality.share(scope)
    crowd = cost.overload * max(0.0, records / (used * cost.knee_records) - 1)
    waves = -(-tasks // used) * used / tasks if plant.waves else 1.0
    factor = (1 + gc) * (1 + away) * (1 + crowd) * waves
    hot_s = _hottest(plant, records, partitions, tasks) / capacity(plant, 1)
    work = (max(records / capacity(plant, used), hot_s) + fetch) * factor
    calls = used * max_in_flight
    crowd_calls = max(1.0, calls / plant.remote.knee_calls) ** 2 if plant.remote.knee_calls else 1.0
    remote = records / calls * plant.remote.latency_s * slow * crowd_calls
    if plant.remote.rate_limit:
        remote = max(remote, records / plant.remote.rate_limit)
    return Phases(
        wal=cost.fixed_s,
        planning=cost.planning_s,
        tasks=cost.per_task_s * tasks / used,
        work=max(work, remote),
        state=plant.state.commit_s + records * plant.state.per_record_s,
        sink=interpolate(plant.sink, records) + _send_s(plant, records, used, send),
        fetch=fetch * factor,
        gc_ratio=gc / (1 + gc),
        remote_binds=remote > work,
        call_s=remote * calls / records if records else 0.0,
        remote_share=plant.locality.share(scope),
    )


def _send_s(plant: Plant, records: float, used: int, send: ProducerSettings) -> float:
    """Seconds to send the records: f·B/R bytes/s per executor, at most the broker's rate."""
    producer = plant.producer
    packed = 1.0 if send.compression == "none" else producer.compressed
    rate = used * send.in_flight * send.batch_bytes / producer.round_trip_s
    if producer.bytes_per_s is not None:
        rate = min(rate, producer.bytes_per_s)
    return records * producer.record_bytes * packed / rate


def _hottest(plant: Plant, records: float, partitions: int, tasks: int) -> float:
    """Records of the largest task; more tasks than partitions split the hot partition too."""
    if tasks > partitions:
        return records / tasks
    return records * (1 / partitions + plant.skew * (1 - 1 / partitions))


def _gc(plant: Plant, records: float, used: int) -> float:
    """Seconds of garbage collection per second of work."""
    memory = plant.memory
    full = records * memory.bytes_per_record / (used * memory.heap_bytes)
    return memory.gc_slope * max(0.0, full - memory.gc_knee)
