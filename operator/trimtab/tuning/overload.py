"""Overload that feeds itself: the batch limit goes back to a size that is known to run well.

After a pause a batch is as large as the limit allows. In the third of the seeds' regimes it then
takes far longer than smaller ones would, ever more records arrive meanwhile, and the next batch is
as large again; more executors may not end that. A batch that is much larger than all learned ones
and lasts far longer than they predict says either that batches of its size overload the slots, or
that the work has become slower. Batches of a known size tell which, at the price of a restart of
the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.api.knobs import MAX_OFFSETS
from trimtab.api.reasons import Action, BottleneckKind, Reason
from trimtab.tuning.acting import act
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.model import FAR, MUCH_LARGER
from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Step
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.knobs import batch_size
from trimtab.tuning.knobs.batch_limit import round_up
from trimtab.tuning.trials.life import close
from trimtab.tuning.trials.outcome import Outcome

COLD_S = 20.0
"""Seconds by which each of a driver's first batches may be late in any case."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A batch that has ended, or has lasted so long."""

    words: str
    records: int
    seconds: float
    slots: int
    cold: bool


def step(context: Context) -> Step | None:
    """Lower the limit if such a batch has ended, or is under way and executors do not help it.

    There is no trial: what a batch of a known size takes is known, and of sizes like that of the
    input nothing else can be learned.
    """
    load, settings, band = context.load, context.settings, context.band
    if context.policy.maximum or context.fixed(MAX_OFFSETS.name) or load.value < band.higher:
        return None
    needed = load.input_rate * (settings.trigger_s or load.duration_s) / band.higher
    least = max(needed, MAX_OFFSETS.minimum)
    if round_up(least) >= settings.max_offsets:
        return None
    model = learning.fitted(context.snapshot, context.memory.points)
    for seen in _seen(context):
        in_doubt_s = COLD_S if seen.cold else 0.0
        if model and model.overloads(seen.records, seen.slots, seen.seconds - in_doubt_s):
            predicted_s = model.duration_s(seen.records, seen.slots)
            words = f"{seen.words} {seen.seconds:.0f} s, {predicted_s:.1f} s were predicted"
            return _lower(context, max(model.largest_each * context.slots, least), words)
        if _too_long(context, seen, least):
            return _lower(context, least, f"{seen.words} {seen.seconds:.0f} s")
    return None


def _lower(context: Context, limit: float, words: str) -> Step | None:
    """The step to a lower limit; if a trial has just raised nothing else, back to that before."""
    watched, now = context.memory.trial, context.settings
    before = watched.before if watched else now
    if before.max_offsets < now.max_offsets and before.executors == now.executors:
        failed = Outcome(Action.REVERT, Reason.TRIAL_NO_GAIN, words, before)
        return close(context.snapshot, context.memory, failed, context.load, 0.0)
    records = round_up(limit)
    if records >= now.max_offsets:
        return None
    lower, knob = replace(now, max_offsets=records), batch_size.KNOB
    offer = context.offer(knob.name, knob.how, lower, Reason.BATCH_LIMIT_LOWERED, raises=True)
    decision, after = act(context, [offer], Bottleneck(BottleneckKind.ADMISSION_LIMIT, words))
    if decision.moves:
        return decision, replace(after, trial=None)
    asked = decision.reason is Reason.OBSERVE_ONLY or decision.action is Action.RECOMMEND
    return (decision, after) if asked else None


def _too_long(context: Context, seen: _Seen, needed: float) -> bool:
    """Whether it alone breaks the goal, and no batch like those of the input is known."""
    target_s, points = context.policy.target_s, context.memory.points
    smaller = any(MUCH_LARGER * p.records / p.slots < seen.records / seen.slots for p in points)
    most = context.settings.executors >= context.executor_range[1]
    if target_s is None or smaller or not most or seen.records < MUCH_LARGER * needed:
        return False
    return seen.seconds >= FAR * max(target_s, context.settings.trigger_s)


def _seen(context: Context) -> Iterator[_Seen]:
    """The last batch and the one under way, if only more executors have come since they began."""
    signals, cores = context.snapshot.signals, context.capacity.cores
    batch = signals.batch if signals else None
    if signals is None or batch is None or batch.settings_generation < _alike_since(context.memory):
        return
    if batch.teaches and batch.executors_min:
        slots = batch.executors_min * cores
        words = f"the batch of {batch.records} records took"
        cold = batch.since_start <= learning.WARM_UP_BATCHES
        yield _Seen(words, batch.records, batch.duration_s, slots, cold)
    fewest = signals.running_executors_min
    if fewest and context.late is None and not (signals.running_replays or signals.running_timed):
        records = signals.running_records
        words = f"the running batch of {records} records has lasted"
        cold = batch.since_start < learning.WARM_UP_BATCHES
        yield _Seen(words, records, signals.running_s, fewest * cores, cold)


def _alike_since(memory: ControllerState) -> int:
    """The settings generation from which batches run as now, but for the number of executors."""
    if memory.trial is None or learning.works_otherwise(memory):
        return memory.generation
    return memory.generation - 1
