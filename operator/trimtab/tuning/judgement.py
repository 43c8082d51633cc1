"""Judging a trial: whether the change carries more, from the batches that ran at it.

A raise must have brought what it cost; a release must not have brought the load to the bound.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.context import MORE
from trimtab.tuning.knobs import locality, max_pending, sending, topic
from trimtab.tuning.load import Load
from trimtab.tuning.memory import Trial
from trimtab.tuning.model import Model
from trimtab.tuning.policy import Policy
from trimtab.tuning.regime import Band
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trial import JUDGED, STARTS_EXECUTORS, Outcome, needed

CLEAR_GAIN = 1.5
"""Factor of the rate that is beyond the jitter: under a goal of `max` it needs no more batches."""

LONG, LONG_S = 2.0, 5.0
"""Triggers, and seconds, from which on one batch is long enough to tell what two short ones do."""

LEAST_GAIN = 0.2
"""Share of the predicted gain in capacity below which a change counts as no help."""

LOAD_CHANGED = 0.3
"""A load that moved by this share since the change makes the comparison void."""

OUTGROWN = 0.05
"""Share by which the load must have risen for a raise to be too small already."""

NOISE = 0.1
"""Two measured capacities that differ by less than this share are not told apart."""


def _clearly_more(trial: Trial, policy: Policy) -> bool:
    rates = policy.maximum and trial.raises and trial.rate_before > 0
    return rates and trial.judged >= JUDGED and trial.rate >= CLEAR_GAIN * trial.rate_before


def _still_drowning(trial: Trial, snapshot: Snapshot, model: Model, load: Load, band: Band) -> bool:
    """Whether one long batch says that a raise is not enough: the next one must not wait."""
    batch = snapshot.signals.batch if snapshot.signals else None
    long_s = max(LONG_S, LONG * snapshot.settings.trigger_s)
    long = batch is not None and trial.judged > 0 and batch.duration_s >= long_s
    told = long and model.learned(snapshot.policy.slots(snapshot.settings))
    return told and trial.raises and load.capacity >= band.higher and not snapshot.policy.maximum


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
    early = _still_drowning(trial, snapshot, model, load, band)
    decided = trial.judged >= needed(snapshot.policy) or _clearly_more(trial, snapshot.policy)
    if not (decided or early):
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
    if not decided:
        return None
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
    estimates; what was relieved, or came down as predicted, is never put back. A goal of `max` has
    no relief: there the rate itself must have grown.
    """
    if snapshot.policy.maximum and trial.rate_before > 0:
        more = trial.rate / trial.rate_before
        return more >= 1 + MORE, f"; rate × {more:.2f}"
    if trial.knob in {*STARTS_EXECUTORS, max_pending.NAME, max_pending.BACK_OFF}:
        times, ratio = gain
        if times is None:
            rate = _times_rate(trial)
            worse = rate < 1 - NOISE and load.value > (1 + NOISE) * trial.load_before
            return (
                not worse,
                f"; what was carried before is not known to compare; rate × {rate:.2f}",
            )
        least = 1 + LEAST_GAIN * max(0.0, ratio - 1) - NOISE
        relieved = load.value < band.higher or _as_predicted(trial, load)
        return relieved or times >= least, f"; capacity × {times:.1f}"
    if trial.knob in sending.NAMES.values():
        return _sends_more(trial, load, band)
    if trial.knob == locality.NAME:
        return load.value <= (1 + NOISE) * trial.load_before, ""
    return load.value <= band.higher or load.value < trial.load_before, ""


def _as_predicted(trial: Trial, load: Load) -> bool:
    """Whether the load came down to what was predicted though no less comes in.

    The capacity before may be read from far smaller batches, and then be far from the truth.
    """
    as_much = load.steady >= (1 - NOISE) * trial.steady
    return as_much and load.value <= min(trial.predicted_load, trial.load_before)


def _times_rate(trial: Trial) -> float:
    """Records/s of the trial over those before it; 1 where those are not known."""
    return trial.rate / trial.rate_before if trial.rate_before > 0 else 1.0


def _sends_more(trial: Trial, load: Load, band: Band) -> tuple[bool, str]:
    """Whether another way of sending relieved the pipeline, or raised its rate by more than noise.

    With a backlog the rate tells it, and the load rises all the same; without one the load does.
    """
    rate = _times_rate(trial)
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
