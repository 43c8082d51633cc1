"""The simulator's prediction for a measured setting, and its error."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.simreal.fit import Fitted, scenario
from bench.simreal.seen import Batch, Measured

from trimtab.api.reasons import Action, Reason
from trimtab.simulation.run import simulate
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision
from trimtab.tuning.snapshot import Snapshot

SETTLE_S = 60.0
"""Skipped at the start of a simulated run: the real window begins settled, too."""

DURATION_S = 660.0
RATE_TARGET, P95_TARGET = 0.15, 0.25
"""Largest acceptable median error, as a share of the measurement."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A setting, measured and predicted. Rates in records/s, p95 in seconds."""

    seen: Measured
    rate: float
    p95_s: float | None
    """None if the load exceeds the rate: then latency grows without bound."""

    @property
    def rate_error(self) -> float:
        """As a share of the measurement; above 0 if the simulator predicts more."""
        return self.rate / self.seen.rate - 1

    @property
    def p95_error(self) -> float | None:
        """The same for the latency."""
        return None if self.p95_s is None else self.p95_s / self.seen.p95_s - 1


@dataclass(frozen=True, slots=True)
class Medians:
    """Median sizes of the errors; None if there are none."""

    rate: float | None
    rate_saturated: float | None
    p95: float | None

    @property
    def met(self) -> bool:
        """Whether both targets are met."""
        if self.rate is None or self.p95 is None:
            return False
        return self.rate <= RATE_TARGET and self.p95 <= P95_TARGET


def rest(snapshot: Snapshot, memory: ControllerState) -> tuple[Decision, ControllerState]:
    """A controller that never moves."""
    return Decision(Action.HOLD, Reason.WITHIN_BOUNDS, "", snapshot.settings), memory


def simulated(fitted: Fitted, seen: Measured, *, seed: int = 1) -> list[Batch]:
    """The batches of the same setting in the simulator, without the settling ones.

    A saturated setting begins with the measured backlog.
    """
    backlog = seen.lag if seen.setting.saturated else 0.0
    run = simulate(scenario(fitted, seen.setting, DURATION_S, backlog), seed, controller=rest)
    return [
        Batch(
            id=b.id, committed_s=b.end_s, records=b.records, duration_s=b.duration_s,
            p95_s=b.end_s - run.arrivals.time_of(b.last - 0.95 * b.records),
            executors=b.executors_min, total=b.last,
        )
        for b in run.batches
        if b.end_s >= SETTLE_S
    ]  # fmt: skip


def compare(fitted: Fitted, seen: Measured) -> Comparison:
    """Predict one setting."""
    found = Measured(seen.setting, tuple(simulated(fitted, seen)), seen.lag, 0.0)
    return Comparison(seen, found.rate, None if seen.setting.saturated else found.p95_s)


def medians(comparisons: Sequence[Comparison]) -> Medians:
    """The medians of the sizes of the errors."""
    rates = [(c.seen.setting.saturated, abs(c.rate_error)) for c in comparisons]
    latencies = [abs(c.p95_error) for c in comparisons if c.p95_error is not None]
    return Medians(
        _median([error for _, error in rates]),
        _median([error for saturated, error in rates if saturated]),
        _median(latencies),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
