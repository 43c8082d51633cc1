"""Judge a trial from the batches that ran with the change.

A raise must have gained what it cost; a release must not have raised the load to the bound.
"""

from __future__ import annotations

import math

from trimtab.api.quantities import format_rate
from trimtab.api.reasons import Action, Reason
from trimtab.tuning.capacity.epochs import SURPRISE
from trimtab.tuning.capacity.load import Load, predict
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.context import MORE
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.knobs import named
from trimtab.tuning.policy import Policy
from trimtab.tuning.regime import Band
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials.comparison import Comparison
from trimtab.tuning.trials.outcome import Outcome, unproven
from trimtab.tuning.trials.trial import JUDGED, needed, put_back

CLEAR_GAIN = 1.5
"""Gain in rate that is clearly not jitter: a goal of `max` then needs no more batches."""

LONG, LONG_S = 2.0, 5.0
"""Triggers, and seconds, from which one batch is long enough to stand for two short ones."""

LOAD_CHANGED = 0.3
"""A change of the input by this share since the change makes the comparison void."""

OUTGROWN = 0.05
"""Share by which the input must have risen for a raise to count as already too small."""


def _clearly_more(trial: Trial, policy: Policy) -> bool:
    rates = policy.maximum and trial.raises and trial.rate_before > 0
    return rates and trial.judged >= JUDGED and trial.rate >= CLEAR_GAIN * trial.rate_before


def _still_drowning(trial: Trial, snapshot: Snapshot, load: Load, band: Band) -> bool:
    """Whether one long batch shows that a raise is not enough, so the next one must not wait."""
    batch = snapshot.signals.batch if snapshot.signals else None
    long_s = max(LONG_S, LONG * snapshot.settings.trigger_s)
    long = batch is not None and trial.judged > 0 and batch.duration_s >= long_s
    return long and trial.raises and load.capacity >= band.higher and not snapshot.policy.maximum


def judge(
    trial: Trial, snapshot: Snapshot, model: Model, load: Load, band: Band,
    *, carried: float = 0.0, doubt: float = 0.0, learned: bool = False,
) -> Outcome | None:  # fmt: skip
    """Keep or revert; None while it is too early.

    `carried` is the capacity of the settings before the trial, in records/s; 0 if unknown. `doubt`
    is the share by which uneven batches may mislead. `learned`: whether the model knows a batch at
    the present settings; if not, their capacity is the one that was predicted for them, and a
    single batch does not end the trial.
    """
    settings = snapshot.settings
    before, now = format_rate(trial.input_rate), format_rate(load.input_rate)
    went = f"the load went from {before} to {now} records/s"
    if _overtaken(trial, snapshot, load, band):
        message = f"{went} while the release was on trial"
        return Outcome(Action.REVERT, Reason.RISE_OVERTOOK, message, trial.before)
    if _load_changed(trial, load, band):
        if not named(trial.knob).stays_unproven:
            return put_back(trial, settings, Reason.TRIAL_UNPROVEN, f"{went} meanwhile")
        return unproven(f"{went} meanwhile", settings)
    if _only_paused(trial, snapshot, model, load, band):
        words = "the batch was only late: the settings before it are enough again"
        return put_back(trial, settings, Reason.BATCH_WAS_LATE, words)
    early = learned and _still_drowning(trial, snapshot, load, band)
    decided = trial.judged >= needed(snapshot.policy) or _clearly_more(trial, snapshot.policy)
    if not (decided or early):
        return None
    seen = f"load {trial.load_before:.2f} -> {load.value:.2f}, predicted {trial.predicted_load:.2f}"
    if not trial.raises:
        if load.value >= band.higher and not snapshot.policy.maximum:
            return Outcome(Action.REVERT, Reason.TRIAL_WORSE, seen, trial.before, judged=True)
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, seen, settings, judged=True)
    compared = _compare(trial, snapshot, model, load, band=band, carried=carried, doubt=doubt)
    helped, words = _helped(snapshot, compared)
    if helped:
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, seen + words, settings, judged=True)
    if not decided:
        return None
    return put_back(trial, settings, Reason.TRIAL_NO_GAIN, seen + words, judged=True)


def _only_paused(trial: Trial, snapshot: Snapshot, model: Model, load: Load, band: Band) -> bool:
    """Whether a raise on a late batch alone is no longer needed: its slowdown has passed."""
    if trial.slowdown <= 1.0 or not trial.raises or not trial.judged:
        return False
    if _still_slow(trial, snapshot, model, load):
        return False
    return predict(model, snapshot.policy, trial.before, load) < band.higher


def _still_slow(trial: Trial, snapshot: Snapshot, model: Model, load: Load) -> bool:
    """Whether the slowdown goes on after the raise: then it is a pace, and no pause.

    It does if the last batch took longer than batches like it did before, or if the load fell less
    than half way (of a ratio) from what the slowdown lets expect to what would be without it.
    """
    batch = snapshot.signals.batch if snapshot.signals else None
    if batch is not None:
        expected_s = model.duration_s(batch.records, snapshot.capacity.slots)
        if batch.duration_s > SURPRISE * expected_s:
            return True
    return load.value >= trial.predicted_load / math.sqrt(trial.slowdown)


def _overtaken(trial: Trial, snapshot: Snapshot, load: Load, band: Band) -> bool:
    """Whether more input than a release was made for needs at once what it released."""
    rose = load.input_rate > (1 + LOAD_CHANGED) * trial.input_rate
    too_much = load.value >= band.higher and not snapshot.policy.maximum
    return rose and too_much and not trial.raises


def _load_changed(trial: Trial, load: Load, band: Band) -> bool:
    """More input voids every comparison; less input only that of a release.

    Input that keeps rising during the trial of a raise voids it sooner, once it is known to exceed
    what that raise was for: the next one must not wait for the verdict.
    """
    rose = load.input_rate > (1 + LOAD_CHANGED) * trial.input_rate
    fell = load.input_rate < (1 - LOAD_CHANGED) * trial.input_rate
    outgrown = load.input_rate > (1 + OUTGROWN) * trial.input_rate and load.capacity >= band.higher
    return rose or (fell and not trial.raises) or (outgrown and trial.raises)


def _helped(snapshot: Snapshot, seen: Comparison) -> tuple[bool, str]:
    """Whether a raise carries more, and the figure that shows it.

    The knob decides how to judge that. A goal of `max` has no relief: the rate itself must have
    grown.
    """
    trial = seen.trial
    if snapshot.policy.maximum and trial.rate_before > 0:
        more = trial.rate / trial.rate_before
        return more >= 1 + MORE, f"; rate × {more:.2f}"
    return named(trial.knob).helped(seen)


def _compare(
    trial: Trial, snapshot: Snapshot, model: Model, load: Load,
    *, band: Band, carried: float, doubt: float,
) -> Comparison:  # fmt: skip
    """Compare the capacity now with `carried`, that of the settings before, and what was added."""
    policy, now = snapshot.policy, snapshot.settings
    slots_before = model.slots(policy.capacity(trial.before).slots)
    slots_now = model.slots(policy.capacity(now).slots)
    calls = (now.max_in_flight or 1) / (trial.before.max_in_flight or 1)
    times = None
    if carried and model.comparable(slots_before, slots_now):
        times = model.capacity(slots_now) / (carried / trial.slowdown)
    return Comparison(trial, load, band, times, slots_now / slots_before * calls, doubt)
