"""Carries out what the state machine decides: starts, changes and stops the query.

One loop in the main thread. Everything that happens elsewhere (a signal, new settings, a failed
query) only sets a flag, so changes never overlap.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping

from pyspark.sql.streaming.query import StreamingQuery

from trimtab.api.contract import Job, Settings, SourceOptions
from trimtab.api.knobs import MAX_IN_FLIGHT, SCOPE, TRIGGER, How
from trimtab.job.batches.batches import Batches, QueryStart
from trimtab.job.batches.timing import Split
from trimtab.job.clock import Clock, monotonic_s
from trimtab.job.executors.executors import Executors
from trimtab.job.executors.locality import Locality
from trimtab.job.executors.reflex import DriverReflex
from trimtab.job.lifecycle import commands, events, machine
from trimtab.job.lifecycle.at_once import AtOnce
from trimtab.job.lifecycle.boundary import (
    POLL_S,
    RESTART_TIMEOUT_S,
    STOP_TIMEOUT_S,
    Gate,
    Outcome,
    stop_now,
)
from trimtab.job.lifecycle.diagnosis import diagnose
from trimtab.job.lifecycle.each_batch import EachBatch
from trimtab.job.lifecycle.settings_watch import Inbox
from trimtab.job.lifecycle.stop_signal import StopSignal
from trimtab.job.mounted import require_mounted
from trimtab.job.query.builder import StreamBuilder, last_committed
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.fence import Fence
from trimtab.job.query.protocols import Sink, Source
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.termination import ExitCode, JobFailureError, Reason

log = logging.getLogger(__name__)

TICK_S = 0.2


class Runner:
    """One pipeline's query in this driver."""

    def __init__(
        self,
        job: Job,
        settings: Settings,
        *,
        builder: StreamBuilder,
        driver: DriverState,
        batches: Batches,
        checkpoint: Checkpoint,
        source: Source,
        sink: Sink,
        executors: Executors | None,
        locality: Locality,
        signal: StopSignal,
        fence: Fence | None = None,
        clock: Clock = monotonic_s,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """Nothing starts before `run`.

        `clock` is monotonic; `wait` returns after that many seconds or sooner.
        """
        self._builder = builder
        self._driver = driver
        self._batches = batches
        self._checkpoint = checkpoint
        self._source, self._sink = source, sink
        self._executors = executors
        self._locality = locality
        self._signal = signal
        self._volumes = job.volumes
        self._fence = fence
        self._each = EachBatch(driver, batches, checkpoint, source, executors, fence)
        self._clock = clock
        self._wake = threading.Event()
        self._wait = wait or self._wait_for_news
        self._query: StreamingQuery | None = None
        self._fitted: dict[str, float] = {}
        self._gate = Gate()
        self._at_once: AtOnce | None = None
        self._state = machine.State(job, settings)
        self.inbox = Inbox(settings, self._wake.set, self._refused)
        self.reflex = DriverReflex(driver, job.pipeline_uid)

    def run(self) -> ExitCode:
        """Run until the stop signal; raises JobFailureError if the pipeline cannot continue."""
        self._feed(events.Begin())
        while (end := self._state.end) is None:
            self._wait(POLL_S if self._state.at_gate else TICK_S)
            if (new := self.inbox.take()) is not None:
                self._feed(events.NewSettings(new))
            elif (wanted := self._more_wanted()) is not None:
                self._feed(events.MoreWanted(wanted))
            self._feed(self._look())
        if isinstance(end, JobFailureError):
            raise end
        return end

    def _wait_for_news(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _more_wanted(self) -> int | None:
        """Executors that the reflex wants; it looks only while a query runs."""
        state = self._state
        if self._executors is None or state.phase is not machine.Phase.RUNNING:
            return None
        wanted = self.reflex.look(state.settings.generation, self._executors.requested)
        if wanted is not None:
            log.info("asking for %d executors, more than the settings have", wanted)
            self._driver.totals.reflex_raises += 1
        return wanted

    def _look(self) -> events.Tick:
        query = self._query
        # before the boundary, see `judge_stop`
        active = query is not None and self._gate.running(query)
        if query is None or not self._state.at_gate:
            return events.Tick(active)
        return events.Tick(active, self._gate.at_boundary(lambda: last_committed(query)))

    def _feed(self, event: events.Event) -> None:
        """Step the machine with an event, then with the answers of its commands."""
        waiting: deque[events.Event] = deque([event])
        while waiting:
            if self._signal.at is not None and self._state.stop_at is None:
                waiting.appendleft(events.StopRequested(self._signal.at))
            self._state, decided = machine.step(self._state, waiting.popleft(), self._clock())
            for command in decided:
                if (answer := self._carry_out(command)) is not None:
                    waiting.append(answer)

    def _carry_out(self, command: commands.Command) -> events.Event | None:
        match command:
            case commands.CheckTopics():
                return self._check_topics()
            case commands.OpenCheckpoint():
                return self._open_checkpoint()
            case commands.Diagnose():
                return self._diagnose()
            case commands.Start(knobs, options):
                self._start(knobs, options)
            case commands.GoLive(knobs, executors):
                self._go_live(knobs, executors)
            case commands.CountChange(how, pauses_at):
                self._count_change(how, pauses_at)
            case commands.Adopt(settings, changed):
                self._batches.applied(settings.generation)
                log.info("settings %d: %s (%s)", settings.generation, changed, settings.reason)
            case commands.Show():
                self._show()
            case commands.CloseGate():
                self._gate.close()
            case commands.EndQuery(outcome):
                self._end_query(outcome)
            case commands.Announce(failure, wait_s):
                self._announce(failure, wait_s)
        return None

    def _check_topics(self) -> events.TopicsFound | events.ConnectFailed:
        try:
            require_mounted(self._volumes)
            self._source.require()
            self._sink.require()
        except JobFailureError as failure:
            return events.ConnectFailed(failure)
        return events.TopicsFound()

    def _open_checkpoint(self) -> events.CheckpointOpened | events.ConnectFailed:
        try:
            if self._fence is not None:
                self._fence.take()
            identity = self._source.identity()
        except JobFailureError as failure:
            return events.ConnectFailed(failure)
        self._checkpoint.require_topics(self._source.topics)
        if identity is not None:
            self._checkpoint.require_kafka(identity)
            self._builder.inherit(identity)
        self._batches.last_commit = self._checkpoint.last_commit_time()
        return events.CheckpointOpened(self._batches.last_commit is not None)

    def _start(self, knobs: Mapping[str, float], options: SourceOptions) -> None:
        if not self._stop_now(RESTART_TIMEOUT_S):
            words = f"Spark has not stopped the query within {RESTART_TIMEOUT_S:.0f} s"
            raise JobFailureError(Reason.QUERY_FAILED, words)
        number = self._checkpoint.next_run_number()
        self._batches.expect(QueryStart(number, self._checkpoint.replay_batch()))
        self._gate, self._at_once, self._batches.following = Gate(), None, None
        self._fitted = self._source.fitted(
            knobs, self._driver.record_bytes, len(self._driver.lag or {})
        )
        self._query = self._builder.start(
            {**knobs, **self._fitted}, options, self._gate, self._each.begin, self._written
        )
        self._batches.timing.fit(possible=self._builder.can_be_timed, trigger_s=knobs[TRIGGER.name])
        if self._builder.real_time:
            self._follow_commits(self._query)
        self._show()
        with self._driver.writing() as driver:
            driver.not_ready = None
            driver.real_time = self._builder.real_time
            driver.reads_committed = options.isolation_level is None
            driver.uses_python = self._builder.uses_python
            if self._builder.one_to_one and driver.totals.ledger_mismatch is None:
                driver.totals.ledger_mismatch = 0
        log.info("run %d started with %s", number, knobs)

    def _follow_commits(self, query: StreamingQuery) -> None:
        """In real-time mode only commits tell of batches."""
        stages = self._builder.stages
        self._at_once = AtOnce(
            query, self._each.begin, lambda: self._each.written(None, stages, {})
        )
        self._gate, self._batches.following = self._at_once.gate, self._at_once.following
        self._at_once.first(self._checkpoint.last_committed())

    def _show(self) -> None:
        """Export the values in force."""
        places = self._executors.places() if self._executors else {}
        with self._driver.writing() as driver:
            driver.effective = self._in_force()
            driver.raised_to = self._state.raised_to
            driver.places = places

    def _in_force(self) -> dict[str, float]:
        """The knobs that have an effect: maxInFlight has none without a stage of calls."""
        knobs = {k: v for k, v in self._state.knobs.items() if k != MAX_IN_FLIGHT.name}
        if self._builder.stages:
            knobs[MAX_IN_FLIGHT.name] = self._builder.live.max_in_flight
        return knobs | self._fitted

    def _written(self, split: Split | None) -> None:
        self._each.written(split, self._builder.stages, self._sink.spent_s)

    def _go_live(self, knobs: Mapping[str, float], executors: int | None) -> None:
        self._builder.live.set(knobs)
        scope = knobs.get(SCOPE.name)
        self._locality.set_scope(None if scope is None else int(scope))
        if executors is not None and self._executors is not None:
            self._executors.scale(executors)

    def _count_change(self, how: How, pauses_at: float | None) -> None:
        if pauses_at is not None:
            self._batches.pausing(how, pauses_at)
        self._driver.totals.changes[how] += 1

    def _end_query(self, outcome: Outcome) -> None:
        self._stop_now()
        self._each.abandon()
        if outcome is Outcome.UNCLEAN:
            self._driver.totals.unclean_stops += 1
            again = f"{self._source.on_replay}; {self._sink.on_replay}"
            log.warning("the batch was cut short and will run again: %s", again)
        log.info("stopped: %s", outcome.name.lower())

    def _diagnose(self) -> events.QueryFailed:
        self._each.abandon()
        written = self._builder.writer.failure if self._builder.writer else None
        written = (self._at_once.failure if self._at_once else None) or written
        assert self._query is not None  # it has failed
        failure = diagnose(
            self._query, written, self._source, self._checkpoint, self._builder.blamed
        )
        return events.QueryFailed(failure, last_committed(self._query) is not None)

    def _announce(self, failure: JobFailureError | None, wait_s: float) -> None:
        if failure is None:
            self._driver.not_ready = "stopping"
            return
        log.warning("%s: %s; next try in %.0f s", failure.reason, failure, wait_s)
        self._driver.not_ready = f"{failure.reason}: {failure}"

    def _refused(self, generation: int) -> None:
        self._driver.rejected_generation = generation

    def abort(self) -> None:
        """Stop the query after a failure of the driver."""
        self._gate.close()
        self._stop_now()

    def _stop_now(self, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Whether no query runs any more."""
        if self._query is None or not self._gate.running(self._query):
            return True
        return stop_now(self._query, timeout_s)
