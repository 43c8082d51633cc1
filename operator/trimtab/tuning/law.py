"""The control law: a frozen snapshot and a memory in, one decision and a memory out.

The phases run in order; the first that returns a decision ends the tick.

    preconditions    limits, the shared budget, refused executors, no input, policies that
                     contradict each other, metrics, a trial that ended early, settings not yet
                     applied
    assessment       learn from the newest batch, fit the model, measure the load
    priorities       a raise by the driver itself, batches that overload, an open trial, a draining
                     backlog
    change           a raise, a release, the locality scope, else the reason to hold
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from trimtab.api.reasons import Action, Reason, Regime
from trimtab.tuning import (
    adopting,
    guards,
    idle,
    knobs,
    messages,
    overload,
    real_time,
    recommending,
    regime,
    scope,
)
from trimtab.tuning.acting import act
from trimtab.tuning.advice import oversize
from trimtab.tuning.capacity import evenness, learning, running
from trimtab.tuning.capacity.load import input_rate_of, measure
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import NOTHING, Decision, Step, hold
from trimtab.tuning.diagnosis.bottleneck import diagnose
from trimtab.tuning.diagnosis.catching_up import catching_up
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.dwell import NOT_SEEN
from trimtab.tuning.forecast import ahead
from trimtab.tuning.governance import phases
from trimtab.tuning.knobs import topic
from trimtab.tuning.snapshot import Batch, Snapshot
from trimtab.tuning.trials import judgement, trial
from trimtab.tuning.trials.life import close


def decide(snapshot: Snapshot, memory: ControllerState) -> Step:
    """This tick's decision and the memory after it. Anything unknown means hold."""
    memory = ahead.observe(snapshot, idle.observe(snapshot, memory))
    for phase in FORBIDDING:
        if step := phase(snapshot, memory):
            return step
    batch = snapshot.signals and snapshot.signals.batch
    assert batch, "without a batch, a precondition would have held"
    memory = learning.observe(snapshot, _with_input(snapshot, memory), batch)
    known = _assess(snapshot, memory, batch)
    return (known, memory) if isinstance(known, Decision) else _steer(known)


# preconditions


