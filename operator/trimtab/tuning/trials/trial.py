"""Trials: every change is watched until it has settled, then kept or reverted.

While a trial is open nothing else on that pipeline moves: that is the cooldown. Only batches that
ran entirely at the new settings count; replayed and timed ones never do, and the first batches
after executors start are left out (their JVMs warm up).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.api.quantities import counted
from trimtab.api.reasons import Action, Reason
from trimtab.tuning.capacity.points import Point, batch_rate, same_size
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.knobs import named
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals, Snapshot
from trimtab.tuning.trials.outcome import Outcome, expires_after_s, unproven

SETTLE_AFTER_START = 3
"""Batches left out after executors started."""

WARM_S = 20.0
"""Seconds of batches after which new executors are warm, however few the batches; after any other
change, a batch of this length counts despite its first seconds."""

SETTLE = 1
"""Batches left out after any other change."""

JUDGED = 2
"""Batches that decide."""

JUDGED_BY_RATE = 4
"""The same for a goal of `max`, where small gains count and batches jitter."""

LONG_BATCHES = 5
"""Batches that a trial waits for at least: one that ran across the change, those that are left out,
and those that decide."""

MISSING_EVERY_S = 30.0
"""Seconds between two notes that executors are missing: each is written to the status."""

UNPLACED_S = 180.0
"""Seconds that executors may be missing for a known reason, such as no node that fits: an
autoscaler of the cluster adds a node within two minutes or three."""

STARTING_S = 600.0
"""Seconds that executors may take to start: images are pulled, and they may come one by one."""


def observe(trial: Trial, snapshot: Snapshot) -> Trial:
    """The trial after counting the newest batch, if it is new and belongs to the trial."""
    signals = snapshot.signals
    batch = signals.batch if signals else None
    missing = signals is not None and bool(signals.executors_pending)
    if missing and snapshot.now_s - trial.missing_at_s >= MISSING_EVERY_S:
        trial = replace(trial, missing_at_s=snapshot.now_s)
    if batch is None or batch.key == trial.batch or not belongs(trial, batch, snapshot.settings):
        return trial
    knob = named(trial.knob)
    if not knob.applied(trial, snapshot) or knob.waits(trial, snapshot):
        return trial
    if _settling(trial, batch, snapshot.settings):
        settled_s = round(trial.settled_s + batch.duration_s, 3)
        return replace(trial, batch=batch.key, settled=trial.settled + 1, settled_s=settled_s)
    judged = trial.judged + 1
    rate = trial.rate + (_rate(batch, snapshot.settings) - trial.rate) / judged
    return replace(trial, batch=batch.key, judged=judged, rate=round(rate, 3))


def belongs(trial: Trial, batch: Batch, settings: Settings) -> bool:
    """Whether the whole batch ran at the trial's settings."""
    if not batch.teaches or batch.settings_generation < trial.generation:
        return False
    return not _moves_executors(trial, settings) or batch.executors_min == settings.executors


def _moves_executors(trial: Trial, settings: Settings) -> bool:
    """Whether executors start or stop, also as part of a change of partitions."""
    return named(trial.knob).starts_executors or trial.before.executors != settings.executors


def _settling(trial: Trial, batch: Batch, settings: Settings) -> bool:
    """Whether the batch is left out because the change itself may still slow it down.

    A change of executors affects the whole batch: new ones are cold, and tasks wait for removed
    ones. So even a long batch is left out then.
    """
    if _moves_executors(trial, settings):
        most = SETTLE_AFTER_START if trial.raises else SETTLE
        return trial.settled < most and trial.settled_s < WARM_S
    return trial.settled < SETTLE and batch.duration_s < WARM_S


def refused(trial: Trial, snapshot: Snapshot) -> Outcome | None:
    """The end of a raise whose executors are refused. It needs no metrics."""
    settings, outside = snapshot.settings, snapshot.constraints
    if not (outside.executors_refused and trial.raises and _moves_executors(trial, settings)):
        return None
    running = snapshot.signals.executors_running if snapshot.signals else None
    fewer = max(running or 0, trial.before.executors)
    if fewer >= settings.executors:
        return None
    return Outcome(
        Action.REVERT,
        Reason.EXECUTORS_REFUSED,
        outside.executors_missing,
        replace(settings, executors=fewer),
    )


