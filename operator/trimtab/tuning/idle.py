"""Scale to zero: after a while without input all executors are released, until a record comes.

The settings keep their number of executors, which is what the pipeline wakes up with; only the
settings in force have none. So the law never sees a configuration without slots.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.quantities import format_duration
from trimtab.api.reasons import Action, Reason
from trimtab.tuning.controller_state import ControllerState, Idle
from trimtab.tuning.decision import Decision, Step, hold
from trimtab.tuning.snapshot import Signals, Snapshot


def observe(snapshot: Snapshot, memory: ControllerState) -> ControllerState:
    """The memory after looking whether anything comes in; unknown changes nothing."""
    signals, idle = snapshot.signals, memory.idle
    if memory.asleep or signals is None or (idle and idle.woke_at_s is not None):
        return memory
    if snapshot.policy.idle_after_s is None or not signals.idle:
        return memory if idle is None else replace(memory, idle=None)
    return memory if idle else replace(memory, idle=Idle(since_s=snapshot.now_s))


def step(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    """Put the pipeline to sleep, wake it up, or say how the first batch fared; else nothing."""
    idle = memory.idle
    if idle is None:
        return None
    if idle.woke_at_s is not None:
        return _first_batch(snapshot, memory, idle)
    if memory.asleep:
        why = _awake(snapshot)
        return _wake(snapshot, memory, idle, why) if why else _sleep_on(snapshot, memory, idle)
    return _fall_asleep(snapshot, memory, idle)


def _fall_asleep(snapshot: Snapshot, memory: ControllerState, idle: Idle) -> Step | None:
    policy, quiet_s = snapshot.policy, snapshot.now_s - idle.since_s
    if policy.idle_after_s is None or quiet_s < policy.idle_after_s:
        return None
    if memory.trial is not None or not policy.moves_executors:
        return None
    if policy.conflict or snapshot.constraints.closed.message:
        return None
    after = replace(memory, generation=memory.generation + 1, idle=replace(idle, asleep=True))
    message = (
        f"nothing has come in for {format_duration(round(quiet_s))}: all executors are released"
    )
    changes = memory.settings.differences(after.in_force)
    return Decision(Action.CHANGE, Reason.IDLE, message, after.in_force, changes), after


def _sleep_on(snapshot: Snapshot, memory: ControllerState, idle: Idle) -> Step:
    quiet_s = snapshot.now_s - idle.since_s
    message = (
        f"nothing has come in for {format_duration(round(quiet_s))};"
        f" {memory.settings.executors} executors start with the first record"
    )
    return hold(memory, Reason.IDLE, message), memory


def _awake(snapshot: Snapshot) -> str:
    """Why a sleeping pipeline must wake up; empty if it need not."""
    if not snapshot.policy.moves_executors or snapshot.policy.idle_after_s is None:
        return "the spec or a policy no longer allows zero executors"
    if snapshot.signals is None:
        return f"whether records wait is unknown: {snapshot.no_signals}"
    return "" if snapshot.signals.idle else _input(snapshot.signals)


def _input(signals: Signals) -> str:
    waiting = signals.lag_records or 0.0
    return f"{waiting:.0f} records wait" if waiting else "records come in"


def _wake(snapshot: Snapshot, memory: ControllerState, idle: Idle, why: str) -> Step:
    woke = replace(idle, asleep=False, woke_at_s=snapshot.now_s)
    after = replace(memory, generation=memory.generation + 1, idle=woke)
    quiet = format_duration(round(snapshot.now_s - idle.since_s))
    message = f"{why} after {quiet} without input: the executors start again"
    changes = memory.in_force.differences(memory.settings)
    return Decision(Action.CHANGE, Reason.AWAKE, message, memory.settings, changes), after


def _first_batch(snapshot: Snapshot, memory: ControllerState, idle: Idle) -> Step | None:
    """Tell once what the pause cost the records of the first batch after it."""
    batch = snapshot.signals.batch if snapshot.signals else None
    woke_s = idle.woke_at_s
    if woke_s is None or batch is None or batch.committed_at_s <= woke_s:
        return None
    took_s = batch.committed_at_s - woke_s
    waited = "" if batch.latency_s is None else f", its records waited {batch.latency_s:.1f} s"
    message = f"the first batch ended {took_s:.1f} s after the executors were asked for{waited}"
    settings = memory.settings
    return Decision(Action.KEEP, Reason.AWAKE, message, settings), replace(memory, idle=None)
