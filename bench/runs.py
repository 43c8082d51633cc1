"""Many runs on two processes: each yields a row of figures, and a trace if requested."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bench.book import Book
from bench.control import play
from bench.grids import Variant, cost
from bench.noises import noisy
from bench.rises import rises

from trimtab.errors import TrimtabError
from trimtab.simulation.figures import capacities, figures
from trimtab.simulation.run import Run
from trimtab.simulation.scenario import Scenario, load_scenario
from trimtab.simulation.verifiers import check

WORKLOADS = Path(__file__).parent / "workloads"
TRACE_S = 20
"""Seconds between two points of a trace."""

KEPT = (
    "steps", "reconfigurations", "exact", "overshoot", "slo_violation_s", "lag_area",
    "core_hours", "oracle_core_hours", "oracle_h1_core_hours", "driver_busy", "reversals",
    "decision_ms",
)  # fmt: skip
"""Figures of a run that go into its row."""

Row = dict[str, Any]
NO_BOOK = Book()


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    path: Path
    variant: Variant
    seed: int
    noise: str = "white"
    traced: bool = False

    @property
    def key(self) -> str:
        """What it is, whatever folder its scenario lies in."""
        v = self.variant
        return json.dumps(
            [self.path.stem, v.label, v.name, v.given, self.seed, self.noise, self.traced]
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """A run over time, each list with one value for each of `at_s`."""

    label: str
    at_s: list[float]
    load: list[float]
    capacity: list[float]
    """Capacity of the requested executors, records/s."""
    lag: list[float]
    """Records that have arrived but are not committed."""
    executors: list[int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job: a row, or why there is none."""

    job: Job
    row: Row
    trace: Trace | None = None
    error: str = ""

    @property
    def failure(self) -> str:
        """Which run has no row, and why."""
        job = self.job
        words = f"{job.path.stem}, {job.noise}, {job.variant.label}, seed {job.seed}"
        return f"{words}: {self.error}"

    def plain(self) -> dict[str, Any]:
        """As JSON, without the job."""
        trace = asdict(self.trace) if self.trace else None
        return {"row": self.row, "trace": trace, "error": self.error}

    @classmethod
    def read(cls, job: Job, plain: Mapping[str, Any]) -> Outcome:
        """What was written of a job."""
        trace = Trace(**plain["trace"]) if plain["trace"] else None
        return cls(job, plain["row"], trace, plain["error"])


def do(job: Job) -> Outcome:
    """Run one job; errors are returned, so that one run does not end all others."""
    try:
        scenario = noisy(_scenario(job.path), job.noise)
        run, _ = play(scenario, job.variant.name, job.seed, dict(job.variant.given))
        trace = _trace(run, job.variant.label) if job.traced else None
        return Outcome(job, _row(run, job), trace)
    except (TrimtabError, OSError, ValueError, ArithmeticError, LookupError) as error:
        return Outcome(job, {}, error=f"{type(error).__name__}: {error}")


def do_all(
    jobs: Sequence[Job], workers: int, say: Callable[[str], None], what: str, book: Book = NO_BOOK
) -> list[Outcome]:
    """Run all jobs that are not in the book, each once, in an order that makes the time estimate
    fair; returns the outcomes of all."""
    written, every = book.read(), list(dict.fromkeys(jobs))
    known = [Outcome.read(job, written[job.key]) for job in every if job.key in written]
    todo = [job for job in every if job.key not in written]
    random.Random(what).shuffle(todo)
    began, done, told = time.monotonic(), [], 0.0
    with ProcessPoolExecutor(workers) as pool:
        for future in as_completed([pool.submit(do, job) for job in todo]):
            done.append(future.result())
            book.add(done[-1].job.key, done[-1].plain())
            spent = time.monotonic() - began
            if spent - told >= 15 or len(done) == len(todo):
                told = spent
                left = spent / len(done) * (len(todo) - len(done))
                say(f"{what}: {len(done)}/{len(todo)} runs, {spent:.0f} s, about {left:.0f} s left")
    order = {job: index for index, job in enumerate(every)}
    return sorted([*known, *done], key=lambda outcome: order[outcome.job])


@cache
def _scenario(path: Path) -> Scenario:
    return load_scenario(path)


def _row(run: Run, job: Job) -> Row:
    """The figures, their total cost, and the failed verifiers."""
    every = figures(run, check)
    counted_s = run.scenario.duration - run.scenario.warmup_s
    share = every["slo_violation_s"] / counted_s
    return {
        "workload": run.scenario.name,
        "label": job.variant.label,
        "seed": job.seed,
        "noise": job.noise,
        **{name: every[name] for name in KEPT},
        "rises": [asdict(rise) for rise in rises(run, every)],
        "hours": run.scenario.duration / 3600,
        "violating": round(share, 6),
        "cost": round(
            cost(
                every["core_hours"],
                every["oracle_h1_core_hours"],
                share,
                3600 * every["steps"] / counted_s,
            ),
            4,
        ),
        "failed": [name for name, held in every["verdicts"].items() if not held],
    }


def _trace(run: Run, label: str) -> Trace:
    policy = run.scenario.policy()
    counts = range(policy.min_executors, policy.max_executors + 1)
    rates = capacities(run.scenario, counts, run.scenario.settings())
    empty = Trace(label, [], [], [], [], [])
    changes, batches = list(run.changes), list(run.batches)
    executors, committed = run.scenario.settings().executors, 0.0
    for at_s in range(0, int(run.scenario.duration), TRACE_S):
        while changes and changes[0].at_s <= at_s:
            executors = changes.pop(0).after.settings.executors
        while batches and batches[0].end_s <= at_s:
            committed = batches.pop(0).last
        empty.at_s.append(at_s)
        empty.load.append(round(run.arrivals.plain_rate(at_s), 1))
        empty.capacity.append(round(rates[executors], 1))
        empty.lag.append(round(max(0.0, run.arrivals.total(at_s) - committed)))
        empty.executors.append(executors)
    return empty


def relabelled(variant: Variant, label: str) -> Variant:
    """The same controller under another name."""
    return replace(variant, label=label)
