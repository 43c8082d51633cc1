"""Trials: every change is watched until it has settled, then kept or put back.

While a trial is open nothing else moves on that pipeline: that is the cooldown. Only batches
that ran as a whole at the new settings count, replayed ones never do, and the first batches
after executors start are left out (their JVMs warm up).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.knobs import LADDER, parallelism
from trimtab.tuning.load import Load
from trimtab.tuning.memory import Trial, Verdict
from trimtab.tuning.model import Model
from trimtab.tuning.regime import Band
from trimtab.tuning.snapshot import Batch, Settings, Signals, Snapshot

SETTLE_AFTER_START = 3
"""Batches left out after executors started."""

SETTLE = 1
"""Batches left out after any other change."""

JUDGED = 2
"""Batches that decide."""

LEAST_GAIN = 0.2
"""Share of the predicted gain in capacity below which a change counts as no help."""

LOAD_CHANGED = 0.3
"""A load that moved by this share since the change makes the comparison void."""

PENDING_S = 90.0
"""Seconds that executors may wait for a node."""

EXPIRES_S = 300.0
"""Seconds, or 20 triggers if that is longer, after which a trial without batches is closed."""

NOISE = 0.1
"""Two measured capacities that differ by less than this share are not told apart."""

VERDICT_S = 600.0
"""Seconds until a change that failed is tried again; twice as long each time it fails again."""

SAME_LEVEL = 0.2
"""A verdict holds for loads within this share of the one it was reached at."""

LONGEST_VERDICT_S = 4800.0
"""The longest of these waits."""

MAX_VERDICTS = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended; `settings` are those to go on with."""

    action: Action
    reason: Reason
    message: str
    settings: Settings


def observe(trial: Trial, snapshot: Snapshot) -> Trial:
    """The trial after the newest batch was counted, if it is new and belongs to it."""
    signals = snapshot.signals
    batch = signals.batch if signals else None
    if batch is None or batch.key == trial.batch or not belongs(trial, batch, snapshot.settings):
        return trial
    if trial.settled < _settle(trial):
        return replace(trial, batch=batch.key, settled=trial.settled + 1)
    return replace(trial, batch=batch.key, judged=trial.judged + 1)


def belongs(trial: Trial, batch: Batch, settings: Settings) -> bool:
    """Whether the whole batch ran at the settings under trial."""
    if batch.replayed or batch.settings_generation < trial.generation:
        return False
    return trial.knob != parallelism.NAME or batch.executors_min == settings.executors


def _settle(trial: Trial) -> int:
    started = trial.knob == parallelism.NAME and trial.raises
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
    if age_s > max(EXPIRES_S, 20 * settings.trigger_s):
        message = f"kept after {age_s:.0f} s: too few batches came to compare"
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, message, settings)
    return None


def judge(trial: Trial, snapshot: Snapshot, model: Model, load: Load, band: Band) -> Outcome | None:
    """Keep or revert; None while it is too early."""
    settings = snapshot.settings
    if _load_changed(trial, load):
        message = f"the load went from {trial.steady:.0f} to {load.steady:.0f} records/s meanwhile"
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, message, settings)
    if trial.judged < JUDGED:
        return None
    seen = f"load {trial.load_before:.2f} -> {load.value:.2f}, predicted {trial.predicted_load:.2f}"
    if not trial.raises:
        if load.value >= band.higher:
            return Outcome(Action.REVERT, Reason.TRIAL_WORSE, seen, trial.before)
        return Outcome(Action.KEEP, Reason.TRIAL_KEPT, seen, settings)
    if trial.knob == parallelism.NAME:
        relieved = load.value < band.higher
        return _judge_more_executors(trial, snapshot, model, seen, relieved=relieved)
    if load.value > band.higher and load.value >= trial.load_before:
        return Outcome(Action.REVERT, Reason.TRIAL_NO_GAIN, seen, trial.before)
    return Outcome(Action.KEEP, Reason.TRIAL_KEPT, seen, settings)


def _load_changed(trial: Trial, load: Load) -> bool:
    """A higher load voids every comparison; a lower one only that of a release."""
    rose = load.steady > (1 + LOAD_CHANGED) * trial.steady
    fell = load.steady < (1 - LOAD_CHANGED) * trial.steady
    return rose or (fell and not trial.raises)


def _judge_more_executors(
    trial: Trial, snapshot: Snapshot, model: Model, seen: str, *, relieved: bool
) -> Outcome:
    """By the gain in capacity, a ratio of two estimates; what was relieved is never put back."""
    per_executor = snapshot.policy.slots_per_executor
    before = model.slots(trial.before.executors * per_executor)
    now = model.slots(snapshot.settings.executors * per_executor)
    gain = model.capacity(now) / (model.capacity(before) / trial.slowdown)
    least = 1 + LEAST_GAIN * (now / before - 1) - NOISE
    words = f"{seen}; capacity × {gain:.1f}"
    if gain < least and not relieved:
        return Outcome(Action.REVERT, Reason.TRIAL_NO_GAIN, words, trial.before)
    return Outcome(Action.KEEP, Reason.TRIAL_KEPT, words, snapshot.settings)


def remember(
    verdicts: tuple[Verdict, ...], trial: Trial, settings: Settings, now_s: float
) -> tuple[Verdict, ...]:
    """The verdicts with that of a trial that failed at some settings.

    What failed again, at the same level and with the other knobs unmoved, waits twice as long. A
    verdict that has not been renewed for `LONGEST_VERDICT_S` since it ended is forgotten.
    """
    recent = [v for v in verdicts if now_s < v.until_s + LONGEST_VERDICT_S]
    again = [v for v in recent if _same(v, trial)]
    failures = 1 + max((v.failures for v in again), default=0)
    new = Verdict(
        knob=trial.knob,
        raises=trial.raises,
        executors=settings.executors,
        steady=trial.steady,
        until_s=now_s + min(VERDICT_S * 2 ** (failures - 1), LONGEST_VERDICT_S),
        failures=failures,
        before=trial.before,
    )
    return (*(v for v in recent if v not in again), new)[-MAX_VERDICTS:]


def _same(verdict: Verdict, trial: Trial) -> bool:
    same = (verdict.knob, verdict.raises) == (trial.knob, trial.raises)
    return same and holds(verdict, trial.before, trial.steady)


def holds(verdict: Verdict, settings: Settings, steady: float) -> bool:
    """Whether a verdict says something about a load, with the other knobs where they were."""
    if abs(steady - verdict.steady) > SAME_LEVEL * verdict.steady:
        return False
    own = next((group.settings for group in LADDER if group.name == verdict.knob), ())
    before, now = (verdict.before or settings).numbers(), settings.numbers()
    return all(before[name] == now[name] for name in now if name not in own)
