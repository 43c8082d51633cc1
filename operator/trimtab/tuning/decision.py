"""One tick of one pipeline: a frozen snapshot and a memory in, one decision and a memory out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.api.pipeline import Mode
from trimtab.api.reasons import Action, BottleneckKind, Reason, Regime
from trimtab.tuning import guards, knobs, regime, running, trial
from trimtab.tuning.bottleneck import Bottleneck, diagnose
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.load import Load, least_latency_s, measure
from trimtab.tuning.memory import Evidence, Memory, Trial
from trimtab.tuning.model import Point, fit, learn
from trimtab.tuning.snapshot import Batch, Settings, Snapshot

WARM_UP_BATCHES = 2
"""Batches after a driver start that teach nothing: JIT, empty caches."""

CATCH_UP_SHARE = 0.8
"""Share of the predicted slope at which a falling lag counts as catching up."""


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

    @property
    def moves(self) -> bool:
        """Whether settings are to be written."""
        return bool(self.changes) and self.action in {Action.CHANGE, Action.REVERT}


def decide(snapshot: Snapshot, memory: Memory) -> tuple[Decision, Memory]:
    """The decision of this tick and the memory after it. Unknown always means hold."""
    clamped = snapshot.policy.clamp(memory.settings)
    if clamped != memory.settings:
        return _clamp(memory, clamped)
    signals = snapshot.signals
    if signals is None:
        return _hold(memory, Reason.NO_METRICS, snapshot.no_signals), memory
    if memory.trial and (end := trial.early_end(memory.trial, snapshot, signals)):
        return _close(snapshot, memory, end, None)
    if signals.settings_generation < memory.generation:
        message = (
            f"the driver runs settings generation {signals.settings_generation},"
            f" not yet {memory.generation}"
        )
        return _hold(memory, Reason.NOT_APPLIED_YET, message), memory
    if signals.batch is None:
        return _hold(memory, Reason.NO_BATCH_YET, "no batch has finished yet"), memory
    memory = _observe(snapshot, memory, signals.batch)
    model = fit(memory.points, signals.partitions or 1)
    late = running.late(snapshot, memory, model) if model else None
    if model and late:
        model = model.slowed(late.slowdown)
    load = measure(snapshot, model)
    if model is None or load is None:
        message = "input, lag or capacity are not known yet"
        return _hold(memory, Reason.LOAD_UNKNOWN, message), memory
    band = regime.band(snapshot.policy, memory, snapshot.now_s)
    return _steer(Context(snapshot, memory, model, load, band, late), signals.batch)


def _steer(context: Context, batch: Batch) -> tuple[Decision, Memory]:
    snapshot, memory, load = context.snapshot, context.memory, context.load
    if memory.trial:
        end = trial.judge(memory.trial, snapshot, context.model, load, context.band)
        if end:
            return _close(snapshot, memory, end, load)
        return _hold(memory, Reason.TRIAL_OPEN, _progress(memory.trial), load), memory
    if words := _catching_up(context, batch):
        memory = regime.switch(replace(memory, evidence=Evidence()), Regime.CATCHING_UP,
                               snapshot.now_s)  # fmt: skip
        return _hold(memory, Reason.CATCHING_UP, words, load), memory
    over = load.value >= context.band.higher
    releases = (
        [] if over or (load.latency is None and load.backlog > 0) else knobs.releasing(context)
    )
    memory = regime.step(memory, snapshot, over=over, under=bool(releases))
    context = replace(context, memory=memory)
    if memory.regime is Regime.OVER:
        bottleneck = diagnose(snapshot, context.model, load)
        proposals = knobs.raising(context, bottleneck.kind)
        return _act(context, proposals, bottleneck)
    if memory.regime is Regime.UNDER:
        return _act(context, releases, NOTHING)
    words = f"load {load.value:.2f} (capacity {load.capacity:.2f}, latency {_number(load.latency)})"
    words += f", {context.late.words}," if context.late else ""
    if over or releases:
        side = "above" if over else "below"
        counted = memory.evidence.over or memory.evidence.under
        message = f"{words} is {side} the bounds, seen {counted} times in a row"
        return _hold(memory, Reason.DWELLING, message, load), memory
    message = f"{words} lies within {context.band.lower:.2f} and {context.band.higher:.2f}"
    return _hold(memory, Reason.WITHIN_BOUNDS, message, load), memory


def _observe(snapshot: Snapshot, memory: Memory, batch: Batch) -> Memory:
    """Count the newest batch in an open trial, and learn from it if it ran undisturbed."""
    warm = True
    if memory.trial:
        watched = trial.observe(memory.trial, snapshot)
        memory = replace(memory, trial=watched)
        warm = watched.judged > 0
    signals = snapshot.signals
    executors = signals.executors_running if signals else None
    whole = (
        not batch.replayed
        and batch.settings_generation >= memory.generation
        and batch.executors_min == executors == snapshot.settings.executors
    )
    if not (warm and whole and batch.since_start > WARM_UP_BATCHES):
        return memory
    point = Point(
        slots=batch.executors_min * snapshot.policy.slots_per_executor,
        records=batch.records,
        out_s=round(batch.overhead_s, 3),
        duration_s=round(batch.duration_s, 3),
    )
    return replace(memory, points=learn(memory.points, point))


def _catching_up(context: Context, batch: Batch) -> str:
    """Words while a backlog drains as fast as it should; empty otherwise."""
    load, settings = context.load, context.settings
    if load.latency is not None or load.backlog <= 0 or batch.executors_min < settings.executors:
        return ""
    rate = batch.records / max(batch.duration_s, settings.trigger_s)
    if context.late:
        rate = min(rate, context.late.rate)
    slope = rate - load.steady
    slots = settings.executors * context.policy.slots_per_executor
    full_s = context.model.duration_s(settings.max_offsets, slots)
    predicted = settings.max_offsets / max(full_s, settings.trigger_s) - load.steady
    needed = load.backlog / context.policy.catch_up_s
    if slope <= 0 or slope < needed or slope < CATCH_UP_SHARE * min(predicted, slope * 2):
        return ""
    left_s = load.backlog / slope
    return f"{load.backlog:.0f} records behind, falling by {slope:.0f}/s: gone in {left_s:.0f} s"


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
    cause = f"{bottleneck.kind} ({bottleneck.evidence})" if proposal.raises else "more than needed"
    cause += f"; {context.late.words}" if context.late else ""
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
    policy, load = context.policy, context.load
    least_s = least_latency_s(context.model, policy, load.steady)
    # one late batch says nothing of what any setting could do at best
    if policy.target_s is not None and context.late is None and least_s > policy.target_s:
        message = (
            f"no setting within the limits can hold {context.policy.goal_text()}: the least at"
            f" {load.steady:.0f} records/s is {least_s:.1f} s"
        )
        return _hold(context.memory, Reason.GOAL_INFEASIBLE, message, load, bottleneck)
    message = f"load {load.value:.2f}, but no knob within the limits helps: {bottleneck.evidence}"
    return _hold(context.memory, Reason.SATURATED, message, load, bottleneck)


def _open(context: Context, proposal: Proposal) -> Memory:
    memory, now_s = context.memory, context.snapshot.now_s
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
    )
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
    )


def _close(
    snapshot: Snapshot, memory: Memory, end: trial.Outcome, load: Load | None
) -> tuple[Decision, Memory]:
    changes = memory.settings.differences(end.settings)
    decision = Decision(end.action, end.reason, end.message, end.settings, changes, load)
    closed, watched = replace(memory, trial=None, evidence=Evidence()), memory.trial
    if end.action is Action.REVERT and watched is not None:
        now_s = snapshot.now_s
        closed = replace(
            closed,
            verdicts=trial.remember(memory.verdicts, watched, memory.settings, now_s),
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


def _progress(watched: Trial) -> str:
    return (
        f"trial of {watched.knob} (generation {watched.generation}): {watched.settled} batches"
        f" left out, {watched.judged} of {trial.JUDGED} judged"
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
