"""The verdict over a demo run: was the goal held again after each step, by how many executors, and
was anything lost.

The allowed executors of a load (`exact` in docs/simulation.md) follow from the known work of the
example (`Work.ceiling`) and from the capacity that this very run showed, whichever is less:
D = out + (A + W·n)/p is fitted to its own batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dev.demo.watch import Sample
from dev.demo.work import Work

from trimtab.tuning.capacity.fit import fit
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.capacity.points import Point, learn
from trimtab.tuning.trials.trial import SETTLE_AFTER_START

HELD_S = 20.0
"""The goal must hold for at least this long at the end of a phase."""


@dataclass(frozen=True)
class Phase:
    """A piece of constant load, in seconds since the load began."""

    start_s: float
    end_s: float
    rate: float
    recent_peak: float = 0.0
    """Records/s that came so shortly ago that executors for them must still be there; 0: none."""

    @property
    def to_carry(self) -> float:
        """Records/s that the executors must carry at its end."""
        return max(self.rate, self.recent_peak)


@dataclass
class PhaseVerdict:
    """What one phase showed."""

    phase: Phase
    proves: bool
    """Whether its load was more than what ran at its start can carry, or changed nothing."""
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


@dataclass(frozen=True)
class Capacity:
    """Records/s by executors: what this run showed, and never more than the known work allows."""

    work: Work
    model: Model | None
    trigger_s: float

    def carried(self, executors: int) -> float:
        """The highest rate whose batch still fits its trigger."""
        ceiling = self.work.ceiling(executors)
        if self.model is None:
            return ceiling
        return min(ceiling, self.model.sustainable(executors * self.work.cores, self.trigger_s))

    def allowed(self, rate: float) -> list[int]:
        """A: the executor counts that the bounds allow at a rate.

        Where none holds the higher bound, those that carry the most.
        """
        lower, higher = self.work.bounds
        carried = {p: self.carried(p) for p in range(1, self.work.most + 1)}
        within = [
            p for p in carried
            if rate <= higher * carried[p] and (p == 1 or rate > lower * carried[p - 1])
        ]  # fmt: skip
        return within or [p for p in carried if carried[p] >= max(carried.values())]

    def fewest(self, rate: float) -> int:
        """The fewest executors that carry a rate; the most that there may be where none does."""
        counts = range(1, self.work.most + 1)
        return next((p for p in counts if self.carried(p) >= rate), self.work.most)


def late(sample: Sample, target_s: float) -> bool | None:
    """Whether the goal is missed: by the last batch, or by a record that waits for longer already.

    None where neither is known.
    """
    seen = [value for value in (sample.p95, sample.lag_s) if value is not None]
    return max(seen) > target_s if seen else None


def measured_capacity(samples: Sequence[Sample], work: Work) -> Capacity:
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
            slots = executors * work.cores
            points = learn(points, Point(slots, int(s.records), 0.1, s.duration))
    trigger_s = next((s.trigger for s in reversed(samples) if s.trigger), 5.0)
    return Capacity(work, fit(points, work.partitions, waves=True), trigger_s)


def judge(
    samples: Sequence[Sample],
    plan: Sequence[Phase],
    decisions: Sequence[dict[str, Any]],
    delivery: dict[str, int],
    work: Work,
) -> Verdict:
    """The verdict. Each decision carries `t`, the seconds since the load began."""
    capacity = measured_capacity(samples, work)
    verdicts = [judge_phase(samples, phase, decisions, capacity) for phase in plan]
    verdict = Verdict(verdicts, trigger_kept(decisions, plan), delivery, work.target_s)
    verdict.faults = list(_faults(verdict))
    return verdict


def trigger_kept(decisions: Sequence[dict[str, Any]], plan: Sequence[Phase]) -> bool:
    """Whether a trial of a shorter trigger was kept before the load changed under it."""
    steps = [phase.start_s for phase in plan]
    return any(
        before.get("reason") == "TriggerShortened"
        and after.get("action") == "Keep"
        and not any(before["t"] < step <= after["t"] for step in steps)
        for before, after in itertools.pairwise(decisions)
    )


def judge_phase(
    samples: Sequence[Sample],
    phase: Phase,
    decisions: Sequence[dict[str, Any]],
    capacity: Capacity,
) -> PhaseVerdict:
    """The verdict over one phase."""
    target_s = capacity.work.target_s
    inside = [s for s in samples if phase.start_s <= s.t < phase.end_s]
    bad = [s.t for s in inside if late(s, target_s)]
    tail = [s for s in inside if s.t >= phase.end_s - HELD_S]
    moved = [
        d["t"] for d in decisions
        if d["action"] in {"Change", "Revert"} and phase.start_s <= d["t"] < phase.end_s
    ]  # fmt: skip
    began = next((s.executors for s in inside if s.executors), None)
    return PhaseVerdict(
        phase=phase,
        proves=began is not None and phase.rate > capacity.work.ceiling(began),
        broken=bool(bad),
        held=bool(tail) and all(late(s, target_s) is False for s in tail),
        executors=inside[-1].executors if inside else None,
        allowed=capacity.allowed(phase.to_carry),
        detect_s=round(moved[0] - phase.start_s, 1) if moved else None,
        settle_s=round(moved[-1] - phase.start_s, 1) if moved else None,
        recover_s=round(bad[-1] - phase.start_s, 1) if bad else 0.0,
        changes=len(moved),
    )


def _faults(verdict: Verdict) -> list[str]:
    faults = []
    lowest = min(seen.phase.rate for seen in verdict.phases)
    for number, seen in enumerate(verdict.phases):
        where = f"phase {number} ({seen.phase.rate:g}/s)"
        rises, kept = seen.phase.rate > lowest, bool(seen.phase.recent_peak)
        if rises and not (kept or seen.broken or seen.proves):
            faults.append(f"{where}: what ran could carry the load, so nothing was proved")
        if kept and seen.broken:
            faults.append(f"{where}: the goal was broken although the peak had been there before")
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
