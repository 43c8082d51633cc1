"""Learn from the newest batch: it counts in an open trial, and may become a learned point."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from trimtab.api.knobs import MAX_OFFSETS
from trimtab.tuning.capacity import evenness
from trimtab.tuning.capacity.epochs import (
    AS_MANY,
    Run,
    among,
    at_pace,
    pace_of_calls,
    surprise,
    with_calls,
)
from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.load import Load, input_rate_of
from trimtab.tuning.capacity.model import MUCH_LARGER, Model
from trimtab.tuning.capacity.points import SEEN_STEP_S, Point, learn, ran_alike
from trimtab.tuning.controller_state import ControllerState, FastestCall, Trial
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals, Snapshot
from trimtab.tuning.trials.trial import observe as observe_trial

WARM_UP_BATCHES = 2
"""Batches after a driver start that are ignored: JIT, empty caches."""

COLD, BEHIND = 2.0, 2.0
"""Load during warm-up, and lag in triggers of input, that leave no doubt of overload."""

SHORT_S, FEW = 1e-4, 0.1
"""Seconds, and calls in flight, below the stored precision: such calls are ignored."""

FASTER = 0.9
"""A call is faster than the fastest so far if it takes at most this share of that time."""

FASTEST_S = 1800.0
"""Seconds after which the fastest call is looked for anew: the service may have changed."""

REMEMBERED = 512
"""Fits kept, of all pipelines: two for each of two hundred, and some."""


def at_settings(
    points: tuple[Point, ...], settings: Settings, partitions: int | None, *, waves: bool = True
) -> Model | None:
    """The model of some points at some settings; None if there are no points.

    Once points exist for the current way of running, only those count.
    """
    tasks = settings.tasks(partitions)
    return _model(points, settings.way, tasks, settings.max_in_flight, waves)


@lru_cache(maxsize=REMEMBERED)
def _model(
    points: tuple[Point, ...], way: str, tasks: int, in_flight: int | None, waves: bool
) -> Model | None:
    """The fit, which is half of a decision: from one batch to the next, points stay the same."""
    return fit(ran_alike(points, way), tasks, in_flight, waves=waves)


def fitted(snapshot: Snapshot, points: tuple[Point, ...]) -> Model | None:
    """The model of some points at the current settings."""
    signals = snapshot.signals
    partitions = signals.partitions if signals else None
    waves = signals is not None and signals.waves
    return at_settings(points, snapshot.settings, partitions, waves=waves)


def carried(snapshot: Snapshot, points: tuple[Point, ...], settings: Settings) -> float:
    """Records/s that other settings carry once a batch is under way; 0 if unknown.

    Calculated as if they were in force, so that the two can be compared. Unknown for a number of
    calls in flight that was never seen.
    """
    if settings.max_in_flight not in {None, *(p.in_flight for p in points)}:
        return 0.0
    model = fitted(replace(snapshot, settings=settings), points)
    return model.capacity(snapshot.policy.capacity(settings).slots) if model else 0.0


def learned(snapshot: Snapshot, points: tuple[Point, ...]) -> bool:
    """Whether a batch at the current settings was learned, so that the model need not guess."""
    slots, manner = snapshot.capacity.slots, snapshot.settings.manner
    return any(p.batches and p.slots == slots and p.manner == manner for p in points)


def first_guess(snapshot: Snapshot, memory: ControllerState, batch: Batch) -> Model | None:
    """The model of the last batch alone, while nothing has been learned.

    The batch ran during warm-up, so it shows too little capacity; that is enough to recognise a
    pipeline that already falls behind, but no basis for anything else. What it took beyond its
    calls is not told apart: compiling is no work that more calls cannot save.
    """
    if memory.points or batch.records <= 0 or not _whole(snapshot, memory, batch):
        return None
    return fitted(snapshot, (replace(_point(snapshot, batch), call_s=0.0),))


def falls_behind(snapshot: Snapshot, load: Load) -> bool:
    """Whether far more comes in than is processed, and the lag shows it.

    A batch during warm-up may take twice as long as the next ones. Under a goal of `max` all that
    waits is too much.
    """
    if snapshot.policy.maximum:
        return load.backlog > 0
    lag = snapshot.signals.lag_records if snapshot.signals else None
    behind = lag is not None and lag >= BEHIND * snapshot.settings.trigger_s * load.seen_rate
    return behind and load.capacity >= COLD


def observe(snapshot: Snapshot, memory: ControllerState, batch: Batch) -> ControllerState:
    """Count the newest batch in an open trial, and learn from it if it ran undisturbed.

    A batch that took far longer than expected, or far less, is only believed if the next one does
    too: a pause (garbage collection, a lost executor) makes one batch long.
    """
    warm = batch.since_start > WARM_UP_BATCHES
    if memory.trial:
        watched = observe_trial(memory.trial, snapshot)
        memory = replace(memory, trial=watched)
        warm = watched.judged > 0
    signals = snapshot.signals
    memory = _pauses(_fastest(memory, signals, snapshot.now_s), signals) if signals else memory
    new = batch.key != memory.taught
    if not (warm and new and _whole(snapshot, memory, batch)):
        return memory
    point = _point(snapshot, batch)
    model = fitted(snapshot, memory.points)
    if model is not None and memory.trial is None:
        seen = point.duration_s / model.duration_s(point.records, point.slots)
        slow_batch = evenness.follow(memory.slow_batch, seen, batch.id)
        if slow_batch != memory.slow_batch:
            memory = replace(memory, slow_batch=slow_batch, taught=batch.key)
    if model is not None and _in_doubt(snapshot, model, point):
        return memory
    after = _taught(memory, model, point)
    return memory if after is memory else replace(after, taught=batch.key)


def _in_doubt(snapshot: Snapshot, model: Model, point: Point) -> bool:
    """Whether only the batch's size may be why it took so long: smaller ones will tell.

    A size that the input needs will not become smaller, nor one that nobody may change.
    """
    policy, settings = snapshot.policy, snapshot.settings
    if policy.maximum or policy.fixes(MAX_OFFSETS.name):
        return False
    rate = input_rate_of(snapshot.signals) if snapshot.signals else None
    needed = (rate or 0.0) * settings.trigger_s / policy.higher
    large = point.records >= MUCH_LARGER * needed
    return large and model.overloads(point.records, point.slots, point.duration_s)


def _taught(memory: ControllerState, model: Model | None, point: Point) -> ControllerState:
    """The memory after a batch that counts: a point moves, or a surprise has to be proven.

    The same if it shows nothing new, so that a steady pipeline does not write its memory.
    """
    points, verdicts, trial = memory.points, memory.verdicts, memory.trial
    if ratio := surprise(points, model, point):
        known = Run(memory.surprise, memory.unproven)
        run = known.with_one(ratio, explained=works_otherwise(memory))
        if run.missing:
            alike = memory.surprise_alike if known.on_side_of(ratio) else among(points, point)
            return replace(memory, surprise=run.ratio, unproven=run.missing, surprise_alike=alike)
        after_late = trial is not None and trial.slowdown > 1
        sure = after_late or (memory.surprise_alike and known.as_much(ratio))
        points = at_pace(points, point, run.ratio, sure=sure)
        if points != memory.points:
            verdicts = ()
            if trial is not None:
                trial = _at_pace(trial, 1.0 if works_otherwise(memory) else run.ratio)
    learned = learn(points, point)
    if learned == memory.points and not memory.surprise:
        return memory
    return replace(
        memory, points=learned, verdicts=verdicts, trial=trial,
        surprise=0.0, unproven=0, surprise_alike=False,
    )  # fmt: skip


def _at_pace(trial: Trial, ratio: float) -> Trial:
    """The trial with what was before it at the pace that slots turned out to have."""
    return replace(trial, slowdown=1.0, rate_before=round(trial.rate_before / ratio, 3))


def works_otherwise(memory: ControllerState) -> bool:
    """Whether a change on trial may be why slots work at another pace: not just more of them."""
    if memory.trial is None:
        return False
    executors = memory.settings.executors
    return replace(memory.trial.before, executors=executors) != memory.settings


def _pauses(memory: ControllerState, signals: Signals) -> ControllerState:
    """The memory with the pauses that this driver has measured."""
    known = {**memory.pause_s, **{str(how): round(s, 1) for how, s in signals.pause_s.items()}}
    return memory if known == memory.pause_s else replace(memory, pause_s=known)


def _whole(snapshot: Snapshot, memory: ControllerState, batch: Batch) -> bool:
    """Whether the whole batch ran once, at the newest settings and with all its executors."""
    executors = snapshot.signals.executors_running if snapshot.signals else None
    return (
        batch.teaches
        and batch.settings_generation >= memory.generation
        and batch.executors_min == executors == snapshot.settings.executors
    )


def _point(snapshot: Snapshot, batch: Batch) -> Point:
    return Point(
        slots=batch.executors_min * snapshot.capacity.cores,
        records=batch.records,
        out_s=round(batch.overhead_s, 3),
        duration_s=round(batch.duration_s, 3),
        in_flight=snapshot.settings.max_in_flight or 0,
        call_s=round((snapshot.signals and snapshot.signals.pending_call_s) or 0.0, 5),
        producer=snapshot.settings.way,
        seen_s=SEEN_STEP_S * math.floor(batch.committed_at_s / SEEN_STEP_S),
    )


def _fastest(memory: ControllerState, signals: Signals, now_s: float) -> ControllerState:
    """The memory with the fastest remote call, and at the pace that the service has now."""
    call, before = _call(signals, now_s), memory.fastest
    if call is None or before is None:
        return memory if call is None else replace(memory, fastest=call)
    batch = signals.batch  # of older settings, its calls are not as many as those under way
    ours = batch is not None and batch.settings_generation >= memory.generation
    pace = pace_of_calls(before, call) if ours else 1.0
    if pace != 1:
        return replace(memory, points=with_calls(memory.points, pace), fastest=call, verdicts=())
    if call.seconds <= FASTER * before.seconds:
        return replace(memory, fastest=call)
    as_fast = call.seconds <= before.seconds / FASTER
    if as_fast and call.calls >= AS_MANY * before.calls:  # so many do not crowd the service
        return replace(memory, fastest=replace(before, calls=call.calls, seen_s=now_s))
    if now_s - before.seen_s < FASTEST_S:
        return memory
    return replace(memory, fastest=replace(before, seen_s=now_s) if as_fast else call)


def _call(signals: Signals, now_s: float) -> FastestCall | None:
    """The calls under way; None if there are none, or too few."""
    call_s, calls = signals.pending_call_s or 0.0, signals.pending_calls or 0.0
    if call_s < SHORT_S or calls < FEW:
        return None
    return FastestCall(round(call_s, 4), round(calls, 1), now_s)
