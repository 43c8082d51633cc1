"""The law of Spark's real-time mode, which is small: a slot for each partition, and an interval.

Every task runs for the whole interval and reads one partition, so fewer slots than partitions leave
some unread meanwhile, and more do nothing. Records wait only where an interval ends, while Spark
commits: an interval twice as long halves their share.
"""

from __future__ import annotations

import math
from dataclasses import replace

from trimtab.api.knobs import EXECUTORS, TRIGGER
from trimtab.api.quantities import counted
from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision, Step, hold
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
    """As many executors as have a slot for each partition."""
    policy, now = snapshot.policy, memory.settings.executors
    needed = math.ceil(partitions / (memory.settings.cores or policy.cores))
    wanted = min(max(needed, policy.min_executors), policy.max_executors)
    words = f"in real-time mode, {counted(partitions, 'partition')} need a slot each at once"
    if wanted != now and not policy.fixes(EXECUTORS.name):
        reason = Reason.EXECUTORS_RAISED if wanted > now else Reason.EXECUTORS_RELEASED
        return _move(snapshot, memory, replace(memory.settings, executors=wanted), reason, words)
    if now < needed:
        words += f": {counted(needed, 'executor')}, and there are {now}; raise their limit"
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
        return hold(memory, Reason.WITHIN_BOUNDS, words), memory
    now_s = memory.settings.trigger_s
    longer = next((each for each in INTERVALS_S if each > now_s), None)
    if longer is None or policy.fixes(TRIGGER.name):
        return hold(memory, Reason.SATURATED, f"{words}: the interval cannot be longer"), memory
    words += ": records wait where an interval ends, and a longer one has fewer ends"
    longer_settings = replace(memory.settings, trigger_s=longer)
    return _move(snapshot, memory, longer_settings, Reason.TRIGGER_LENGTHENED, words)


def _move(
    snapshot: Snapshot, memory: ControllerState, settings: Settings, reason: Reason, words: str
) -> Step:
    """Change the settings if trimtab may now; there is no trial, as nothing else could be tried."""
    changes = memory.settings.differences(settings)
    if snapshot.policy.mode is not Mode.AUTO:
        words = f"{words}; the mode does not allow {', '.join(changes)}"
        return hold(memory, Reason.OBSERVE_ONLY, words), memory
    closed = snapshot.constraints.closed
    if closed.message:
        return hold(memory, Reason.WINDOW_CLOSED, closed.message), memory
    decision = Decision(Action.CHANGE, reason, words, settings, changes)
    return decision, memory.enforced(settings)
