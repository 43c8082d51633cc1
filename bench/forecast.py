"""Forecasts on and off on days and weeks of virtual time: `python -m bench.forecast [--publish]`.

Each shape runs with three seeds, once as shipped and once with `tuning.forecast: false`; nothing
else differs. The page docs/benchmarks/forecast.md is its result. An hour on two cores; ended
before, it goes on where it was as long as the commit is the same.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.book import Book
from bench.commit import head

from trimtab.simulation.figures import figures
from trimtab.simulation.run import simulate
from trimtab.simulation.scenario import Scenario

PAGE = Path("docs/benchmarks/forecast.md")
SEEDS = (1, 2, 3)
HOUR_S, DAY_S = 3600, 86_400
WORK: Mapping[int, int] = {0: 500, 8: 3500, 12: 2500, 13: 4000, 17: 2000, 19: 1000, 22: 500}
"""Records/s of a working day, by the hour from which they come."""

REST: Mapping[int, int] = {0: 500, 10: 1000, 20: 500}

PLANT: dict[str, Any] = {
    "capacity": {1: 400, 2: 780, 4: 1500, 8: 2800, 16: 5200, 26: 8000},
    "batch": {"fixed_s": 0.3, "noise": 0.12, "noise_memory": 0.9, "doubled": 0.03},
    "change": {"start_s": 40},
    "metrics": {"scrape_s": 5, "delay_s": 5},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A load over time, in words and as a scenario has it."""

    name: str
    words: str
    duration_s: int
    load: dict[str, Any]

    def scenario(self, *, forecast: bool) -> Scenario:
        """The closed loop on this load."""
        return Scenario.model_validate({
            "name": self.name,
            "duration": self.duration_s,
            "partitions": 32,
            "load": self.load | {"noise": 0.05},
            "plant": PLANT,
            "goal": {"latency": {"target": 15, "percentile": 95}},
            "limits": {"executors": {"min": 1, "max": 26}},
            "tuning": {"forecast": None if forecast else False},
            "start": {"executors": 2, "trigger": 5, "maxOffsetsPerTrigger": 200_000},
        })  # fmt: skip


def _days(days: Sequence[Mapping[int, int]], late_h: Mapping[int, int] | None = None) -> Any:
    """Steps by the hour; `late_h` says by how many hours a day is late."""
    steps = []
    for number, day in enumerate(days):
        late = (late_h or {}).get(number, 0)
        for hour, rate in day.items():
            at_h = hour + late if hour else 0
            steps.append((number * DAY_S + at_h * HOUR_S, rate))
    return {"step": steps}


SHAPES = (
    Shape("days", "four working days alike", 4 * DAY_S, _days([WORK] * 4)),
    Shape(
        "smooth", "three days that rise and fall smoothly", 3 * DAY_S,
        {"diurnal": {"low": 500, "high": 5000, "period_s": DAY_S}},
    ),
    Shape(
        "weeks", "two weeks with weekends, from a Thursday", 14 * DAY_S,
        _days(([WORK] * 2 + [REST] * 2 + [WORK] * 3) * 2),
    ),
    Shape(
        "shift", "three days alike, the fourth two hours late", 4 * DAY_S,
        _days([WORK] * 4, {3: 2}),
    ),
    Shape(
        "holiday", "three days alike, then a day of rest", 4 * DAY_S, _days([WORK] * 3 + [REST])
    ),
    Shape(
        "waves", "a wave every 20 minutes for two hours", 2 * HOUR_S,
        {"cosine": {"mean": 2750, "amplitude": 2250, "period_s": 1200}},
    ),
    Shape(
        "rise", "up tenfold within ten minutes", HOUR_S,
        {"ramp": {"start_s": 900, "end_s": 1500, "low": 500, "high": 5000}},
    ),
    Shape(
        "steps", "up and down at once, every half hour", 4 * HOUR_S,
        {"step": [(n * 1800, 4500 if n % 2 else 500) for n in range(8)]},
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What one run gave."""

    shape: str
    forecast: bool
    violated_s: float
    core_hours: float
    changes: int
    came: int
    missed: int


def measured(shape: Shape, seed: int, *, forecast: bool) -> Row:
    """One run."""
    run = simulate(shape.scenario(forecast=forecast), seed)
    found, record = figures(run), run.ticks[-1].after.forecasts
    return Row(
        shape.name, forecast, found["slo_violation_s"], found["core_hours"],
        found["reconfigurations"], record.came, record.missed,
    )  # fmt: skip


def page(rows: Sequence[Row], commit: str) -> str:
    """The page for people."""
    return "\n".join([
        "# Forecasts",
        "",
        f"`make bench-forecast` at commit {commit}: the closed loop in virtual time, as shipped and"
        " with `tuning.forecast:",
        f"false`, {len(SEEDS)} seeds each. Batches vary by 12 % with a memory of 0.9, 3 % of them"
        " take twice as long; executors take 40 s",
        "to start. Figures are means over the seeds.",
        "",
        "| load | goal violated, off | on | core-hours, off | on | changes, off | on | raises ahead"
        " that came true | for nothing |",
        "|---|---|---|---|---|---|---|---|---|",
        *_table(rows),
        "",
        "The first day of each pattern is in the figures: nothing is known on it. In `shift` and"
        " `holiday` the forecast is wrong",
        "for a day; what that costs is the difference in core-hours.",
        "",
    ])  # fmt: skip


def _table(rows: Sequence[Row]) -> Iterator[str]:
    for shape in SHAPES:
        off, on = (
            [row for row in rows if (row.shape, row.forecast) == (shape.name, known)]
            for known in (False, True)
        )
        cells = [
            f"{shape.name}: {shape.words}",
            *(f"{_mean(each, 'violated_s'):.0f} s" for each in (off, on)),
            f"{_mean(off, 'core_hours'):.1f}",
            f"{_mean(on, 'core_hours'):.1f}"
            f" ({_mean(on, 'core_hours') / _mean(off, 'core_hours') - 1:+.1%})",
            *(f"{_mean(each, 'changes'):.0f}" for each in (off, on)),
            f"{_mean(on, 'came'):.0f}",
            f"{_mean(on, 'missed'):.1f}",
        ]
        yield f"| {' | '.join(cells)} |"


def _mean(rows: Sequence[Row], name: str) -> float:
    return statistics.fmean(getattr(row, name) for row in rows)


def _rows(book: Book) -> Sequence[Row]:
    """What the book has, and what is measured for it now: the longest runs first."""
    wanted = {
        f"{shape.name} {seed} {known}": (shape, seed, known)
        for shape in sorted(SHAPES, key=lambda shape: -shape.duration_s)
        for seed in SEEDS
        for known in (False, True)
    }
    done = book.read()
    with ProcessPoolExecutor(2) as pool:
        jobs = {
            pool.submit(measured, shape, seed, forecast=known): key
            for key, (shape, seed, known) in wanted.items()
            if key not in done
        }
        for job in as_completed(jobs):
            book.add(jobs[job], asdict(job.result()))
    return [Row(**row) for row in book.read().values()]


def main() -> None:
    """Measure, and print the page or publish it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--publish", action="store_true", help=f"write {PAGE}")
    publish = parser.parse_args().publish
    rows = _rows(Book(Path(f"build/bench/forecast-{head()}.jsonl")))
    text = page(rows, head())
    if publish:
        PAGE.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
