"""The controller's memory of one pipeline: small, frozen, and stored whole in status.controller.

What is not in here cannot influence a decision, so a restarted operator decides the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from trimtab.api.reasons import Regime
from trimtab.tuning.model import Point
from trimtab.tuning.snapshot import Settings


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often in a row the load was seen above or below, and the last thing counted."""

    over: int = 0
    under: int = 0
    batch: str = ""
    sampled_at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """A change under observation."""

    knob: str
    """`parallelism` or `batch-size`."""
    generation: int
    before: Settings
    opened_at_s: float
    raises: bool
    """True when the change was made to carry more, False when it released something."""
    steady: float
    """Input when the change was made, records/s; a backlog does not count."""
    load_before: float
    predicted_load: float
    slowdown: float = 1.0
    """Factor by which a late batch showed the work to be slower than learned (`running.py`)."""
    batch: str = ""
    """The last batch that was counted."""
    settled: int = 0
    """Batches at the new settings that were left out of the comparison."""
    judged: int = 0
    """Batches that count."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A change that did not help, remembered for its load level."""

    knob: str
    raises: bool
    executors: int
    steady: float
    until_s: float
    failures: int = 1
    """How often in a row it failed at this level, with the other knobs unmoved."""
    before: Settings | None = None
    """The settings that it was tried from."""


@dataclass(frozen=True, slots=True)
class Memory:
    """All that the controller carries from one tick to the next."""

    generation: int
    settings: Settings
    regime: Regime = Regime.UNKNOWN
    since_s: float = 0.0
    evidence: Evidence = Evidence()
    trial: Trial | None = None
    points: tuple[Point, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    last_direction: int = 0
    """+1 or -1: the direction of the last change of executors."""
    last_steady: float = 0.0
    """Input at that change, records/s."""
    widened: float = 0.0
    """Share by which a reversal widened the dead band, at `widened_at_s`."""
    widened_at_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the status; `from_dict` gives the same memory back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Memory:
        """The memory that was stored; fields of other versions are dropped or defaulted.

        Raises:
            KeyError, TypeError: the settings or the generation are missing.
        """
        known = _known(cls, data)
        known["settings"] = Settings(**_known(Settings, data["settings"]))
        known["regime"] = Regime(data.get("regime", Regime.UNKNOWN))
        known["evidence"] = Evidence(**_known(Evidence, data.get("evidence") or {}))
        known["points"] = tuple(Point(**_known(Point, p)) for p in data.get("points") or ())
        known["verdicts"] = tuple(_verdict(v) for v in data.get("verdicts") or ())
        if trial := data.get("trial"):
            before = Settings(**_known(Settings, trial["before"]))
            known["trial"] = Trial(**{**_known(Trial, trial), "before": before})
        return cls(**known)


def _verdict(data: dict[str, Any]) -> Verdict:
    before = data.get("before")
    settings = Settings(**_known(Settings, before)) if before else None
    return Verdict(**{**_known(Verdict, data), "before": settings})


def _known(cls: type, data: dict[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(cls)}
    return {k: v for k, v in data.items() if k in names}
