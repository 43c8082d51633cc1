"""The law of Spark's real-time mode, which is small: a slot for each partition, and an interval.

Every task runs for the whole interval and reads one partition, so fewer slots than partitions leave
some unread meanwhile, and more do nothing. Records wait only where an interval ends, while Spark
commits: an interval twice as long halves their share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from trimtab.api.knobs import EXECUTORS, TRIGGER
from trimtab.api.quantities import counted
from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning import guards
from trimtab.tuning.context import Veto
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision, Step, hold
from trimtab.tuning.governance.restraint import within
from trimtab.tuning.recommendation import Recommendation
from trimtab.tuning.recommending import how_to_approve, withdrawn
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals, Snapshot

INTERVALS_S = (10.0, 30.0)
"""What the interval may become: a drain waits for its end, by default for up to 60 s."""
COLD = 2
"""Batches after a start that say nothing: the JVMs are new."""


def step(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    """The decision for a query in real-time mode; None for any other."""
    signals = snapshot.signals
    if signals is None or not signals.real_time:
        return None
    if signals.partitions is None:
        return hold(memory, Reason.LOAD_UNKNOWN, "the partitions are not known yet"), memory
    if moved := _slots(snapshot, memory, signals.partitions):
        return moved
    return _interval(snapshot, memory, signals)


def _slots(snapshot: Snapshot, memory: ControllerState, partitions: int) -> Step | None:
    """As many executors as have a slot for each partition, as far as limits and policies allow."""
    policy, now = snapshot.policy, memory.settings
    needed = math.ceil(partitions / (now.cores or policy.cores))
    wanted = min(max(needed, policy.min_executors), policy.max_executors)
    budget = snapshot.constraints.budget_executors
    if budget is not None:
        wanted = min(wanted, max(budget, now.executors))
    settings = within(policy, replace(now, executors=wanted))
    words = f"in real-time mode, {counted(partitions, 'partition')} need a slot each at once"
    if settings.executors != now.executors and not policy.fixes(EXECUTORS.name):
        raises = settings.executors > now.executors
        reason = Reason.EXECUTORS_RAISED if raises else Reason.EXECUTORS_RELEASED
        load, then = (needed / each.executors for each in (now, settings))
        return _move(
            snapshot, memory, _Move("parallelism", settings, reason, words, load, then, raises)
        )
    if now.executors < needed:
        words += (
            f": {counted(needed, 'executor')}, and there are {now.executors}; raise their limit"
        )
        return hold(memory, Reason.GOAL_INFEASIBLE, words), memory
    return None


def _interval(snapshot: Snapshot, memory: ControllerState, signals: Signals) -> Step:
    """A longer one if the goal is missed, as far as there is one."""
    batch, policy = signals.batch, snapshot.policy
    if batch is None or batch.since_start <= COLD:
        words = "no interval after the first ones has ended yet"
        return hold(memory, Reason.NO_BATCH_YET, words), memory
    if batch.latency_s is None or policy.target_s is None:
        return hold(memory, Reason.LOAD_UNKNOWN, "the last interval had no records"), memory
    words = (
        f"p{round(policy.quantile * 100)} {batch.latency_s:.3f} s in the last interval, goal"
        f" {policy.target_s:g} s"
    )
    if batch.latency_s <= policy.target_s:
        return hold(memory, Reason.WITHIN_BOUNDS, words), withdrawn(memory)
    now = memory.settings
    longer = next((each for each in INTERVALS_S if each > now.trigger_s), now.trigger_s)
    settings = within(policy, replace(now, trigger_s=longer))
    if settings.trigger_s <= now.trigger_s or policy.fixes(TRIGGER.name):
        return hold(memory, Reason.SATURATED, f"{words}: the interval cannot be longer"), memory
    words += ": records wait where an interval ends, and a longer one has fewer ends"
    load = batch.latency_s / policy.target_s
    then = load * now.trigger_s / settings.trigger_s
    move = _Move("batch-size", settings, Reason.TRIGGER_LENGTHENED, words, load, then, raises=True)
    return _move(snapshot, memory, move)


@dataclass(frozen=True, slots=True)
class _Move:
    """A change that this law wants."""

    knob: str
    settings: Settings
    reason: Reason
    words: str
    load: float
    then: float
    """The load afterwards, at best."""
    raises: bool

    @property
    def pauses(self) -> bool:
        """Whether the query restarts for it."""
        return self.reason is Reason.TRIGGER_LENGTHENED


def _move(snapshot: Snapshot, memory: ControllerState, move: _Move) -> Step:
    """Make a change, or ask for it; there is no trial, as nothing else could be tried."""
    policy = snapshot.policy
    changes = memory.settings.differences(move.settings)
    if policy.mode is Mode.OBSERVE:
        words = f"{move.words}; the mode does not allow {', '.join(changes)}"
        return hold(memory, Reason.OBSERVE_ONLY, words), memory
    if veto := _veto(snapshot, memory, move):
        return hold(memory, veto.reason, veto.message), memory
    decision = Decision(Action.CHANGE, move.reason, move.words, move.settings, changes)
    if policy.needs_approval(memory.settings, move.settings):
        standing, memory = _recommended(snapshot, memory, move)
        if snapshot.constraints.approved != standing.generation:
            words = f"{move.words}; {how_to_approve(standing, snapshot.constraints.approved)}"
            return replace(decision, action=Action.RECOMMEND, message=words), memory
        record = replace(memory.advice_record, approved=memory.advice_record.approved + 1)
        memory = replace(memory, advice_record=record)
        words = f"{move.words}; recommendation {standing.generation} was approved"
        decision = replace(decision, message=words)
    memory = memory.paused(snapshot.now_s) if move.pauses else memory
    return decision, withdrawn(memory).enforced(move.settings)


def _veto(snapshot: Snapshot, memory: ControllerState, move: _Move) -> Veto | None:
    """Why policies do not allow it now; the guards of the other law ask the same."""
    return (
        guards.closed(snapshot.constraints, raises=move.raises)
        or guards.crowded(snapshot.constraints)
        or (guards.paused_often(snapshot, memory) if move.pauses else None)
    )


def _recommended(
    snapshot: Snapshot, memory: ControllerState, move: _Move
) -> tuple[Recommendation, ControllerState]:
    """The recommendation of this change, the standing one if it is the same."""
    old, record = memory.recommendation, memory.advice_record
    if old and (old.settings, old.of_settings) == (move.settings, memory.generation):
        return old, memory
    record = replace(record, given=record.given + 1)
    new = Recommendation(
        generation=record.given, of_settings=memory.generation, knob=move.knob, raises=move.raises,
        settings=move.settings, load=round(move.load, 3), predicted=round(move.then, 3),
        since_s=snapshot.now_s,
    )  # fmt: skip
    return new, replace(memory, recommendation=new, advice_record=record)
