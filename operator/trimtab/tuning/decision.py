"""One tick of one pipeline: a frozen snapshot and a memory in, one decision and a memory out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.api.knobs import How
from trimtab.api.pipeline import Mode
from trimtab.api.reasons import Action, BottleneckKind, Reason, Regime
from trimtab.tuning import (
    guards,
    judgement,
    knobs,
    learning,
    oversize,
    regime,
    running,
    trial,
    verdicts,
    words,
)
from trimtab.tuning.bottleneck import Bottleneck, diagnose
from trimtab.tuning.catching_up import catching_up
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import cores, locality, parallelism, topic
from trimtab.tuning.load import Load, measure
from trimtab.tuning.memory import MAX_PAUSES, Evidence, Memory, Trial
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Snapshot

NOTHING = Bottleneck(BottleneckKind.NONE, "")


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do and why; the reason and message become condition, Event, metric and log."""

    action: Action
    reason: Reason
    message: str
    settings: Settings
    changes: tuple[str, ...] = ()
    load: Load | None = None
    bottleneck: Bottleneck = NOTHING
    partitions: int | None = None
    """Partitions of the source that would lift the bottleneck, where those are what limits."""
    closed: Decision | None = None
    """The end of the trial that this change followed at once."""

    @property
    def told(self) -> tuple[Decision, ...]:
        """What there is to tell, in order: the end of a trial comes before what followed it."""
        return (self.closed, self) if self.closed else (self,)

    @property
    def moves(self) -> bool:
        """Whether settings are to be written."""
        return bool(self.changes) and self.action in {Action.CHANGE, Action.REVERT}


def decide(snapshot: Snapshot, memory: Memory) -> tuple[Decision, Memory]:
    """The decision of this tick and the memory after it. Unknown always means hold."""
    clamped = snapshot.policy.clamp(memory.settings)
    if clamped != memory.settings:
        return _clamp(memory, clamped)
    snapshot = replace(snapshot, policy=snapshot.policy.at_cores(memory.settings.cores))
    signals = snapshot.signals
    if signals is None:
        return _hold(memory, Reason.NO_METRICS, snapshot.no_signals), memory
    if memory.trial and (end := trial.early_end(memory.trial, snapshot, signals)):
        return _close(snapshot, memory, end, None, 0.0)
    if larger := oversize.running(signals, memory.settings):
        return _hold(memory, Reason.PLANNED_OVERSIZE, larger.words), memory
    if signals.settings_generation < memory.generation:
        message = (
            f"the driver runs settings generation {signals.settings_generation},"
            f" not yet {memory.generation}"
        )
        return _hold(memory, Reason.NOT_APPLIED_YET, message), memory
    if signals.batch is None:
        return _hold(memory, Reason.NO_BATCH_YET, "no batch has finished yet"), memory
    if oversize.ended(signals.batch, memory.settings):
        message = (
            f"batch {signals.batch.id} was planned before the limit came down: it says nothing"
        )
        return _hold(memory, Reason.PLANNED_OVERSIZE, message), memory
    memory = learning.observe(snapshot, memory, signals.batch)
    model = learning.fitted(snapshot, memory.points)
    first = learning.first_guess(snapshot, memory, signals.batch)
    late = running.late(snapshot, memory, model) if model else None
    if model and late:
        model = model.slowed(late.slowdown)
    load = measure(snapshot, model or first)
    if model is None and not (load and learning.falls_behind(snapshot, load)):
        return _hold(memory, Reason.CALIBRATING, words.calibrating(signals.batch), load), memory
    model = model or first
    if model is None or load is None:
        message = "input, lag or capacity are not known yet"
        return _hold(memory, Reason.LOAD_UNKNOWN, message), memory
    band = regime.band(snapshot.policy, memory, snapshot.now_s)
    return _steer(Context(snapshot, memory, model, load, band, late), signals.batch)


