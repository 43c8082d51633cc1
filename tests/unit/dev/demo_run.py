"""Runs of the demo as they could have gone, in samples of five seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dev.demo.judge import Phase
from dev.demo.watch import Sample
from dev.demo.work import Work

WORK = Work(wait_s=0.016, partitions=6, cores=2, most=3, bounds=(0.5, 0.8), target_s=15.0)
PLAN = [Phase(0, 60, 25), Phase(60, 210, 180)]
DECISIONS: list[dict[str, Any]] = [
    {"t": 30.0, "action": "Change", "reason": "TriggerShortened", "changes": ["trigger 10s -> 5s"],
     "message": "AdmissionLimit"},
    {"t": 50.0, "action": "Keep", "reason": "TrialKept", "message": "load 0.83 -> 0.45"},
    {"t": 75.0, "action": "Change", "reason": "ExecutorsRaised", "changes": ["executors 1 -> 3"],
     "message": "Concurrency"},
]  # fmt: skip
GOOD = {"produced": 10, "delivered": 10, "lost": 0, "duplicated": 0}


def sample(t: float, batch: int, **changes: Any) -> Sample:
    """What is seen at a time: one executor until 90 s, then three; above the goal 80 to 150 s."""
    rate = 25.0 if t < 60 else 180.0
    executors = 1 if t < 90 else 3
    at_work = WORK.slots_at_work(executors)
    records = rate * 5
    base = Sample(
        t=t, load=rate, lag=100.0, lag_s=1.0, p95=30.0 if 80 <= t < 150 else 6.0, regime="Within",
        bottleneck="None", executors=executors, running=executors, trigger=5.0, batch=batch,
        records=records, duration=0.1 + (1.0 + WORK.wait_s * records) / at_work,
        executors_min=executors, reason="WithinBounds", decisions=(), pauses={}, changes={},
    )  # fmt: skip
    return replace(base, **changes)


def run(**changes: Any) -> list[Sample]:
    """A run of 210 s, the same changes in every sample of it."""
    return [replace(sample(5.0 * i, i), **changes) for i in range(42)]
