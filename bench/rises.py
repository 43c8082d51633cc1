"""How a run handled each rise of a stepped load, and how fast it had to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.simulation.run import Run

LEAST_RISE = 1.25
"""Factor from which a step of the load needs a reaction."""

SAME = 0.05
"""A load within this share of an earlier one counts as seen before."""

KNOWN_SETTLE_S = 40.0
BATCHES_OF_A_ROUND = 5
"""Batches from a change to its judgement: three while the JVMs warm up, two that are judged."""


@dataclass(frozen=True, slots=True)
class Rise:
    """One rise of the load; times in seconds since the rise."""

    at_s: float
    known: bool
    """Whether a load like this was handled earlier in the run."""
    detect_s: float | None
    """Until the first change; None without one."""
    settle_s: float | None
    """Until the last change."""
    recover_s: float
    """Until the end of the last violating second; the whole piece if it did not recover."""
    rounds: int
    """Changes of the executor count."""
    detect_limit_s: float | None
    """Metric delay, scrape and dwell; None if the metrics have gaps."""
    settle_limit_s: float | None
    """40 s if the load is known, else detection, a live change and the further rounds."""


def rises(run: Run, every: Mapping[str, Any]) -> list[Rise]:
    """The rises of a run with these figures; none for other loads."""
    scenario, found = run.scenario, []
    steps = scenario.load.step or []
    ends = [*(at for at, _ in steps[1:]), scenario.duration]
    for index in range(1, len(steps)):
        at_s, load = steps[index]
        if load < LEAST_RISE * steps[index - 1][1] or load == 0:
            continue
        detect_s, settle_s = every["detect_s"][index], every["config_settle_s"][index]
        recover_s = every["recover_s"][index]
        rounds = _rounds(run, at_s, ends[index])
        known = any(abs(load - before) <= SAME * load for _, before in steps[:index])
        found.append(Rise(
            at_s, known, detect_s, settle_s,
            ends[index] - at_s if recover_s is None else recover_s, rounds,
            *_limits(run, known, detect_s, rounds),
        ))  # fmt: skip
    return found


def _rounds(run: Run, start_s: float, end_s: float) -> int:
    return sum(
        start_s <= t.at_s < end_s
        and t.before.settings.executors != t.after.settings.executors
        for t in run.changes
    )  # fmt: skip


def _limits(
    run: Run, known: bool, detect_s: float | None, rounds: int
) -> tuple[float | None, float | None]:
    scenario = run.scenario
    metrics, live_s = scenario.plant.metrics, scenario.plant.change.live_s
    if metrics.gaps or detect_s is None:
        return None, None
    dwell_s = scenario.policy().dwell_up * scenario.tick
    round_s = live_s + BATCHES_OF_A_ROUND * scenario.start.trigger + dwell_s
    learned_s = detect_s + live_s + (rounds - 1) * round_s
    limit_s = metrics.delay_s + metrics.scrape_s + dwell_s
    return limit_s, KNOWN_SETTLE_S if known else learned_s
