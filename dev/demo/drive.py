"""Drive the load through its steps: each goes on until the pipeline has settled under it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dev.demo import load
from dev.demo.judge import Phase, judge_phase, measured_capacity, trigger_kept
from dev.demo.kube import Json, Kube
from dev.demo.watch import Sample, header, look
from dev.demo.work import Work
from dev.localcluster import console

LOW, HIGH = 25.0, 180.0
"""Records/s; one executor of the example cannot carry the higher, and three can."""


@dataclass(frozen=True)
class Step:
    """A step of the load."""

    rate: float
    """Records/s."""
    least_s: float
    """Time to see what a change leads to, whatever the machine."""
    limit_s: float
    """It ends here though nothing has settled; the verdict names what is missing."""
    recent_peak: float = 0.0
    """Records/s for which executors must still be there; 0: only those for the rate."""

    def phase(self, start_s: float, end_s: float) -> Phase:
        """What the judge is told of it."""
        return Phase(start_s, end_s, self.rate, self.recent_peak)


STEPS = (
    Step(LOW, 90, 180),
    Step(HIGH, 120, 300),
    Step(LOW, 90, 240),
    Step(HIGH, 120, 300),
    # The peak came back soon after its executors had been released, so they stay for longer now.
    Step(LOW, 70, 70, recent_peak=HIGH),
    Step(HIGH, 90, 180, recent_peak=HIGH),
    Step(LOW, 90, 420),
)
LOOK_EVERY_S = 5.0


@dataclass
class Ride:
    """What was seen; `started` is the time of day at which the load began."""

    started: float
    samples: list[Sample] = field(default_factory=list)
    plan: list[Phase] = field(default_factory=list)

    def decisions(self, last: Sequence[Json] = ()) -> list[dict[str, Any]]:
        """Every decision that was seen in status, once, with its time since the load began."""
        seen: dict[tuple[str, str, int], Json] = {}
        for decision in [d for s in self.samples for d in s.decisions] + list(last):
            seen[decision["time"], decision["action"], decision["generation"]] = decision
        told = []
        for decision in seen.values():
            at = datetime.strptime(decision["time"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            told.append({"t": round(at.timestamp() - self.started, 1), **decision})
        return sorted(told, key=lambda d: d["t"])

    def settled(self, phase: Phase, least_s: float, work: Work) -> bool:
        """Whether a phase that ends now shows all that it is for."""
        if phase.end_s - phase.start_s < least_s or not self.samples or self.samples[-1].trial:
            return False
        decisions = self.decisions()
        if not self.plan and not trigger_kept(decisions, [phase]):
            return False
        capacity = measured_capacity(self.samples, work)
        seen = judge_phase(self.samples, phase, decisions, capacity)
        return seen.held and seen.exact


def drive(kube: Kube, image: str, work: Work) -> Ride:
    """Run the load, with a live table, until its last step ends."""
    ride = Ride(load.start(kube, image, [(step.limit_s, step.rate) for step in STEPS]))
    console.say(header())
    start_s = 0.0
    for step in STEPS:
        phase = _step(kube, ride, work, start_s, step)
        ride.plan.append(phase)
        start_s = phase.end_s
    return ride


def _step(kube: Kube, ride: Ride, work: Work, start_s: float, step: Step) -> Phase:
    """One step of the load; it ends itself at its limit."""
    limit_s = start_s + step.limit_s
    while (t := time.time() - ride.started) < limit_s:
        sample = look(kube, round(t, 1), step.rate)
        ride.samples.append(sample)
        console.say(sample.row())
        phase = step.phase(start_s, time.time() - ride.started)
        if ride.settled(phase, step.least_s, work):
            load.skip(kube)
            return phase
        time.sleep(max(0.0, LOOK_EVERY_S - (time.time() - ride.started - t)))
    return step.phase(start_s, limit_s)
