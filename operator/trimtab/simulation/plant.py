"""The plant in virtual time: batches, starting and stopping executors, restarts, faults, scrapes.

Arrivals are fluid and FIFO. A batch goes through its overhead, then its work (which takes longer
or shorter if executors stop or start), then state and sink.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from trimtab.simulation import faults, reflex
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batch_time import Noise, Phases, batch_phases, next_edge
from trimtab.simulation.events import Agenda, Event, Kind
from trimtab.simulation.fleet import Fleet
from trimtab.simulation.plant_model import BatchCost
from trimtab.simulation.reflex import DriverReflex
from trimtab.simulation.running import BatchRecord, Running
from trimtab.simulation.scenario import Fault, Scenario
from trimtab.tuning.settings import Settings

WARMER_S = 30.0
"""Seconds after which a driver that warms up is slower by half as much."""

POLL_S = 0.01
"""Seconds between Spark's polls for new data when there is no trigger."""


def _in_query(settings: Settings) -> tuple[float, int, int | None]:
    """The values that only take effect after a restart of the query or the driver."""
    return settings.trigger_s, settings.max_offsets, settings.cores


class Plant:
    """The simulated pipeline. `advance` runs it to the next scrape or tick."""

    def __init__(self, scenario: Scenario, arrivals: Arrivals, seed: int) -> None:
        self.scenario, self.plant, self.arrivals = scenario, scenario.plant, arrivals
        stream = random.Random(f"{scenario.name}/{seed}/noise")
        self.noise = Noise(stream, scenario.plant.batch)
        pauses = random.Random(f"{scenario.name}/{seed}/restarts")
        self.restart_noise = Noise(pauses, BatchCost(noise=scenario.plant.change.restart_noise))
        self.now_s = 0.0
        self.settings = scenario.settings()
        self.generation = 0
        self.asked: tuple[int, Settings] | None = None
        self.fleet = Fleet(scenario.plant, self.settings.executors)
        self.executors = self.fleet.there()
        self.partitions = scenario.partitions
        self.taken = 0.0
        self.committed = 0.0
        self.running: Running | None = None
        self.replay: tuple[float, float] | None = None
        self.batches: list[BatchRecord] = []
        self.run, self.since_start, self.restarts = 1, 0, 0
        self.busy_s = 0.0
        self.first_batch_s = 0.0
        """When the driver began its first batch."""
        self.slow = self.pace = self.crowd = 1.0
        self.slowed_by: dict[str, Fault] = {}
        """The latest slowness of each kind."""
        self.down_until_s = self.away_until_s = self.paused_until_s = 0.0
        self.reflex = DriverReflex()
        self._due_s = 0.0
        self._agenda = Agenda()
        self.start_at(0.0)
        self._agenda.note_every(self.plant.metrics.scrape_s, scenario.duration, Kind.SCRAPE)
        tick_s = self.plant.metrics.direct_s or scenario.tick
        self._agenda.note_every(tick_s, scenario.duration, Kind.TICK)
        if scenario.tuning.reflex:
            self._agenda.note_every(reflex.POLL_S, scenario.duration, Kind.POLL)
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
        """Give the driver new settings: trigger, batch limit and cores apply at the next batch end,
        calls in flight and scope from the next batch, everything else live.
        """
        self.reflex.raised_to = None
        self._request(settings.executors)
        if (settings.topic_partitions or 0) > self.partitions:
            grow = partial(self._grow, settings.topic_partitions or 0)
            self.later(self.plant.change.topic_s, grow)
        now = self.settings
        if _in_query(settings) == _in_query(now):
            self.generation, self.settings, self.asked = generation, settings, None
            return
        self.asked = (generation, settings)
        if self.running is None:
            self.restart_query()

    def _request(self, executors: int) -> None:
        if executors != self.fleet.requested:
            for at_s, granted in self.fleet.request(executors, self.now_s):
                self._agenda.note(at_s, Kind.EXECUTORS, granted)
            self._share_with_starts()

    def _share_with_starts(self) -> None:
        """Slow the batch under way down, or let it go on, as executors begin to start or have."""
        before = self.crowd
        self.crowd = 1 + self.plant.change.starting_cost * self.fleet.starting
        if self.running and self.running.halted_s is None and self.crowd != before:
            self.running.stretch(self.now_s, self.crowd / before)
            self.note_end(self.running)

    def _poll(self) -> None:
        """Look at lag and input as the driver does, and raise executors if its reflex says so."""
        if not self.exporting:
            self.reflex.away()
            return
        seen = self.now_s, self.arrivals.total(self.now_s), self.lag
        wanted = self.reflex.poll(self.generation, self.fleet.requested, *seen)
        if wanted is not None:
            self._request(wanted)

    @property
    def cores(self) -> int:
        """Task slots per executor; the scenario's capacity is given per slots."""
        return self.scenario.slots(self.settings, 1)

    @property
    def exporting(self) -> bool:
        """Whether a driver answers scrapes."""
        return self.now_s >= self.away_until_s

    @property
    def backlog(self) -> float:
        """Records arrived but not yet taken by a batch."""
        return max(0.0, self.arrivals.total(self.now_s) - self.taken)

    @property
    def lag(self) -> float:
        """Records arrived but not committed."""
        return max(0.0, self.arrivals.total(self.now_s) - self.committed)

    def _handle(self, event: Event) -> None:
        if event.kind is Kind.FAULT and isinstance(event.payload, Fault):
            faults.strike(self, event.payload)
        elif event.kind is Kind.FAULT and callable(event.payload):
            event.payload()
        elif event.kind is Kind.EXECUTORS and isinstance(event.payload, int):
            self.fleet.grant(event.payload, self.now_s)
            self._share_with_starts()
            self.arrange()
        elif event.kind is Kind.BATCH_END:
            batch = self.running
            if batch and batch.halted_s is None and event.payload == (batch.id, batch.end_s):
                self._end(batch)
        elif event.kind is Kind.POLL:
            self._poll()
        elif event.kind is Kind.BATCH_START and event.at_s == self._due_s:
            self._due_s = math.inf  # ignore a second one for the same time, from before a restart
            self._start()

    def later(self, after_s: float, do: Callable[[], None]) -> None:
        """Do something to the plant after some seconds."""
        self._agenda.note(self.now_s + after_s, Kind.FAULT, do)

    def start_at(self, at_s: float) -> None:
        """Schedule the next batch then, replacing any earlier schedule."""
        self._due_s = at_s
        self._agenda.note(at_s, Kind.BATCH_START)

    def _start(self) -> None:
        replayed = self.replay is not None
        first, last = self.replay or (
            self.taken, self.taken + min(self.backlog, float(self.settings.max_offsets))
        )  # fmt: skip
        if last - first <= 1e-9:
            self.start_at(max(self._next_edge(self.now_s), self.now_s + POLL_S))
            return
        executors = max(1, self.executors)
        spent = self._phases(last - first, executors, self.slow).paced(self.pace * self.crowd)
        spent = self._cold(spent)
        self.replay, self.taken = None, last
        batch = Running(
            id=self.batches[-1].id + 1 if self.batches else 0, start_s=self.now_s, first=first,
            last=last, generation=self.generation,
            phases=spent.times(self.noise.factor()),
            executors=executors, executors_min=self.executors, slow=self.slow,
            limit_binding=self.backlog > 1e-9 and not replayed, replayed=replayed,
        )  # fmt: skip
        batch.delay(self.now_s, max(0.0, self.paused_until_s - self.now_s))
        if not self.executors:
            batch.halt(self.now_s)
        self.running = batch
        self.note_end(batch)

    def _cold(self, spent: Phases) -> Phases:
        """What the batch takes with as much of the driver's code compiled as is by now."""
        batch = self.plant.batch
        if not self.since_start:
            self.first_batch_s = self.now_s
        slower = batch.warming * 0.5 ** ((self.now_s - self.first_batch_s) / WARMER_S)
        spent = spent.times(1 + slower)
        return spent if self.since_start else replace(spent, work=spent.work + batch.cold_s)

    def _phases(self, records: float, executors: int, slow: float) -> Phases:
        slots, partitions = executors * self.cores, self.partitions
        return batch_phases(
            self.scenario, self.settings, records, slots, slow, partitions=partitions
        )

    def _next_edge(self, start_s: float) -> float:
        return next_edge(self.plant.trigger, self.settings.trigger_s, start_s, self.now_s)

    def note_end(self, batch: Running) -> None:
        """Expect the end of the batch when it says, in place of any earlier time."""
        self._agenda.note(batch.end_s, Kind.BATCH_END, (batch.id, batch.end_s))

    def _end(self, batch: Running) -> None:
        self.running = None
        self.committed = batch.last
        self.busy_s += batch.end_s - batch.start_s
        self.since_start += 1
        self.batches.append(batch.finished(self.backlog, self.run, self.since_start))
        if self.asked:
            self.restart_query()
            return
        self.start_at(self._next_edge(batch.start_s))

    def restart_query(self) -> None:
        """Begin anew with the settings that wait for it, if any do."""
        if self.asked is None:
            return
        before = self.settings
        self.generation, self.settings = self.asked
        self.asked = None
        self.run += 1
        if self.settings.cores != before.cores:
            self.since_start = 0
            self.away_until_s = self.now_s + self.restart_s(self.plant.change.driver_restart_s)
            self.down_until_s = max(self.down_until_s, self.away_until_s)
        else:
            self.restarts += 1
            restarted_s = self.now_s + self.restart_s(self.plant.change.query_restart_s)
            self.down_until_s = max(self.down_until_s, restarted_s)
        self.start_at(self.down_until_s)

    def restart_s(self, mean_s: float) -> float:
        """Seconds of one restart that takes so long on average."""
        return mean_s * self.restart_noise.factor()

    def arrange(self, *, lost: bool = False) -> None:
        """Give the batch under way the executors available now."""
        before, self.executors = self.executors, self.fleet.there()
        batch, joins = self.running, self.plant.change.joins_batch
        if batch is None or self.executors == before:
            return
        if not (joins or lost or batch.halted_s is not None):
            return
        batch.executors_min = min(batch.executors_min, self.executors)
        if not self.executors:
            batch.halt(self.now_s)
            return
        batch.resume(self.now_s)
        more = joins or before == 0
        self._spread(batch, self.executors if more else min(batch.executors, self.executors))

    def _spread(self, batch: Running, executors: int) -> None:
        """Continue the remaining work on another number of executors."""
        counts = batch.executors, executors
        now, new = (self._phases(batch.records, p, batch.slow).work for p in counts)
        batch.executors = executors
        batch.stretch(self.now_s, new / now if now > 0 else 1.0)
        self.note_end(batch)

    def _grow(self, partitions: int) -> None:
        """Add partitions to the topic; the next batch reads them too."""
        self.partitions = max(self.partitions, partitions)
