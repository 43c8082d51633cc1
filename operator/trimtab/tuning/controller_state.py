"""The controller's memory of one pipeline: small, frozen, and stored whole in status.controller.

Nothing else can influence a decision, so a restarted operator decides the same. All code that
reads or writes `status.controller` uses this type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from trimtab.api.contract import SourceOptions
from trimtab.api.knobs import KnobValues
from trimtab.api.reasons import Regime
from trimtab.api.v1alpha1.status import JvmStatus, OversizeStatus, PartitionsAdvice
from trimtab.tuning import stored
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.dwell import NOT_SEEN, DwellCounter
from trimtab.tuning.forecast.record import NO_RECORD, Record
from trimtab.tuning.forecast.season import Season
from trimtab.tuning.quiet import NOT_QUIET, Quiet
from trimtab.tuning.recommendation import NO_ADVICE_YET, AdviceRecord, Recommendation
from trimtab.tuning.recurrence import NEVER, Recurrence
from trimtab.tuning.settings import Settings
from trimtab.tuning.spent import NOTHING_YET, Spent

MAX_PAUSES = 32

SCHEMA = 2
"""Version of the format of `status.controller`."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A change under observation."""

    knob: str
    """The knob group's name, as in `knobs.LADDER`."""
    generation: int
    before: Settings
    opened_at_s: float
    raises: bool
    """True if the change was made to carry more, False if it released something."""
    input_rate: float
    """Input when the change was made, records/s; a backlog does not count."""
    load_before: float
    predicted_load: float
    slowdown: float = 1.0
    """Factor by which a late batch showed the work to be slower than learned (`running.py`)."""
    batch: str = ""
    """The last batch that was counted."""
    missing_at_s: float = 0.0
    """When some of its executors were last seen missing, to `MISSING_EVERY_S`; 0: never."""
    settled: int = 0
    """Batches at the new settings that were left out of the comparison."""
    settled_s: float = 0.0
    """Total seconds of those batches."""
    judged: int = 0
    """Batches that count."""
    rate_before: float = 0.0
    """Records/s of the last batch before the change, over the longer of trigger and duration."""
    rate: float = 0.0
    """The mean of the same over the batches that count."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A change that did not help, remembered for its load level."""

    knob: str
    raises: bool
    executors: int
    input_rate: float
    until_s: float = 0.0
    """When the change may be tried again although nothing else has changed."""
    failures: int = 1
    """How often in a row it failed at this level, with the other knobs unchanged."""
    before: Settings | None = None
    """The settings before the trial."""
    capacity: float = 0.0
    """Records/s that they carried; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class FastestCall:
    """The fastest call to a remote service so far, and the number of calls in flight then."""

    seconds: float
    calls: float
    seen_s: float = 0.0
    """When it was seen."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A time without input, if the pipeline may run without executors then."""

    since_s: float
    asleep: bool = False
    """Whether all executors were released."""
    woke_at_s: float | None = None
    """When they were asked for again; until the first batch has ended."""


@dataclass(frozen=True, slots=True)
class Score:
    """How good past predictions were, for users and for comparing control laws."""

    trials: int = 0
    """Trials judged by batches."""
    kept: int = 0
    error: float = 0.0
    """Mean of |measured load / predicted load − 1| over those trials."""

    def with_trial(self, *, kept: bool, predicted: float, seen: float) -> Score:
        """The score after one more trial."""
        error = abs(seen / predicted - 1) if predicted > 0 else 0.0
        trials = self.trials + 1
        mean = round(self.error + (error - self.error) / trials, 4)
        return Score(trials, self.kept + kept, mean)


@dataclass(frozen=True, slots=True)
class Advice:
    """The standing advice, as `status` shows it."""

    jvm: JvmStatus | None = None
    partitions: PartitionsAdvice | None = None
    oversize: OversizeStatus | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Advice:
        """The stored advice."""
        return cls(
            jvm=JvmStatus.model_validate(data["jvm"]) if "jvm" in data else None,
            partitions=PartitionsAdvice.model_validate(data["partitions"])
            if "partitions" in data
            else None,
            oversize=OversizeStatus.model_validate(data["oversize"])
            if "oversize" in data
            else None,
        )


NO_ADVICE = Advice()


