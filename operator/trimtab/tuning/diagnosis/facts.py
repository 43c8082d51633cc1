"""What a diagnosis inspects, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning.capacity.configuration import Capacity
from trimtab.tuning.capacity.load import Load
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import FastestCall
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What limits the pipeline, with the evidence."""

    kind: Kind
    evidence: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that every cause inspects."""

    policy: Policy
    settings: Settings
    capacity: Capacity
    signals: Signals
    batch: Batch
    model: Model
    load: Load
    fastest: FastestCall | None
    """The fastest call to the remote service so far."""

    @property
    def slots(self) -> int:
        """Task slots of the requested executors."""
        return self.capacity.slots

    def share(self, seconds: float | None) -> float:
        """Share of the last batch; 0 if unknown."""
        return (seconds or 0.0) / max(self.batch.duration_s, 1e-3)