def early_end(trial: Trial, snapshot: Snapshot, signals: Signals) -> Outcome | None:
    """An end that needs no measured load: refused, pending too long, failed, or expired."""
    settings = snapshot.settings
    if signals.rejected_generation >= trial.generation:
        return Outcome(
            Action.REVERT,
            Reason.REFUSED_BY_DRIVER,
            f"the driver refused settings generation {trial.generation}",
            trial.before,
        )
    if signals.executors_pending and signals.executors_running is not None:
        return _pending(trial, snapshot, signals.executors_pending, signals.executors_running)
    knob = named(trial.knob)
    if failed := knob.failed(trial, snapshot):
        return failed
    if signals.idle and not trial.raises:
        return unproven("nothing comes in, so fewer are enough until something does", settings)
    if signals.idle:
        words = "nothing comes in, so the settings before are enough until something does"
        return put_back(trial, settings, Reason.IDLE, words)
    waited_s = snapshot.now_s - max(trial.opened_at_s, trial.missing_at_s)
    return _unproven(trial, snapshot) if waited_s > _patience_s(trial, snapshot) else None


def _patience_s(trial: Trial, snapshot: Snapshot) -> float:
    """Seconds for batches to come: as many as it takes, if they are long."""
    batch = snapshot.signals.batch if snapshot.signals else None
    last_s = batch.duration_s if batch else 0.0
    least_s = expires_after_s(snapshot.settings.trigger_s, named(trial.knob).expires_s)
    return max(least_s, LONG_BATCHES * last_s)


def _unproven(trial: Trial, snapshot: Snapshot) -> Outcome:
    """The end without a verdict. More is put back, since nothing shows that it helped."""
    settings, age_s = snapshot.settings, snapshot.now_s - trial.opened_at_s
    words = f"too few batches came in {age_s:.0f} s to compare"
    if not trial.raises:
        return unproven(words, settings)
    return put_back(trial, settings, Reason.TRIAL_UNPROVEN, words)


def put_back(
    trial: Trial, settings: Settings, reason: Reason, words: str, *, judged: bool = False
) -> Outcome:
    """The end that goes back to before the trial; its message says what of the change stays."""
    before, stays = named(trial.knob).put_back(trial.before, settings)
    message = f"{words}; {stays}" if stays else words
    return Outcome(Action.REVERT, reason, message, before, judged=judged)


def _pending(trial: Trial, snapshot: Snapshot, pending: int, running: int) -> Outcome | None:
    """Go on with those that run once the others have been missing for too long."""
    why, settings = snapshot.constraints.executors_missing, snapshot.settings
    patience_s = UNPLACED_S if why else STARTING_S
    if snapshot.now_s - trial.opened_at_s <= patience_s:
        return None
    fewer = max(running, trial.before.executors)
    words = f"{counted(pending, 'executor pod')} did not start in {patience_s:.0f} s"
    return Outcome(
        Action.REVERT,
        Reason.PODS_PENDING,
        f"{words}: {why}" if why else words,
        replace(settings, executors=min(fewer, settings.executors)),
    )


def needed(policy: Policy) -> int:
    """Batches that decide a trial."""
    return JUDGED_BY_RATE if policy.maximum else JUDGED


def rate_before(points: Sequence[Point], batch: Batch, slots: float, settings: Settings) -> float:
    """Records/s before a change: the mean of batches like the last one, else the last one's."""
    class_ = (slots, *settings.manner)
    alike = (
        _rate(point, settings)
        for point in points
        if point.class_ == class_ and same_size(point.records, batch.records)
    )
    return next(alike, _rate(batch, settings))


def _rate(batch: Batch | Point, settings: Settings) -> float:
    return batch_rate(batch.records, batch.duration_s, settings.trigger_s)