def _watch(context: Context, batch: Batch, watched: Trial) -> tuple[Decision, Memory]:
    """Judge the open trial; once its change is kept, the next one need not wait for a tick."""
    snapshot, memory, load = context.snapshot, context.memory, context.load
    carried = learning.carried(snapshot, memory.points, watched.before)
    end = judgement.judge(watched, snapshot, context.model, load, context.band, carried=carried)
    if end is None:
        message = words.progress(watched, snapshot)
        return _hold(memory, Reason.TRIAL_OPEN, message, load), memory
    closing, closed = _close(snapshot, memory, end, load, carried)
    if end.action is Action.REVERT:
        return closing, closed
    following, after = _steer(replace(context, memory=closed), batch)
    if not following.moves:
        return closing, after
    return replace(following, closed=closing), after


def _steer(context: Context, batch: Batch) -> tuple[Decision, Memory]:
    snapshot, memory, load = context.snapshot, context.memory, context.load
    if memory.trial:
        return _watch(context, batch, memory.trial)
    if draining := catching_up(context, batch):
        memory = regime.switch(replace(memory, evidence=Evidence()), Regime.CATCHING_UP,
                               snapshot.now_s)  # fmt: skip
        return _hold(memory, Reason.CATCHING_UP, draining, load), memory
    over, maximum = load.value >= context.band.higher, context.policy.maximum
    behind = load.latency is None and load.backlog > 0
    idle = maximum or not (over or behind)
    releases = knobs.releasing(context) if idle else []
    bottleneck = diagnose(snapshot, context.model, load, memory.fastest) if over else NOTHING
    raises = knobs.raising(context, bottleneck.kind) if over else []
    if maximum and releases and guards.first_allowed(context, raises)[0]:
        releases = []  # executors that add nothing now may do so once another knob has moved
    over = over and not (maximum and releases)
    memory = regime.step(memory, snapshot, over=over, under=bool(releases))
    context = replace(context, memory=memory)
    if memory.regime is Regime.OVER:
        decision, after = _act(context, raises, bottleneck)
        return replace(decision, partitions=topic.advised(context, bottleneck.kind)), after
    if memory.regime is Regime.UNDER:
        return _act(context, releases, NOTHING)
    return _wait(context, over=over, under=bool(releases))


def _wait(context: Context, *, over: bool, under: bool) -> tuple[Decision, Memory]:
    """Neither Over nor Under: hold and say why, unless the tasks should run nearer or farther."""
    memory, load = context.memory, context.load
    seen = words.loads(context)
    if over and (infeasible := words.infeasible(context)):
        return _hold(memory, Reason.GOAL_INFEASIBLE, infeasible, load), memory
    if over or under:
        side = "above" if over else "below"
        counted = memory.evidence.over or memory.evidence.under
        message = f"{seen} is {side} the bounds, seen {counted} times in a row"
        return _hold(memory, Reason.DWELLING, message, load), memory
    offer = locality.drift(context)
    wider = None if offer is None else offer.reason is Reason.SCOPE_WIDENED
    memory = regime.step_scope(memory, context.snapshot, wider=wider)
    if offer and regime.scope_due(memory, context.policy):
        return _act(replace(context, memory=memory), [offer], NOTHING)
    message = f"{seen} lies within {context.band.lower:.2f} and {context.band.higher:.2f}"
    return _hold(memory, Reason.WITHIN_BOUNDS, message, load), memory


def _act(
    context: Context, proposals: list[Proposal], bottleneck: Bottleneck
) -> tuple[Decision, Memory]:
    memory, load, policy = context.memory, context.load, context.policy
    proposal, veto = guards.first_allowed(context, proposals)
    if proposal is None and veto is not None:
        return _hold(memory, veto.reason, veto.message, load, bottleneck), memory
    if proposal is None:
        return _saturated(context, bottleneck), memory
    changes = context.settings.differences(proposal.settings)
    cause = words.cause(context, proposal, bottleneck)
    message = (
        f"{cause}; load {load.value:.2f} at {load.demand:.0f} records/s:"
        f" {', '.join(changes)}, predicted load {proposal.predicted:.2f}"
    )
    if policy.mode is not Mode.AUTO:
        recommend = policy.mode is Mode.RECOMMEND
        decision = Decision(
            action=Action.RECOMMEND if recommend else Action.HOLD,
            reason=proposal.reason if recommend else Reason.OBSERVE_ONLY,
            message=message,
            settings=proposal.settings if recommend else context.settings,
            changes=changes if recommend else (),
            load=load,
            bottleneck=bottleneck,
        )
        return decision, memory
    decision = Decision(
        Action.CHANGE, proposal.reason, message, proposal.settings, changes, load, bottleneck
    )
    return decision, _open(context, proposal)


