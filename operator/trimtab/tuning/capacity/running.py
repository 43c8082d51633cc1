"""The batch under way as evidence: its age is a lower bound of what it takes.

A batch of m records that was predicted to take D(m, p) and is older than that proves a slowdown
of all that the slots do, by at least

    f = (age − out) / (D(max(m, n), p) − out)           n = input·T, a batch at the steady input

With max(m, n), a batch that is smaller than usual is not blown up to the usual size: its seconds
may as well be a pause. A large batch of a catch-up is long by plan, and D(m, p) knows that.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.capacity.load import input_rate_of
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.snapshot import Snapshot

MARGIN = 1.5
"""A batch is late when it lasts longer than predicted by this factor: batches jitter."""


@dataclass(frozen=True, slots=True)
class Late:
    """A batch under way that has already lasted too long for the model."""

    age_s: float
    records: int
    predicted_s: float
    slowdown: float
    """Factor by which the work is at least slower than the model says, above 1."""

    @property
    def rate(self) -> float:
        """Records/s that it works off at most."""
        return self.records / self.age_s

    @property
    def words(self) -> str:
        """The evidence for people."""
        return (
            f"the running batch of {self.records} records has lasted {self.age_s:.0f} s,"
            f" predicted {self.predicted_s:.1f} s"
        )


def late(snapshot: Snapshot, memory: ControllerState, model: Model) -> Late | None:
    """The batch under way, if it is late and only the pipeline itself can be the reason.

    It counts only if it began, as the batch before it, at the newest settings, and had all its
    executors all the time: executors that start or were lost explain a long batch by themselves.
    One that runs again is explained by what ended it.
    """
    signals, settings = snapshot.signals, snapshot.settings
    if signals is None or signals.batch is None or memory.trial:
        return None
    if signals.running_records <= 0 or signals.running_replays:
        return None
    if signals.running_timed:
        return None  # it takes longer by plan
    input_rate = input_rate_of(signals)
    undisturbed = (
        signals.batch.settings_generation >= memory.generation
        and signals.batch.executors_min == settings.executors
        and signals.running_executors_min == signals.executors_running == settings.executors
    )
    if input_rate is None or not undisturbed:
        return None
    slots = snapshot.capacity.slots
    age_s, records = signals.running_s, signals.running_records
    predicted_s = model.duration_s(records, slots)
    usual_s = model.duration_s(max(records, input_rate * settings.trigger_s), slots)
    if age_s <= MARGIN * predicted_s or age_s <= usual_s:
        return None
    slowdown = (age_s - model.out_s) / (usual_s - model.out_s)
    return Late(age_s, records, predicted_s, slowdown)
