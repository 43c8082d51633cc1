"""Trials: every change is watched until it has settled, then kept or put back.

While a trial is open nothing else moves on that pipeline: that is the cooldown. Only batches
that ran as a whole at the new settings count, replayed and timed ones never do, and the first
batches after executors start are left out (their JVMs warm up).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.context import MORE
from trimtab.tuning.knobs import cores, locality, max_pending, parallelism, sending, topic
from trimtab.tuning.load import Load
from trimtab.tuning.memory import Trial
from trimtab.tuning.model import Model
from trimtab.tuning.points import Point, same_size
from trimtab.tuning.policy import Policy
from trimtab.tuning.regime import Band
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals, Snapshot

SETTLE_AFTER_START = 3
"""Batches left out after executors started."""

WARM_S = 20.0
"""Seconds of batches after which started executors are warm, however few batches that were."""

SETTLE = 1
"""Batches left out after any other change."""

JUDGED = 2
"""Batches that decide."""

JUDGED_BY_RATE = 4
"""The same for a goal of `max`, where small gains count and batches jitter."""

LEAST_GAIN = 0.2
"""Share of the predicted gain in capacity below which a change counts as no help."""

LOAD_CHANGED = 0.3
"""A load that moved by this share since the change makes the comparison void."""

OUTGROWN = 0.05
"""Share by which the load must have risen for a raise to be too small already."""

PENDING_S = 90.0
"""Seconds that executors may wait for a node."""

EXPIRES_S = 300.0
"""Seconds, or 20 triggers if that is longer, after which a trial without batches is closed."""

STARTS_EXECUTORS = frozenset({parallelism.NAME, cores.NAME})
"""Knobs whose trial is one of more slots: executors start, or go."""

NOISE = 0.1
"""Two measured capacities that differ by less than this share are not told apart."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended; `settings` are those to go on with."""

    action: Action
    reason: Reason
    message: str
    settings: Settings
    judged: bool = False
    """Whether batches decided, so that the prediction can be scored."""


def observe(trial: Trial, snapshot: Snapshot) -> Trial:
    """The trial after the newest batch was counted, if it is new and belongs to it."""
    signals = snapshot.signals
    batch = signals.batch if signals else None
    if batch is None or batch.key == trial.batch or not belongs(trial, batch, snapshot.settings):
        return trial
    if not _in_force(trial, snapshot):
        return trial
    if trial.settled < _settle(trial) and trial.settled_s < WARM_S:
        settled_s = round(trial.settled_s + batch.duration_s, 3)
        return replace(trial, batch=batch.key, settled=trial.settled + 1, settled_s=settled_s)
    judged = trial.judged + 1
    rate = trial.rate + (batch_rate(batch, snapshot.settings) - trial.rate) / judged
    return replace(trial, batch=batch.key, judged=judged, rate=round(rate, 3))


def _in_force(trial: Trial, snapshot: Snapshot) -> bool:
    """Whether the topic has the partitions that it was asked for; the driver is not asked."""
    partitions = snapshot.signals.partitions if snapshot.signals else None
    return trial.knob != topic.NAME or (partitions or 0) >= (
        snapshot.settings.topic_partitions or 0
    )


def belongs(trial: Trial, batch: Batch, settings: Settings) -> bool:
    """Whether the whole batch ran at the settings under trial."""
    if not batch.teaches or batch.settings_generation < trial.generation:
        return False
    return trial.knob not in STARTS_EXECUTORS or batch.executors_min == settings.executors


def _settle(trial: Trial) -> int:
    started = trial.knob in STARTS_EXECUTORS and trial.raises
    return SETTLE_AFTER_START if started else SETTLE


def early_end(trial: Trial, snapshot: Snapshot, signals: Signals) -> Outcome | None:
    """An end that needs no load: refused, pending too long, or expired."""
    settings = snapshot.settings
    age_s = snapshot.now_s - trial.opened_at_s
    if signals.rejected_generation >= trial.generation:
        return Outcome(
            Action.REVERT,
            Reason.REFUSED_BY_DRIVER,
            f"the driver refused settings generation {trial.generation}",
            trial.before,
        )
    running = signals.executors_running
    if signals.executors_pending and running is not None and age_s > PENDING_S:
        fewer = max(running, trial.before.executors)
        return Outcome(
            Action.REVERT,
            Reason.PODS_PENDING,
            f"{signals.executors_pending} executor pods found no node in {PENDING_S:.0f} s",
            replace(settings, executors=min(fewer, settings.executors)),
        )
    if age_s > EXPIRES_S and not _in_force(trial, snapshot):
        return Outcome(
            Action.REVERT,
            Reason.TOPIC_NOT_RAISED,
            f"the topic has {signals.partitions} partitions still after {age_s:.0f} s: the"
            " condition Ready of the KafkaCluster says why",
            trial.before,
        )
    if age_s > max(EXPIRES_S, 20 * settings.trigger_s):
        message = f"kept after {age_s:.0f} s: too few batches came to compare"
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, message, settings)
    return None


def needed(policy: Policy) -> int:
    """Batches that decide a trial."""
    return JUDGED_BY_RATE if policy.maximum else JUDGED