@dataclass(frozen=True, slots=True)
class ControllerState:
    """Everything that the controller keeps from one tick to the next."""

    generation: int
    settings: Settings
    regime: Regime = Regime.UNKNOWN
    since_s: float = 0.0
    evidence: DwellCounter = NOT_SEEN
    trial: Trial | None = None
    points: tuple[Point, ...] = ()
    taught: str = ""
    """The last batch that moved a point or the factor `slow_batch`."""
    surprise: float = 0.0
    """The last batches' time over the expected one, if they differed too much; else 0."""
    unproven: int = 0
    """How many more such batches have to follow until they are believed."""
    surprise_alike: bool = False
    """Whether the first of them was of a known size, so that its size cannot be why."""
    slow_batch: float = 0.0
    """The factor over its predicted time that nearly every batch stays below; 0 if unknown."""
    verdicts: tuple[Verdict, ...] = ()
    last_direction: int = 0
    """+1 or -1: the direction of the last change of executors."""
    last_input_rate: float = 0.0
    """Input at that change, records/s."""
    widened: float = 0.0
    """Share by which a reversal widened the dead band, at `widened_at_s`."""
    widened_at_s: float = 0.0
    score: Score = Score()
    paused_at_s: tuple[float, ...] = ()
    """When changes of ours last paused the pipeline, oldest first; at most `MAX_PAUSES`."""
    pause_s: Mapping[str, float] = field(default_factory=dict)
    """Mean pause of the changes so far, by how they are applied; a driver forgets it at its end."""
    start_s: float = 0.0
    """For how many seconds executors of the last raises were seen to be missing; 0: never."""
    fastest: FastestCall | None = None
    """The fastest call to the remote service so far."""
    scope_evidence: DwellCounter = NOT_SEEN
    """How often in a row the executors were loaded enough to widen the scope, or light."""
    source: SourceOptions | None = None
    knobs: KnobValues | None = None
    """Source options and knobs outside the control law, of this generation; None until set."""
    advice: Advice = NO_ADVICE
    idle: Idle | None = None
    """None while there is input, or where executors always run."""
    season: Season | None = None
    """What input is usual by the time of day and week; None until seen, or without forecasts."""
    forecasts: Record = NO_RECORD
    """What became of the raises made ahead of the load."""
    recurrence: Recurrence = NEVER
    """The highest input of late, which the executors still carry after a release."""
    quiet: Quiet = NOT_QUIET
    """For how long the input has been steady, and where too many executors were released for it."""
    recommendation: Recommendation | None = None
    """The change that waits for approval."""
    advice_record: AdviceRecord = NO_ADVICE_YET
    spent: Spent = NOTHING_YET
    """What the pods have reserved so far."""
    schema: int = SCHEMA

    @property
    def asleep(self) -> bool:
        """Whether no executor should run, because nothing comes in."""
        return self.idle is not None and self.idle.asleep

    @property
    def in_force(self) -> Settings:
        """The settings that the driver should run: without executors while asleep."""
        return replace(self.settings, executors=0) if self.asleep else self.settings

    def enforced(self, settings: Settings) -> ControllerState:
        """The memory with settings that limits or a budget demand; an open trial ends unjudged."""
        generation = self.generation + 1
        return replace(
            self, generation=generation, settings=settings, trial=None, evidence=NOT_SEEN
        )

    def paused(self, now_s: float) -> ControllerState:
        """The memory after a change of ours that pauses the pipeline."""
        return replace(self, paused_at_s=(*self.paused_at_s, now_s)[-MAX_PAUSES:])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the status; `from_dict` restores the same memory.

        A top-level None stays, because it removes the field from the status; a nested None is
        omitted.
        """
        return {f.name: stored.compact(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def read(cls, controller: Mapping[str, Any] | None) -> ControllerState | None:
        """The memory in `status.controller`; None if nothing readable is there."""
        if not controller:
            return None
        try:
            return cls.from_dict(dict(controller))
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ControllerState:
        """The stored memory; fields of other schemas are dropped or defaulted.

        The first schema had no number; its advice was only in the status.

        Raises:
            KeyError, TypeError, ValueError: the settings or the generation are missing, or a value
                is invalid for its field.
        """
        data = stored.second(data) if "schema" not in data else data
        known = stored.known(cls, data) | {"schema": SCHEMA}
        known["settings"] = Settings(**stored.known(Settings, data["settings"]))
        known["regime"] = Regime(data.get("regime", Regime.UNKNOWN))
        for name, kind in FLAT.items():
            known[name] = kind(**stored.known(kind, data.get(name) or {}))
        if idle := data.get("idle"):
            known["idle"] = Idle(**stored.known(Idle, idle))
        if season := data.get("season"):
            known["season"] = Season.read(stored.known(Season, season))
        known["quiet"] = Quiet.read(stored.known(Quiet, data.get("quiet") or {}))
        if fastest := data.get("fastest"):
            known["fastest"] = FastestCall(**stored.known(FastestCall, fastest))
        known["paused_at_s"] = tuple(data.get("paused_at_s") or ())
        known["points"] = tuple(Point(**stored.known(Point, p)) for p in data.get("points") or ())
        known["verdicts"] = tuple(_verdict(v) for v in data.get("verdicts") or ())
        if source := data.get("source"):
            known["source"] = SourceOptions.model_validate(source)
        if knobs := data.get("knobs"):
            known["knobs"] = KnobValues.model_validate(knobs)
        known["advice"] = Advice.from_dict(data.get("advice") or {})
        if standing := data.get("recommendation"):
            advised = Settings(**stored.known(Settings, standing["settings"]))
            values = {**stored.known(Recommendation, standing), "settings": advised}
            known["recommendation"] = Recommendation(**values)
        if trial := data.get("trial"):
            before = Settings(**stored.known(Settings, trial["before"]))
            known["trial"] = Trial(**{**stored.known(Trial, trial), "before": before})
        return cls(**known)


FLAT: Mapping[str, type] = {
    "evidence": DwellCounter, "scope_evidence": DwellCounter, "score": Score,
    "forecasts": Record, "recurrence": Recurrence, "advice_record": AdviceRecord, "spent": Spent,
}  # fmt: skip
"""Parts that hold plain values only."""


def _verdict(data: dict[str, Any]) -> Verdict:
    before = data.get("before")
    settings = Settings(**stored.known(Settings, before)) if before else None
    return Verdict(**{**stored.known(Verdict, data), "before": settings})