def _out_of_limits(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    clamped = knobs.clamp(snapshot.policy, memory.settings)
    if clamped == memory.settings:
        return None
    changes = memory.settings.differences(clamped)
    message = f"limits and pinned values: {', '.join(changes)}"
    decision = Decision(Action.CHANGE, Reason.CLAMPED, message, clamped, changes)
    return decision, memory.enforced(clamped)


def _executors_refused(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    end = trial.refused(memory.trial, snapshot) if memory.trial else None
    return close(snapshot, memory, end, None, 0.0) if end else None


def _no_metrics(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    if snapshot.signals:
        return None
    return hold(memory, Reason.NO_METRICS, snapshot.no_signals), memory


def _trial_ended_early(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    signals, watched = snapshot.signals, memory.trial
    end = trial.early_end(watched, snapshot, signals) if watched and signals else None
    return close(snapshot, memory, end, None, 0.0) if end else None


def _oversize_running(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    larger = snapshot.signals and oversize.running(snapshot.signals, memory.settings)
    if not larger:
        return None
    return hold(memory, Reason.PLANNED_OVERSIZE, oversize.message(larger)), memory


def _not_applied(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    applied = snapshot.signals.settings_generation if snapshot.signals else 0
    if applied >= memory.generation:
        return None
    message = f"the driver runs settings generation {applied}, not yet {memory.generation}"
    return hold(memory, Reason.NOT_APPLIED_YET, message), memory


def _no_batch(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    if snapshot.signals and snapshot.signals.batch:
        return None
    return hold(memory, Reason.NO_BATCH_YET, "no batch has finished yet"), memory


def _oversize_ended(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    batch = snapshot.signals and snapshot.signals.batch
    if not batch or not oversize.ended(batch, memory.settings):
        return None
    message = f"batch {batch.id} was planned before the limit was lowered and is ignored"
    return hold(memory, Reason.PLANNED_OVERSIZE, message), memory


FORBIDDING: tuple[Callable[[Snapshot, ControllerState], Step | None], ...] = (
    _out_of_limits, phases.over_budget, _executors_refused, idle.step, phases.conflict,
    _no_metrics, _trial_ended_early,
    _oversize_running, _not_applied, real_time.step, _no_batch, _oversize_ended,
)  # fmt: skip


# assessment


def _with_input(snapshot: Snapshot, memory: ControllerState) -> ControllerState:
    """The memory after a look at the input: the peak that executors must carry, and the level."""
    rate = input_rate_of(snapshot.signals) if snapshot.signals else None
    if rate is None:
        return memory
    recurrence = memory.recurrence.observe(snapshot.now_s, rate)
    quiet = memory.quiet.observe(snapshot.now_s, rate)
    return replace(memory, recurrence=recurrence, quiet=quiet)


def _assess(snapshot: Snapshot, memory: ControllerState, batch: Batch) -> Context | Decision:
    """This tick's model and load, or the decision to hold if they are unknown."""
    model = learning.fitted(snapshot, memory.points)
    first = learning.first_guess(snapshot, memory, batch)
    late = running.late(snapshot, memory, model) if model else None
    if model and late:
        model = model.slowed(late.slowdown)
    load = measure(snapshot, model or first, ahead.expected(snapshot, memory))
    if model is None and not (load and learning.falls_behind(snapshot, load)):
        return hold(memory, Reason.CALIBRATING, messages.calibrating(batch), load)
    model = model or first
    if model is None or load is None:
        return hold(memory, Reason.LOAD_UNKNOWN, "input, lag or capacity are not known yet")
    band = regime.band(snapshot.policy, memory, snapshot.now_s)
    return Context(snapshot, memory, model, load, band, late)


# priorities


def _watch(context: Context) -> Step | None:
    """Judge the open trial; if its change is kept, the next one may follow in the same tick."""
    snapshot, memory, watched = context.snapshot, context.memory, context.memory.trial
    if watched is None:
        return None
    carried = learning.carried(snapshot, memory.points, watched.before)
    load, band = context.load, context.band
    doubt = evenness.doubt(memory.slow_batch)
    end = judgement.judge(
        watched, snapshot, context.model, load, band,
        carried=carried, doubt=doubt, learned=learning.learned(snapshot, memory.points),
    )  # fmt: skip
    if end is None:
        message = messages.progress(watched, snapshot)
        return hold(memory, Reason.TRIAL_OPEN, message, load), memory
    closing, closed = close(snapshot, memory, end, load, carried)
    if end.action is Action.REVERT:
        return closing, closed
    following, after = _steer(replace(context, memory=closed))
    if not following.moves:
        return closing, after
    return replace(following, closed=closing), after


def _drain(context: Context) -> Step | None:
    """Hold while a backlog drains fast enough."""
    batch = context.snapshot.signals and context.snapshot.signals.batch
    draining = catching_up(context, batch) if batch else ""
    if not draining:
        return None
    now_s = context.snapshot.now_s
    memory = replace(context.memory, evidence=NOT_SEEN)
    memory = regime.switch(memory, Regime.CATCHING_UP, now_s)
    return hold(memory, Reason.CATCHING_UP, draining, context.load), memory


# change


@dataclass(frozen=True, slots=True)
class _Options:
    """Which side of the bounds the load is on, and what could be done about it."""

    over: bool
    bottleneck: Bottleneck
    raises: list[Proposal]
    releases: list[Proposal]

    @property
    def under(self) -> bool:
        """Whether something can be released."""
        return bool(self.releases)


def _options(context: Context) -> _Options:
    load = context.load
    over = load.value >= context.band.higher
    bottleneck, raises = NOTHING, []
    if over:
        bottleneck = diagnose(context.snapshot, context.model, load, context.memory.fastest)
        raises = knobs.raising(context, bottleneck.kind)
    if context.policy.maximum:
        return _at_maximum(context, _Options(over, bottleneck, raises, knobs.releasing(context)))
    behind = load.latency is None and load.backlog > 0
    releases = [] if over or behind else knobs.releasing(context)
    return _Options(over, bottleneck, raises, releases)


def _at_maximum(context: Context, found: _Options) -> _Options:
    """A goal of `max` releases what adds nothing, but only when no raise is left.

    Executors that add nothing now may help after another knob has moved.
    """
    if found.releases and guards.first_allowed(context, found.raises)[0]:
        return replace(found, releases=[])
    return replace(found, over=found.over and not found.releases)


def _steer(context: Context) -> Step:
    context = replace(context, memory=recommending.replayed(context))
    for before in (adopting.step, overload.step, _watch, _drain):
        if step := before(context):
            return step
    options = _options(context)
    memory = regime.step(context.memory, context.snapshot, over=options.over, under=options.under)
    context = replace(context, memory=memory)
    for phase in (_raise, _release, _infeasible, _dwell):
        if step := phase(context, options):
            return scope.follow(context, step, over=options.over)
    return scope.follow(context, _within(context), over=False)


def _raise(context: Context, options: _Options) -> Step | None:
    if context.memory.regime is not Regime.OVER:
        return None
    decision, after = act(context, options.raises, options.bottleneck)
    if decision.moves:
        after = ahead.raised(context, after)
    return replace(decision, partitions=topic.advised(context, options.bottleneck.kind)), after


def _release(context: Context, options: _Options) -> Step | None:
    if context.memory.regime is not Regime.UNDER:
        return None
    return act(context, options.releases, NOTHING)


def _infeasible(context: Context, options: _Options) -> Step | None:
    infeasible = messages.infeasible(context) if options.over else ""
    if not infeasible:
        return None
    return hold(context.memory, Reason.GOAL_INFEASIBLE, infeasible, context.load), context.memory


def _dwell(context: Context, options: _Options) -> Step | None:
    if not (options.over or options.under):
        return None
    memory, side = context.memory, "above" if options.over else "below"
    counted = memory.evidence.over or memory.evidence.under
    message = f"{messages.loads(context)} is {side} the bounds, seen {counted} times in a row"
    return hold(memory, Reason.DWELLING, message, context.load), memory


def _within(context: Context) -> Step:
    memory = recommending.withdrawn(context.memory)
    lower, higher = context.band.lower, context.band.higher
    message = f"{messages.loads(context)} lies within {lower:.2f} and {higher:.2f}"
    return hold(memory, Reason.WITHIN_BOUNDS, message, context.load), memory
