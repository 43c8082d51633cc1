"""Open and close a trial in the memory."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import How
from trimtab.api.reasons import Action, Reason, Regime
from trimtab.tuning import knobs, regime
from trimtab.tuning.capacity.epochs import SLOWER, SURPRISE
from trimtab.tuning.capacity.load import Load
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.decision import Decision, Step
from trimtab.tuning.dwell import NOT_SEEN
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials import trial, verdicts
from trimtab.tuning.trials.outcome import Outcome

NO_VERDICTS = {Reason.RISE_OVERTOOK, Reason.BATCH_WAS_LATE, Reason.IDLE}
"""Reverts that say nothing about the change at its own load, so that it may be made again."""


def open_(context: Context, proposal: Proposal) -> ControllerState:
    """The memory after a change is made and its trial opened."""
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
        input_rate=context.load.input_rate,
        load_before=round(context.load.value, 3),
        predicted_load=round(proposal.predicted, 3),
        slowdown=round(context.late.slowdown, 3) if context.late else 1.0,
        batch=memory.evidence.batch,
        rate_before=round(rate, 3),
    )
    if proposal.how is not How.LIVE:
        memory = memory.paused(now_s)
    if knobs.named(proposal.knob).oscillates:
        memory = _turned(context, memory, raises=proposal.raises)
    if opened.slowdown > SURPRISE:
        memory = replace(memory, surprise=opened.slowdown, unproven=SLOWER)
    memory = regime.switch(memory, Regime.WITHIN, now_s)
    return replace(
        memory,
        generation=opened.generation,
        settings=proposal.settings,
        trial=opened,
        evidence=NOT_SEEN,
        scope_evidence=NOT_SEEN,
        quiet=memory.quiet.moved(now_s),
    )


def _turned(context: Context, memory: ControllerState, *, raises: bool) -> ControllerState:
    """The memory after executors were raised or released, to recognise what comes back."""
    now_s, rate, peak = context.snapshot.now_s, context.load.input_rate, memory.recurrence
    if raises:
        memory = regime.widen(memory, 1, rate, now_s)
        return replace(memory, recurrence=peak.raised(now_s), quiet=memory.quiet.raised(now_s))
    memory = regime.widen(memory, -1, max(rate, peak.rate), now_s)
    quietly = context.one_fewer_load >= context.band.lower
    return replace(
        memory, recurrence=peak.released(now_s), quiet=memory.quiet.released(quietly=quietly)
    )


def close(
    snapshot: Snapshot, memory: ControllerState, end: Outcome, load: Load | None, capacity: float
) -> Step:
    """End the trial; `capacity` is that of the settings before it in records/s, 0 if unknown."""
    changes = memory.settings.differences(end.settings)
    decision = Decision(end.action, end.reason, end.message, end.settings, changes, load)
    closed, watched = replace(memory, trial=None, evidence=NOT_SEEN), memory.trial
    if watched is None:
        return decision, closed
    closed = replace(closed, start_s=_start_s(memory, watched))
    if end.judged and load is not None:
        kept, predicted = end.action is Action.KEEP, watched.predicted_load
        score = memory.score.with_trial(kept=kept, predicted=predicted, seen=load.value)
        closed = replace(closed, score=score)
    if end.action is Action.REVERT:
        now_s = snapshot.now_s
        closed = replace(
            closed,
            generation=memory.generation + 1,
            settings=end.settings,
            quiet=memory.quiet.raised(now_s).moved(now_s),
        )
        if end.reason is Reason.RISE_OVERTOOK:
            closed = replace(closed, recurrence=memory.recurrence.raised(now_s))
        if end.reason not in NO_VERDICTS:
            failed = verdicts.remember(memory.verdicts, watched, memory.settings, now_s, capacity)
            closed = replace(closed, verdicts=failed)
    return decision, closed


def _start_s(memory: ControllerState, watched: Trial) -> float:
    """Seconds that executors take to start: the mean of this raise's and what is known.

    They took as long as they were seen to be missing. Those that never ran tell nothing.
    """
    more = watched.raises and watched.before.executors < memory.settings.executors
    if not more or not (watched.settled or watched.judged):
        return memory.start_s
    seen_s = max(0.0, watched.missing_at_s - watched.opened_at_s)
    return round((memory.start_s + seen_s) / 2 if memory.start_s else seen_s)
