"""The batch under way as evidence: its age is a lower bound of its duration.

A batch of m records that was predicted to take D(m, p) and is older than that proves a slowdown
of everything the slots do, by at least

    f = (age − out) / (D(max(m, n), p) − out)           n = input·T, a batch at a constant input

With max(m, n), a smaller batch than usual is not scaled up to the usual size: its seconds may just
be a pause. A large batch during catch-up is expected to be long, and D(m, p) accounts for that.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.capacity.load import input_rate_of
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.snapshot import Snapshot

MARGIN = 1.5
"""A batch is late if it lasts longer than predicted by this factor: batches jitter."""


@dataclass(frozen=True, slots=True)
class Late:
    """A batch under way that has already lasted too long for the model."""

    age_s: float
    records: int
    predicted_s: float
    slowdown: float
    """Least factor, above 1, by which the work is slower than the model says."""

    @property
    def rate(self) -> float:
        """The most records/s that it can reach."""
        return self.records / self.age_s

    @property
    def words(self) -> str:
        """The evidence as a message."""
        return (
            f"the running batch of {self.records} records has lasted {self.age_s:.0f} s,"
            f" predicted {self.predicted_s:.1f} s"
        )


def late(snapshot: Snapshot, memory: ControllerState, model: Model) -> Late | None:
    """The batch under way, if it is late and only the pipeline itself can be the reason.

    It counts only if it and the batch before it began at the newest settings, and it always had
    all its executors: starting or lost executors alone explain a long batch. A batch that runs
    again is explained by whatever ended it.
    """
    signals, settings = snapshot.signals, snapshot.settings
    if signals is None or signals.batch is None or memory.trial:
        return None
    if signals.running_records <= 0 or signals.running_replays:
        return None
    if signals.running_timed:
        return None  # it is expected to take longer
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
