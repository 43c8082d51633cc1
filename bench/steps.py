"""How many steps to the right number of executors: seven loads on the measured curve of Nexmark Q1.

    python -m bench.steps            # the tables, as Markdown

The curve is the one that ContTune publishes (mean of at most 5 runs on Flink). The controller
starts from 1 and from 26 executors and does not know the curve. A case counts if it ends exact (see
docs/simulation.md) and visits no more than `final + max(2, final/2)` executors. A law that is good
on only one curve would be fitted to it: the last table has made-up curves, from 1 executor, with
and without noise.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.control import OURS, play

from trimtab.simulation.figures import allowed, exact
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario

Q1 = {
    1: 529573, 2: 966817, 4: 1829696, 6: 2535503, 7: 2936889, 8: 3118478, 10: 3721099,
    14: 4624714, 15: 4967828, 20: 6350677, 21: 6465250, 25: 7089387, 26: 7476392,
}  # fmt: skip
"""Records/s by parallelism: github.com/ljqcodelove/ContTune, README."""

MADE_UP = {
    **{f"p^{b}": {p: 1000 * p**b for p in range(1, 27)} for b in (0.6, 0.75, 0.9, 1.0)},
    **{f"Amdahl {s}": {p: 1000 * p / (1 + s * (p - 1)) for p in range(1, 27)}
       for s in (0.01, 0.03, 0.06)},
    "bend": {1: 1000, 8: 7600, 12: 9500, 26: 12000},
    "step-up": {1: 400, 2: 780, 4: 1500, 8: 2800, 16: 5200, 26: 8000},
}  # fmt: skip
"""Records/s by executors."""

LOADS = tuple(million * 1_000_000 for million in range(1, 8))
TRIGGER_S = 5
PIECE_S = 1200
"""Seconds of one load: room for four trials of 26 batches."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Bounds, and the fixed part of a batch."""

    higher: float
    lower: float
    fixed_s: float


SETTINGS = (Setting(1.0, 0.9, 0.0), Setting(0.9, 0.8, 0.3))
DEFAULTS = Setting(0.85, 0.75, 0.3)
"""Those of the profile `balanced`."""


@dataclass(frozen=True, slots=True)
class Case:
    """One piece of constant load in a run."""

    load: int
    start: int
    path: tuple[int, ...]
    """Executors after each step."""
    right: tuple[int, ...]
    """The executor counts that the bounds allow."""
    exact: bool

    @property
    def steps(self) -> int:
        """Changes of the executor count."""
        return len(self.path)

    @property
    def final(self) -> int:
        """Where it ended."""
        return self.path[-1] if self.path else self.start

    @property
    def counts(self) -> bool:
        """Whether it ended exact, without an excursion."""
        most = max(self.path, default=self.start)
        return self.exact and most <= self.final + max(2, 0.5 * self.final)


def scenario(
    name: str, loads: Sequence[int], start: int, setting: Setting,
    *, curve: Mapping[int, float] = Q1, noise: float = 0.0,
) -> Scenario:  # fmt: skip
    """Pieces of constant load on the plant of a curve, with a pinned trigger."""
    rate, limit = max(loads), 2 * max(loads) * TRIGGER_S
    values: dict[str, Any] = {"trigger": TRIGGER_S, "maxOffsetsPerTrigger": limit}
    return Scenario.model_validate({
        "name": name, "duration": PIECE_S * len(loads), "tick": 10, "partitions": 32,
        "load": {"step": [[PIECE_S * i, load] for i, load in enumerate(loads)]},
        "plant": {"capacity": curve, "batch": {"fixed_s": setting.fixed_s, "noise": noise}},
        "goal": {"throughput": {"recordsPerSecond": rate}},
        "limits": {"executors": {"min": 1, "max": 26}},
        "tuning": {
            "bounds": {"higher": setting.higher, "lower": setting.lower}, "pinned": values,
        },
        "start": {"executors": start, **values},
    })  # fmt: skip


def first_visits(
    setting: Setting, name: str = OURS, given: Mapping[str, str] | None = None
) -> Iterator[Case]:
    """Run each load from 1 and from 26 executors, with nothing learned, by any controller."""
    for start in (1, 26):
        for load in LOADS:
            run, _ = play(scenario(f"t3-{load}-{start}", [load], start, setting), name, 1, given)
            yield _pieces(run)[0]


def second_visits(setting: Setting) -> Iterator[Case]:
    """Two alternating loads, each seen before: the third and the fourth piece."""
    for index, load in enumerate(LOADS):
        other = LOADS[(index + 3) % len(LOADS)]
        loads = [load, other, load, other]
        run = simulate(scenario(f"t3-{load}-again", loads, 1, setting), 1)
        yield from _pieces(run)[2:]


def made_up(setting: Setting, noise: float) -> Iterator[Case]:
    """Four random loads on each made-up curve, from 1 executor."""
    rng = random.Random("made-up")
    for name, curve in MADE_UP.items():
        for seed in range(4):
            share = setting.higher * (0.14 + 0.72 * rng.random())
            load = round(share * max(curve.values()))
            case = scenario(name, [load], 1, setting, curve=curve, noise=noise)
            yield _pieces(simulate(case, seed))[0]


def _pieces(run: Run) -> list[Case]:
    cases, now = [], run.scenario.start.executors
    for begin_s, load in run.scenario.load.step or []:
        moved = [
            t for t in run.changes
            if begin_s <= t.at_s < begin_s + PIECE_S
            and t.before.settings.executors != t.after.settings.executors
        ]  # fmt: skip
        path = tuple(t.after.settings.executors for t in moved)
        right = tuple(allowed(run, load, run.final))
        cases.append(Case(int(load), now, path, right, exact(run, begin_s + PIECE_S - 1)))
        now = cases[-1].final
    return cases


def table(cases: Sequence[Case]) -> str:
    """A Markdown table of the cases."""
    lines = ["| load | right | path | steps | counts |", "|---|---|---|---|---|"]
    for c in cases:
        right = "-".join(str(p) for p in c.right[:1] + c.right[1:][-1:]) or "none"
        path = " ".join(str(p) for p in (c.start, *c.path))
        counts = "yes" if c.counts else "no"
        lines.append(f"| {c.load / 1e6:g}e6 | {right} | {path} | {c.steps} | {counts} |")
    return "\n".join([*lines, "", summary(cases)])


def summary(cases: Sequence[Case]) -> str:
    """How many cases count, and their steps."""
    steps = [c.steps for c in cases]
    mean = statistics.mean(steps)
    good = sum(c.counts for c in cases)
    return f"{good} of {len(cases)} count; steps: mean {mean:.2f}, most {max(steps)}"


def main() -> None:
    """Print all tables."""
    for setting in SETTINGS:
        print(f"\n## higher {setting.higher:g}, lower {setting.lower:g},"
              f" fixed_s {setting.fixed_s:g}\n")  # fmt: skip
        print(table(list(first_visits(setting))))
        print("\nA load seen before:\n")
        print(table(list(second_visits(setting))))
    print("\n## Made-up curves\n")
    for setting in (*SETTINGS, DEFAULTS):
        for noise in (0.0, 0.05):
            words = summary(list(made_up(setting, noise)))
            print(f"{setting.higher:g} / {setting.lower:g}, noise {noise:g}: {words}")


if __name__ == "__main__":
    main()
