"""What a run was good for, in the few figures that a newcomer asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dev.demo.judge import Capacity, PhaseVerdict, Verdict, late
from dev.demo.watch import Sample


@dataclass(frozen=True)
class Summary:
    """The figures; seconds in which nothing is known about the goal count as neither."""

    target_s: float
    held_s: float
    missed_s: float
    executor_s: float
    """Seconds of all executors together."""
    peak: float
    """The highest load in records/s."""
    static: int
    """The fewest executors that carry the peak, by this run's own capacity."""
    static_executor_s: float
    rises: tuple[PhaseVerdict, ...]
    """The phases with a peak load that was not there shortly before."""
    returns: tuple[PhaseVerdict, ...] = ()
    """The phases with a peak load that came back soon."""

    @property
    def held_percent(self) -> float:
        """Seconds in which the goal held, of all that are known."""
        return 100 * self.held_s / max(1e-9, self.held_s + self.missed_s)

    @property
    def saved_percent(self) -> float:
        """What the static peak would have cost more, of its own cost."""
        return 100 * (1 - self.executor_s / max(1e-9, self.static_executor_s))

    def sentences(self) -> list[str]:
        """The figures in words."""
        saved = f"{abs(self.saved_percent):.0f} % {'less' if self.saved_percent >= 0 else 'MORE'}"
        return [
            f"The goal, a p95 of at most {self.target_s:g} s, held in {self.held_percent:.0f} % of"
            f" {self.held_s + self.missed_s:.0f} seconds.",
            f"trimtab used {self.executor_s:,.0f} executor-seconds. A fixed {self.static} executors"
            f" would also carry the peak of {self.peak:g} records/s, and use"
            f" {self.static_executor_s:,.0f}: {saved}.",
            f"After each rise of the load it changed something within"
            f" {_seconds(v.detect_s for v in self.rises)},"
            f" made its last change after {_seconds(v.settle_s for v in self.rises)},"
            f" and met the goal again after {_seconds(v.recover_s for v in self.rises)}.",
            *([self._back()] if self.returns else []),
        ]

    def _back(self) -> str:
        if any(v.broken for v in self.returns):
            return "When a peak came back soon, the goal did not hold."
        return "A peak that came back soon found its executors still there: the goal held."


def summarize(samples: Sequence[Sample], verdict: Verdict, capacity: Capacity) -> Summary:
    """The figures of a run whose samples are in order of time."""
    target_s = verdict.target_s
    held = missed = spent = 0.0
    for one, other in itertools.pairwise(samples):
        seconds = other.t - one.t
        spent += seconds * one.cost
        was_late = late(one, target_s)
        held += seconds if was_late is False else 0.0
        missed += seconds if was_late else 0.0
    peak = max(v.phase.rate for v in verdict.phases)
    static = capacity.fewest(peak)
    length_s = samples[-1].t - samples[0].t if samples else 0.0
    peaks = [v for v in verdict.phases if v.phase.rate == peak]
    rises = tuple(v for v in peaks if not v.phase.recent_peak)
    returns = tuple(v for v in peaks if v.phase.recent_peak)
    return Summary(target_s, held, missed, spent, peak, static, static * length_s, rises, returns)


def _seconds(values: Iterable[float | None]) -> str:
    return ", ".join("-" if v is None else f"{v:.0f}" for v in values) + " s"
