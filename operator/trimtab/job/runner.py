"""Runs the query: starts it, restarts it, applies settings, ends it at a boundary.

One loop in the main thread. Everything that happens elsewhere (a signal, new settings, a query
that died) only sets a flag and wakes it, so no two changes ever meet.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from trimtab.api.contract import Job, Settings
from trimtab.api.knobs import EXECUTORS, KNOBS, MAX_IN_FLIGHT, SCOPE, TRIGGER, How
from trimtab.job import definition, source
from trimtab.job.backoff import Backoff
from trimtab.job.batches import Batches, Start
from trimtab.job.board import Board
from trimtab.job.boundary import Gate, Outcome, stop_at_boundary, stop_now
from trimtab.job.checkpoint import Checkpoint
from trimtab.job.executors import Executors
from trimtab.job.kafka import KafkaProbe
from trimtab.job.locality import Locality
from trimtab.job.query import StreamBuilder, causes_of, last_committed
from trimtab.job.settings_watch import Inbox
from trimtab.job.termination import ExitCode, JobFailureError, classify
from trimtab.job.timing import Split

log = logging.getLogger(__name__)

TICK_S = 0.2


class StopSignal:
    """Set once, by SIGTERM; a plain attribute, because a signal handler must take no lock."""

    def __init__(self) -> None:
        self.at: float | None = None

    def request(self) -> None:
        """End at the next boundary; the drain timeout counts from the first call."""
        if self.at is None:
            self.at = time.monotonic()

    @property
    def requested(self) -> bool:
        """Whether it was set."""
        return self.at is not None

    def older_than(self, seconds: float) -> bool:
        """Whether it was set longer ago than this."""
        return self.at is not None and time.monotonic() - self.at > seconds


class Runner:
    """One pipeline's query in this driver."""

    def __init__(
        self,
        job: Job,
        settings: Settings,
        *,
        builder: StreamBuilder,
        board: Board,
        batches: Batches,
        checkpoint: Checkpoint,
        kafka: KafkaProbe,
        sink_kafka: KafkaProbe | None,
        executors: Executors | None,
        locality: Locality,
        signal: StopSignal,
    ) -> None:
        """Nothing starts before `run`."""
        self._job = job
        self._settings = settings
        self._builder = builder
        self._board = board
        self._batches = batches
        self._checkpoint = checkpoint
        self._kafka = kafka
        self._sink_kafka = sink_kafka
        self._executors = executors
        self._locality = locality
        self._signal = signal
        self._knobs = definition.effective(settings, job)
        self._backoff = Backoff()
        self._wake = threading.Event()
        self._query: Any = None
        self._fetch: dict[str, float] = {}
        self._gate = Gate()
        self.inbox = Inbox(settings, self._wake.set, self._refused)

    def run(self) -> ExitCode:
        """Run until the stop signal; raises JobFailureError when the pipeline cannot go on."""
        self._healing(self._require_topics)
        self._checkpoint.require_topics(self._job.source.topics)
        self._batches.last_commit = self._checkpoint.last_commit_time()
        if self._batches.last_commit is not None:
            self._batches.pausing(How.DRIVER, self._knobs[TRIGGER.name])
            self._board.totals.changes[How.DRIVER] += 1
        self._go_live(self._knobs)
        self._batches.applied(self._settings.generation)
        self._start()
        while not self._signal.requested:
            if not self._query.isActive:
                self._recover()
            elif (new := self.inbox.take()) is not None:
                self._apply(new)
            self._wake.wait(TICK_S)
            self._wake.clear()
        return self._drain()

    def _start(self) -> None:
        if self._signal.requested:
            return
        number = self._checkpoint.next_run_number()
        self._batches.expect(Start(number, self._checkpoint.replay_batch()))
        self._gate = Gate()
        self._fetch = source.fetch_sizes(
            self._knobs, self._board.record_bytes, len(self._board.lag or {})
        )
        self._query = self._builder.start(
            self._knobs | self._fetch, self._settings.source, self._gate, self._begin, self._written
        )
        self._batches.timing.fit(
            possible=self._builder.can_be_timed, trigger_s=self._knobs[TRIGGER.name]
        )
        self._show()
        with self._board.writing() as board:
            board.not_ready = None
            board.uses_python = self._builder.uses_python
            if self._builder.one_to_one and board.totals.ledger_mismatch is None:
                board.totals.ledger_mismatch = 0
        log.info("run %d started with %s", number, self._knobs)

    def _show(self) -> None:
        """Put on the board what is in force now."""
        places = self._executors.places() if self._executors else {}
        with self._board.writing() as board:
            board.effective = self._in_force()
            board.places = places

    def _begin(self, batch_id: int) -> bool:
        executors = self._executors.batch_begins().staying if self._executors else None
        replays = 0
        if self._batches.replays(batch_id):
            replays = self._checkpoint.count_replay(batch_id)
        records = self._checkpoint.batch_records(batch_id)
        if replays:
            log.info("batch %d runs again with its %s records, try %d", batch_id, records, replays)
        return self._batches.begin(batch_id, records, executors, replays)

    def _written(self, split: Split | None) -> None:
        self._batches.written(split)
        if self._executors is not None:
            self._executors.batch_ended()
        calls = self._builder.stages.take()
        with self._board.writing() as board:
            board.calls = calls
            board.totals.add_calls(calls)

    def _abandon(self) -> None:
        """No batch of this start is being written any more."""
        self._batches.abandon()
        if self._executors is not None:
            self._executors.batch_ended()

    def _in_force(self) -> dict[str, float]:
        """The knobs that have something to move: no calls in flight without a stage of them."""
        knobs = {k: v for k, v in self._knobs.items() if k != MAX_IN_FLIGHT.name}
        if self._builder.stages:
            knobs[MAX_IN_FLIGHT.name] = self._builder.live.max_in_flight
        return knobs | self._fetch

    def _go_live(self, knobs: Mapping[str, float]) -> None:
        """Hand over what the next batch takes up by itself."""
        self._builder.live.set(knobs)
        scope = knobs.get(SCOPE.name)
        self._locality.set_scope(None if scope is None else int(scope))

    def _require_topics(self) -> None:
        self._kafka.require(self._job.source.topics, "source")
        if self._sink_kafka is not None and self._job.sink.topic:
            self._sink_kafka.require([self._job.sink.topic], "sink")

    def _apply(self, new: Settings) -> None:
        """Put settings in force by the cheapest way that what changed allows."""
        knobs = definition.effective(new, self._job)
        names = knobs.keys() | self._knobs.keys()
        changed = {name for name in names if knobs.get(name) != self._knobs.get(name)}
        hows = {KNOBS[name].how for name in changed}
        if new.source != self._settings.source:
            changed.add("source")
            hows.add(How.QUERY)
        if How.LIVE in hows:
            self._go_live(knobs)  # the scope first: it says where new executors go
            if EXECUTORS.name in changed and self._executors is not None:
                self._executors.scale(int(knobs[EXECUTORS.name]))
            self._board.totals.changes[How.LIVE] += 1
        outcome = None
        if How.QUERY in hows:
            outcome = self._stop_query()
            if self._signal.requested:
                return
            self._batches.pausing(How.QUERY, self._knobs[TRIGGER.name])
            self._board.totals.changes[How.QUERY] += 1
        self._knobs, self._settings = knobs, new
        self._batches.applied(new.generation)
        if outcome is Outcome.FAILED:
            self._recover()
        elif outcome is not None:
            self._start()
        self._show()
        log.info("settings %d applied: %s (%s)", new.generation, sorted(changed), new.reason)

    def _stop_query(self) -> Outcome:
        """Stop at the boundary; only a drain that is over cuts it short."""
        query = self._query
        outcome = stop_at_boundary(
            query,
            self._gate,
            last_committed=lambda: last_committed(query),
            give_up=lambda: self._signal.older_than(self._job.drain_timeout_s),
            wait=time.sleep,
        )
        self._abandon()
        if outcome is Outcome.UNCLEAN:
            self._board.totals.unclean_stops += 1
        return outcome

    def _drain(self) -> ExitCode:
        self._board.not_ready = "stopping"
        if self._query is None:
            return ExitCode.CLEAN
        outcome = self._stop_query()
        log.info("stopped: %s", outcome.name.lower())
        unclean = self._board.totals.unclean_stops > 0
        return ExitCode.UNCLEAN if unclean else ExitCode.CLEAN

    def _recover(self) -> None:
        """The query died by itself: start it again when the cause can heal, else raise."""
        self._abandon()
        written = self._builder.writer.failure if self._builder.writer else None
        failure = classify(causes_of(self._query, written))
        if last_committed(self._query) is not None:
            self._backoff.reset()
        self._wait_for_healing(failure)
        self._healing(self._require_topics)
        self._start()

    def _healing(self, step: Callable[[], None]) -> None:
        """Do a step, again and again while what fails in it can heal."""
        while not self._signal.requested:
            try:
                step()
                return
            except JobFailureError as failure:
                self._wait_for_healing(failure)

    def _wait_for_healing(self, failure: JobFailureError) -> None:
        wait = self._backoff.next(time.monotonic()) if failure.heals else None
        if wait is None:
            raise failure
        log.warning("%s: %s; next try in %.0f s", failure.reason, failure, wait)
        self._board.not_ready = f"{failure.reason}: {failure}"
        deadline = time.monotonic() + wait
        while not self._signal.requested and time.monotonic() < deadline:
            time.sleep(min(TICK_S, wait))

    def _refused(self, generation: int) -> None:
        self._board.rejected_generation = generation

    def abort(self) -> None:
        """Leave no query behind after a failure."""
        if self._query is not None and self._query.isActive:
            self._gate.close()
            stop_now(self._query)
