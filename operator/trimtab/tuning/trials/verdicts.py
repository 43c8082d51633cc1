"""Changes that did not help, remembered for their load level until something changes.

Two batches decided, and they may have been noise; or what failed was the cluster. So no verdict is
for ever: the change is tried again after a while, each time after twice as long. Only what cannot
be reverted waits until the load, another knob or the capacity has changed.
"""

from __future__ import annotations

from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import Trial, Verdict
from trimtab.tuning.knobs import named
from trimtab.tuning.settings import Settings

RETRY_S = 300.0
"""Seconds until a change that failed once is retried although nothing changed."""

LONGEST_S = 3600.0
"""The most seconds until a retry, however often it failed: a useless trial an hour costs little."""

SAME_LEVEL = 0.2
"""A verdict holds for input within this share of the input at which it was reached."""

SAME_CAPACITY = 0.25
"""It holds while the capacity of the settings before the trial is the same within this share."""

MAX_VERDICTS = 8


def remember(
    verdicts: tuple[Verdict, ...], trial: Trial, settings: Settings, now_s: float, capacity: float
) -> tuple[Verdict, ...]:
    """The verdicts plus that of a trial that failed at `settings`.

    `capacity` is that of the settings before the trial, in records/s; 0 if unknown.
    """
    again = [v for v in verdicts if _same(v, trial)]
    failures = 1 + max((v.failures for v in again), default=0)
    new = Verdict(
        knob=trial.knob,
        raises=trial.raises,
        executors=settings.executors,
        input_rate=trial.input_rate,
        until_s=now_s + min(RETRY_S * 2.0 ** (failures - 1), LONGEST_S),
        failures=failures,
        before=trial.before,
        capacity=round(capacity, 3),
    )
    return (*(v for v in verdicts if v not in again), new)[-MAX_VERDICTS:]


def _same(verdict: Verdict, trial: Trial) -> bool:
    same = (verdict.knob, verdict.raises) == (trial.knob, trial.raises)
    return same and _level(verdict, trial.input_rate) and _unmoved(verdict, trial.before)


def holds(verdict: Verdict, context: Context) -> bool:
    """Whether a verdict still holds: not expired, at its load, and nothing else has changed."""
    if context.snapshot.now_s >= verdict.until_s and not named(verdict.knob).final:
        return False
    if not (_level(verdict, context.load.input_rate) and _unmoved(verdict, context.settings)):
        return False
    before = verdict.before
    if not verdict.capacity or before is None or before.executors != context.settings.executors:
        return True
    return abs(context.carried - verdict.capacity) <= SAME_CAPACITY * verdict.capacity


def _level(verdict: Verdict, input_rate: float) -> bool:
    return abs(input_rate - verdict.input_rate) <= SAME_LEVEL * verdict.input_rate


def _unmoved(verdict: Verdict, settings: Settings) -> bool:
    """Whether all knobs other than the verdict's are unchanged."""
    return (verdict.before or settings).moved(settings) <= named(verdict.knob).fields
