"""The verdict over a demo run: was the goal broken, held again, by how many executors, at no loss.

The allowed executors of a load (`exact` in docs/simulation.md) follow from the capacity that this
very run showed: D = out + (A + W·n)/p is fitted to its own batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dev.demo.watch import Sample

from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.capacity.points import Point, learn
from trimtab.tuning.trials.trial import SETTLE_AFTER_START

BOUNDS = (0.5, 0.8)
"""Lower and higher bound of the example."""

HELD_S = 15.0
"""The goal must hold for at least this long at the end of a phase."""


@dataclass(frozen=True)
class Phase:
    """A piece of constant load, in seconds since the load began."""

    start_s: float
    end_s: float
    rate: float


@dataclass
class PhaseVerdict:
    """What one phase showed."""

    phase: Phase
    broken: bool
    held: bool
    executors: int | None
    allowed: list[int]
    detect_s: float | None = None
    settle_s: float | None = None
    recover_s: float | None = None
    changes: int = 0

    @property
    def exact(self) -> bool:
        """Whether the executors lay in the allowed set at the end."""
        return self.executors in self.allowed


@dataclass
class Verdict:
    """The whole run."""

    phases: list[PhaseVerdict]
    trigger_kept: bool
    delivery: dict[str, int]
    target_s: float
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the demo showed what it promises."""
        return not self.faults


def phases(schedule: Sequence[tuple[float, float]]) -> list[Phase]:
    """The schedule with absolute times."""
    out, at = [], 0.0
    for seconds, rate in schedule:
        out.append(Phase(at, at + seconds, rate))
        at += seconds
    return out


def measured_model(samples: Sequence[Sample], partitions: int) -> Model | None:
    """The capacity that the batches of this run showed; each batch counts once.

    The first ones after a change of the executors are left out, as the operator leaves them out.
    """
    points: tuple[Point, ...] = ()
    last, executors, since = -1, 0, 0
    for s in samples:
        if s.batch in {None, last} or not s.records or s.duration is None or not s.executors_min:
            continue
        last = s.batch or 0
        since = since + 1 if s.executors_min == s.running == executors else 0
        executors = s.executors_min
        if since > SETTLE_AFTER_START:
            points = learn(points, Point(executors, int(s.records), 0.1, s.duration))
    return fit(points, partitions, waves=True)


def allowed(model: Model, rate: float, trigger_s: float, most: int,
            bounds: tuple[float, float]) -> list[int]:  # fmt: skip
    """A: the executor counts that the bounds (lower, higher) allow at a rate.

    Where none holds the higher bound, those that carry the most.
    """
    lower, higher = bounds
    carried = {p: model.sustainable(p, trigger_s) for p in range(1, most + 1)}
    within = [
        p for p in carried
        if rate <= higher * carried[p] and (p == 1 or rate > lower * carried[p - 1])
    ]  # fmt: skip
    return within or [p for p in carried if carried[p] >= max(carried.values())]


def judge(
    samples: Sequence[Sample],
    plan: Sequence[Phase],
    decisions: Sequence[dict[str, Any]],
    delivery: dict[str, int],
    target_s: float,
) -> Verdict:
    """The verdict. Each decision carries `t`, the seconds since the load began."""
    times = [(d["t"], str(d["reason"])) for d in decisions if d["action"] in {"Change", "Revert"}]
    model = measured_model(samples, 12)
    trigger = next((s.trigger for s in reversed(samples) if s.trigger), 5.0)
    verdicts = [
        _phase(samples, p, times, allowed(model, p.rate, trigger, 5, BOUNDS) if model else [],
               target_s)
        for p in plan
    ]  # fmt: skip
    kept = any(
        "TriggerShortened" in str(before.get("reason")) and after.get("action") == "Keep"
        for before, after in itertools.pairwise(decisions)
    )
    verdict = Verdict(verdicts, kept, delivery, target_s)
    verdict.faults = list(_faults(verdict))
    return verdict


def _phase(
    samples: Sequence[Sample],
    phase: Phase,
    times: Sequence[tuple[float, str]],
    may_be: list[int],
    target_s: float,
) -> PhaseVerdict:
    inside = [s for s in samples if phase.start_s <= s.t < phase.end_s]
    bad = [s.t for s in inside if s.p95 is not None and s.p95 > target_s]
    tail = [s for s in inside if s.t >= phase.end_s - HELD_S]
    moved = [t for t, _ in times if phase.start_s <= t < phase.end_s]
    return PhaseVerdict(
        phase=phase,
        broken=bool(bad),
        held=bool(tail) and all(s.p95 is not None and s.p95 <= target_s for s in tail),
        executors=inside[-1].executors if inside else None,
        allowed=may_be,
        detect_s=round(moved[0] - phase.start_s, 1) if moved else None,
        settle_s=round(moved[-1] - phase.start_s, 1) if moved else None,
        recover_s=round(bad[-1] - phase.start_s, 1) if bad else 0.0,
        changes=len(moved),
    )


def _faults(verdict: Verdict) -> list[str]:
    faults = []
    for number, seen in enumerate(verdict.phases):
        where = f"phase {number} ({seen.phase.rate:g}/s)"
        if seen.phase.rate > 100 and not seen.broken:
            faults.append(f"{where}: the goal was never broken, so nothing was proved")
        if not seen.held:
            faults.append(f"{where}: the goal was not held in its last {HELD_S:g} s")
        if not seen.exact:
            faults.append(f"{where}: {seen.executors} executors, allowed are {seen.allowed}")
    if not verdict.trigger_kept:
        faults.append("no change of the trigger was kept")
    if verdict.delivery.get("lost"):
        faults.append(f"{verdict.delivery['lost']} records were lost")
    if verdict.delivery.get("duplicated"):
        faults.append(f"{verdict.delivery['duplicated']} records came twice")
    return faults