def _saturated(context: Context, bottleneck: Bottleneck) -> Decision:
    load, allow = context.load, cores.to_allow(context, bottleneck.kind)
    if infeasible := words.infeasible(context):
        message = infeasible + allow
        return _hold(context.memory, Reason.GOAL_INFEASIBLE, message, load, bottleneck)
    message = f"load {load.value:.2f}, but no knob within the limits helps: {bottleneck.evidence}"
    if bottleneck.kind is BottleneckKind.MEMORY:
        message += "; status.jvm says which heap or collector would, once it is known"
    if more := topic.advised(context, bottleneck.kind):
        message += f"; {more} partitions of the source would"
    return _hold(context.memory, Reason.SATURATED, message + allow, load, bottleneck)


def _open(context: Context, proposal: Proposal) -> Memory:
    memory, now_s = context.memory, context.snapshot.now_s
    batch = context.snapshot.signals.batch if context.snapshot.signals else None
    rate = 0.0
    if batch:
        rate = trial.rate_before(memory.points, batch, context.slots, context.settings)
    opened = Trial(
        knob=proposal.knob,
        generation=memory.generation + 1,
        before=context.settings,
        opened_at_s=now_s,
        raises=proposal.raises,
        steady=context.load.steady,
        load_before=round(context.load.value, 3),
        predicted_load=round(proposal.predicted, 3),
        slowdown=round(context.late.slowdown, 3) if context.late else 1.0,
        batch=context.memory.evidence.batch,
        rate_before=round(rate, 3),
    )
    if proposal.how is not How.LIVE:
        memory = replace(memory, paused_at_s=(*memory.paused_at_s, now_s)[-MAX_PAUSES:])
    if proposal.knob == parallelism.NAME:
        direction = 1 if proposal.raises else -1
        memory = regime.widen(memory, direction, context.load.steady, now_s)
    memory = regime.switch(memory, Regime.WITHIN, now_s)
    return replace(
        memory,
        generation=opened.generation,
        settings=proposal.settings,
        trial=opened,
        evidence=Evidence(),
        scope_evidence=Evidence(),
    )


def _close(
    snapshot: Snapshot, memory: Memory, end: trial.Outcome, load: Load | None, capacity: float
) -> tuple[Decision, Memory]:
    """End the trial; `capacity` is what the settings before it carry, 0 where unknown."""
    changes = memory.settings.differences(end.settings)
    decision = Decision(end.action, end.reason, end.message, end.settings, changes, load)
    closed, watched = replace(memory, trial=None, evidence=Evidence()), memory.trial
    if watched is None:
        return decision, closed
    if end.judged and load is not None:
        kept, predicted = end.action is Action.KEEP, watched.predicted_load
        score = memory.score.with_trial(kept=kept, predicted=predicted, seen=load.value)
        closed = replace(closed, score=score)
    if end.action is Action.REVERT:
        now_s = snapshot.now_s
        closed = replace(
            closed,
            verdicts=verdicts.remember(memory.verdicts, watched, memory.settings, now_s, capacity),
            generation=memory.generation + 1,
            settings=end.settings,
        )
    return decision, closed


def _clamp(memory: Memory, clamped: Settings) -> tuple[Decision, Memory]:
    changes = memory.settings.differences(clamped)
    message = f"limits and pinned values of the spec: {', '.join(changes)}"
    decision = Decision(Action.CHANGE, Reason.CLAMPED, message, clamped, changes)
    memory = replace(
        memory, generation=memory.generation + 1, settings=clamped, trial=None,
        evidence=Evidence(),
    )  # fmt: skip
    return decision, memory


def _hold(
    memory: Memory,
    reason: Reason,
    message: str,
    load: Load | None = None,
    bottleneck: Bottleneck = NOTHING,
) -> Decision:
    return Decision(Action.HOLD, reason, message, memory.settings, load=load, bottleneck=bottleneck)