def judge(
    trial: Trial, snapshot: Snapshot, model: Model, load: Load, band: Band, *, carried: float = 0.0
) -> Outcome | None:
    """Keep or revert; None while it is too early.

    `carried` is what the settings before the trial carry, in records/s; 0 is unknown.
    """
    settings = snapshot.settings
    if _load_changed(trial, load, band):
        message = f"the load went from {trial.steady:.0f} to {load.steady:.0f} records/s meanwhile"
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, message, settings)
    if trial.judged < needed(snapshot.policy):
        return None
    seen = f"load {trial.load_before:.2f} -> {load.value:.2f}, predicted {trial.predicted_load:.2f}"
    if not trial.raises:
        if load.value >= band.higher and not snapshot.policy.maximum:
            return Outcome(Action.REVERT, Reason.TRIAL_WORSE, seen, trial.before, judged=True)
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, seen, settings, judged=True)
    gain = _capacity_gain(trial, snapshot, model, carried)
    helped, words = _helped(trial, snapshot, load, band, gain)
    if helped:
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, seen + words, settings, judged=True)
    before = replace(trial.before, topic_partitions=settings.topic_partitions)
    if trial.knob == topic.NAME:
        words += "; the partitions stay, since none can be taken away"
    return Outcome(Action.REVERT, Reason.TRIAL_NO_GAIN, seen + words, before, judged=True)


def _load_changed(trial: Trial, load: Load, band: Band) -> bool:
    """A higher load voids every comparison; a lower one only that of a release.

    A load that goes on to rise while a raise is under trial voids it sooner, once it is known to be
    more than that raise was for: the next one must not wait for the verdict.
    """
    rose = load.steady > (1 + LOAD_CHANGED) * trial.steady
    fell = load.steady < (1 - LOAD_CHANGED) * trial.steady
    outgrown = load.steady > (1 + OUTGROWN) * trial.steady and load.capacity >= band.higher
    return rose or (fell and not trial.raises) or (outgrown and trial.raises)


def _helped(
    trial: Trial, snapshot: Snapshot, load: Load, band: Band, gain: tuple[float | None, float]
) -> tuple[bool, str]:
    """Whether a change that was to carry more did, and the figure that says so.

    More slots, or more calls in flight, are judged by the gain in capacity, a ratio of two
    estimates; what was relieved is never put back. A goal of `max` has no relief: there the rate
    itself must have grown.
    """
    if snapshot.policy.maximum and trial.rate_before > 0:
        more = trial.rate / trial.rate_before
        return more >= 1 + MORE, f"; rate × {more:.2f}"
    if trial.knob in {*STARTS_EXECUTORS, max_pending.NAME, max_pending.BACK_OFF}:
        times, ratio = gain
        if times is None:
            rate = trial.rate / trial.rate_before if trial.rate_before > 0 else 1.0
            worse = rate < 1 - NOISE and load.value > (1 + NOISE) * trial.load_before
            return (
                not worse,
                f"; what was carried before is not known to compare; rate × {rate:.2f}",
            )
        least = 1 + LEAST_GAIN * max(0.0, ratio - 1) - NOISE
        return load.value < band.higher or times >= least, f"; capacity × {times:.1f}"
    if trial.knob in sending.NAMES.values():
        return _sends_more(trial, load, band)
    if trial.knob == locality.NAME:
        return load.value <= (1 + NOISE) * trial.load_before, ""
    return load.value <= band.higher or load.value < trial.load_before, ""


def _sends_more(trial: Trial, load: Load, band: Band) -> tuple[bool, str]:
    """Whether another way of sending relieved the pipeline, or raised its rate by more than noise.

    With a backlog the rate tells it, and the load rises all the same; without one the load does.
    """
    rate = trial.rate / trial.rate_before if trial.rate_before > 0 else 1.0
    lighter = load.value <= max(band.higher, (1 - NOISE) * trial.load_before)
    return lighter or rate >= 1 + NOISE, f"; rate × {rate:.2f}"


def _capacity_gain(
    trial: Trial, snapshot: Snapshot, model: Model, carried: float
) -> tuple[float | None, float]:
    """Gain in capacity since the trial began, None if it cannot be told, and the ratio put in."""
    policy, now = snapshot.policy, snapshot.settings
    slots_before, slots_now = (
        model.slots(policy.slots(trial.before)),
        model.slots(policy.slots(now)),
    )
    calls = (now.max_in_flight or 1) / (trial.before.max_in_flight or 1)
    ratio = slots_now / slots_before * calls
    if not carried or not model.comparable(slots_before, slots_now):
        return None, ratio
    return model.capacity(slots_now) / (carried / trial.slowdown), ratio


def rate_before(points: Sequence[Point], batch: Batch, slots: int, settings: Settings) -> float:
    """Records/s before a change: those of the mean of batches like the last one, else its own."""
    class_ = (slots, settings.max_in_flight or 0, settings.producer)
    alike = (
        batch_rate(point, settings)
        for point in points
        if point.class_ == class_ and same_size(point.records, batch.records)
    )
    return next(alike, batch_rate(batch, settings))


def batch_rate(batch: Batch | Point, settings: Settings) -> float:
    """Records/s of a batch over the longer of its duration and the trigger."""
    return batch.records / max(batch.duration_s, settings.trigger_s, 1e-3)
