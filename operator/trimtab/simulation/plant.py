"""The plant in virtual time: batches, executors that come and go, restarts, faults, scrapes.

Arrivals are fluid and FIFO. A batch under way passes through its overhead first, then its work
(which executors that come or go stretch or shorten), then state and sink.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace

from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batch_time import Phases, capacity, phases
from trimtab.simulation.events import Agenda, Event, Kind
from trimtab.simulation.scenario import Fault, Scenario
from trimtab.tuning.snapshot import Settings


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One finished batch: records `first`..`last` of the arrivals."""

    id: int
    start_s: float
    end_s: float
    first: float
    last: float
    phases: Phases
    duration_s: float
    generation: int
    executors_min: int
    limit_binding: bool
    backlog_after: float
    """Arrived and not yet taken, at the end of the batch."""

    @property
    def records(self) -> float:
        """How many records it held."""
        return self.last - self.first


@dataclass(slots=True)
class _Running:
    id: int
    start_s: float
    end_s: float
    first: float
    last: float
    phases: Phases
    work_from_s: float
    work_until_s: float
    generation: int
    executors_min: int
    limit_binding: bool


class Plant:
    """The simulated pipeline. `advance` runs it to the next scrape or tick."""

    def __init__(self, scenario: Scenario, arrivals: Arrivals, seed: int) -> None:
        self.scenario, self.plant, self.arrivals = scenario, scenario.plant, arrivals
        self.noise = random.Random(f"{scenario.name}/{seed}/noise")
        self.now_s = 0.0
        self.settings = scenario.settings()
        self.generation = 0
        self.asked: tuple[int, Settings] | None = None
        self.cluster_cap: int | None = scenario.plant.cluster.executors_max
        self.executors = self.requested = self._fit(self.settings.executors)
        self.taken = 0.0
        self.committed = 0.0
        self.running: _Running | None = None
        self.last_start_s: float | None = None
        self.batches: list[BatchRecord] = []
        self.busy_s = 0.0
        self.slow = 1.0
        self.down_until_s = 0.0
        self._ids = itertools.count()
        self._agenda = Agenda()
        self._agenda.note(0.0, Kind.BATCH_START)
        self._agenda.note_every(self.plant.metrics.scrape_s, scenario.duration, Kind.SCRAPE)
        self._agenda.note_every(scenario.tick, scenario.duration, Kind.TICK)
        for fault in scenario.faults:
            self._agenda.note(fault.at, Kind.FAULT, fault)

    def advance(self) -> Event | None:
        """Run to the next scrape or tick and return it; None at the end of the scenario."""
        while event := self._agenda.next():
            if event.at_s > self.scenario.duration:
                return None
            self.now_s = event.at_s
            if event.kind in {Kind.SCRAPE, Kind.TICK}:
                return event
            self._handle(event)
        return None

    def apply(self, generation: int, settings: Settings) -> None:
        """Ask the driver for new settings: executors live, the rest at the next batch end."""
        if settings.executors != self.requested:
            self.requested = settings.executors
            self._agenda.note(self.now_s + self.plant.change.live_s, Kind.EXECUTORS, generation)
        same = replace(settings, executors=self.settings.executors) == self.settings
        if same:
            self.settings, self.generation = settings, generation
            return
        self.asked = (generation, settings)
        if self.running is None:
            self._restart_query()

    @property
    def backlog(self) -> float:
        """Records arrived and not yet taken by a batch."""
        return max(0.0, self.arrivals.total(self.now_s) - self.taken)

    @property
    def lag(self) -> float:
        """Records arrived and not committed."""
        return max(0.0, self.arrivals.total(self.now_s) - self.committed)

    def _handle(self, event: Event) -> None:
        if event.kind is Kind.FAULT and isinstance(event.payload, Fault):
            self._fault(event.payload)
        elif event.kind is Kind.FAULT and callable(event.payload):
            event.payload()
        elif event.kind is Kind.EXECUTORS:
            self._set_executors(self._fit(self.requested))
        elif event.kind is Kind.BATCH_END:
            if self.running and event.payload == (self.running.id, self.running.end_s):
                self._end()
        elif event.kind is Kind.BATCH_START:
            self._start()

    def _fit(self, executors: int) -> int:
        return executors if self.cluster_cap is None else min(executors, self.cluster_cap)

    def _start(self) -> None:
        if self.running or self.now_s < self.down_until_s:
            return
        records = min(self.backlog, float(self.settings.max_offsets))
        if records <= 1e-9:
            self._agenda.note(self._next_edge(self.now_s), Kind.BATCH_START)
            return
        executors = max(1, self.executors)
        spent = phases(
            self.plant, records=records, executors=executors,
            partitions=self.scenario.partitions, max_in_flight=self.scenario.start.max_in_flight,
            slow=self.slow,
        )  # fmt: skip
        stretch = self._noise_factor()
        work_from = self.now_s + (spent.wal + spent.planning + spent.tasks) * stretch
        work_until = work_from + spent.work * stretch
        end = work_until + (spent.state + spent.sink) * stretch
        self.running = _Running(
            next(self._ids), self.now_s, end, self.taken, self.taken + records, spent, work_from,
            work_until, self.generation, executors, records < self.backlog - 1e-9,
        )  # fmt: skip
        self.taken += records
        self.last_start_s = self.now_s
        self._agenda.note(end, Kind.BATCH_END, (self.running.id, end))

    def _noise_factor(self) -> float:
        sigma = self.plant.batch.noise
        if not sigma:
            return 1.0
        return max(0.2, 1 + sigma * min(max(self.noise.gauss(0, 1), -3.0), 3.0))

    def _next_edge(self, start_s: float) -> float:
        trigger_s = self.settings.trigger_s
        if trigger_s <= 0:
            return self.now_s + 0.01
        if self.plant.trigger == "cap":
            return start_s + trigger_s
        edge = math.floor(start_s / trigger_s + 1e-9) * trigger_s + trigger_s
        return max(edge, self.now_s)

    def _end(self) -> None:
        batch = self.running
        if batch is None:
            return
        self.running = None
        self.committed = batch.last
        self.busy_s += batch.end_s - batch.start_s
        self.batches.append(
            BatchRecord(
                id=batch.id, start_s=batch.start_s, end_s=batch.end_s, first=batch.first,
                last=batch.last, phases=batch.phases, duration_s=batch.end_s - batch.start_s,
                generation=batch.generation, executors_min=batch.executors_min,
                limit_binding=batch.limit_binding, backlog_after=self.backlog,
            )
        )  # fmt: skip
        if self.asked:
            self._restart_query()
            return
        self._agenda.note(max(self.now_s, self._next_edge(batch.start_s)), Kind.BATCH_START)

    def _restart_query(self) -> None:
        if self.asked is None:
            return
        self.generation, self.settings = self.asked
        self.asked = None
        self.down_until_s = self.now_s + self.plant.change.query_restart_s
        self._agenda.note(self.down_until_s, Kind.BATCH_START)

    def _set_executors(self, executors: int) -> None:
        before, self.executors = max(1, self.executors), executors
        batch, after = self.running, max(1, executors)
        if batch is None or after == before:
            return
        batch.executors_min = min(batch.executors_min, after)
        if not self.plant.change.joins_batch:
            return
        left_s = max(0.0, batch.work_until_s - max(self.now_s, batch.work_from_s))
        if batch.phases.remote_binds:
            ratio = before / after
        else:
            ratio = capacity(self.plant, before) / capacity(self.plant, after)
        self._move_end(left_s * (ratio - 1))

    def _move_end(self, by_s: float) -> None:
        """Move the end of the batch under way, with its work's end."""
        batch = self.running
        if batch is None:
            return
        batch.work_until_s += by_s
        batch.end_s += by_s
        self._agenda.note(batch.end_s, Kind.BATCH_END, (batch.id, batch.end_s))

    def _fault(self, fault: Fault) -> None:
        if fault.kind == "executor_lost":
            self._lose_executors(fault)
        elif fault.kind == "gc_pause":
            self._move_end(fault.for_s)
        elif fault.kind == "driver_lost":
            self._lose_driver(fault)
        elif fault.kind == "remote_slow":
            self.slow = fault.factor
            self._agenda.note(self.now_s + fault.for_s, Kind.FAULT, self._remote_well)
        elif fault.kind == "pods_pending":
            self.cluster_cap = self.executors
            self._agenda.note(self.now_s + fault.for_s, Kind.FAULT, self._pods_fit)

    def _lose_executors(self, fault: Fault) -> None:
        before = max(1, self.executors)
        lost = min(fault.count, self.executors)
        batch = self.running
        if batch:
            done_s = max(0.0, min(self.now_s, batch.work_until_s) - batch.work_from_s)
            self._move_end(done_s * lost / before)
        self._set_executors(self.executors - lost)
        self._agenda.note(self.now_s + fault.back_after_s, Kind.EXECUTORS)

    def _lose_driver(self, fault: Fault) -> None:
        """The batch under way is lost and runs again with its range once the driver is back."""
        if self.running:
            self.taken = self.running.first
            self.running = None
        self.down_until_s = self.now_s + fault.back_after_s
        self._agenda.note(self.down_until_s, Kind.BATCH_START)

    def _remote_well(self) -> None:
        self.slow = 1.0

    def _pods_fit(self) -> None:
        self.cluster_cap = self.plant.cluster.executors_max
        self._agenda.note(self.now_s, Kind.EXECUTORS)
