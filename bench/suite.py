"""All controllers, all workloads, all seeds, in one run: `make bench-control`.

    python -m bench.suite [--quick] [--only cosine,step] [--scenario FILE] [--controllers a,b]

First every controller is tuned: each variant of its grid runs the tuning workloads and seeds, with
one score for all. Then the best of each runs every workload on seeds that were not used for tuning.
The suite writes the rows as JSON, one picture per workload, and the page with its verdicts.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from bench.book import Book
from bench.commit import changed, head
from bench.control import NAMES, OURS
from bench.edges import EXTRA, ROUNDS, beyond
from bench.grids import BUDGET, WEIGHT, Variant, absent, shipped, variants
from bench.noises import NOISES
from bench.report import page
from bench.results import SHIPPED, Curve, Results, Tried, cheapest
from bench.runs import NO_BOOK, WORKLOADS, Job, Outcome, do_all, relabelled
from bench.steps import SETTINGS, first_visits
from bench.verdicts import DS2, DS2_NAIVE, judged

from bench import heldout
from trimtab.errors import BadInputError, TrimtabError

TUNED_ON = tuple(WORKLOADS / f"{name}.yaml" for name in ("cosine", "random", "spikes", "step"))
SEEDS, TUNING_SEEDS = (1, 2, 3, 4, 5), (101, 102)
CODE = ("bench", "operator")
"""What a run's figures depend on."""
TRACED = "white"
"""The noise of the pictures."""
HELD_OUT_SEEDS = 2
"""On how many of the seeds the held-out loads run."""
FRONTS, FRONT_SEEDS = (OURS, "keda"), 3
"""Controllers of which every variant runs on all workloads, and on how many of the seeds."""
QUICK_SEEDS, QUICK_TUNING_SEEDS, QUICK_BUDGET = (1, 2), (101,), 4


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    seeds: tuple[int, ...] = SEEDS
    tuning_seeds: tuple[int, ...] = TUNING_SEEDS
    tuned_on: tuple[Path, ...] = TUNED_ON
    held_out: int | None = None
    """The seed of the held-out loads; none without."""
    budget: int = BUDGET
    rounds: int = ROUNDS
    """How often a grid may grow where its best variant is on an edge."""
    workers: int = 2
    book: Book = NO_BOOK


def say(words: str) -> None:
    """Print a line of progress."""
    print(words, file=sys.stderr, flush=True)


def tune(plan: Plan, results: Results) -> dict[str, Variant]:
    """The best variant of each controller; one whose runs all fail is skipped."""
    tried: dict[str, list[Tried]] = {name: [] for name in plan.names}
    asked = [v for name in plan.names for v in variants(name, plan.budget)]
    for _ in range(1 + plan.rounds):
        for each in _try(plan, asked):
            tried[each.variant.name].append(each)
        best = {name: found for name, of in tried.items() if (found := cheapest(of))}
        asked = [v for name, found in best.items() for v in _more(plan, found, tried[name])]
        if not asked:
            break
    results.tried += [each for of in tried.values() for each in of]
    for name in set(plan.names) - set(best):
        results.skipped[name] = tried[name][0].error
        say(f"skipped: {name} ({tried[name][0].error})")
    return best


def _try(plan: Plan, asked: Sequence[Variant]) -> list[Tried]:
    """The means of each variant over the tuning runs."""
    jobs = [
        Job(path, v, seed, noise)
        for v in asked for path in plan.tuned_on for seed in plan.tuning_seeds for noise in NOISES
    ]  # fmt: skip
    found: dict[Variant, list[Outcome]] = {}
    for outcome in do_all(jobs, plan.workers, say, "tuning", plan.book):
        found.setdefault(outcome.job.variant, []).append(outcome)
    return [_tried(v, found[v]) for v in asked]


def _more(plan: Plan, best: Variant, tried: Sequence[Tried]) -> list[Variant]:
    """Variants beyond the edges of a grid, as far as its controller has some left."""
    left = EXTRA - max(0, len(tried) - len(variants(best.name, plan.budget)))
    return beyond(best, [t.variant for t in tried])[: max(0, left)]


def _tried(variant: Variant, outcomes: Sequence[Outcome]) -> Tried:
    if errors := [o.error for o in outcomes if o.error]:
        return Tried(variant, 0, 0, 0, errors[0])
    rows = [o.row for o in outcomes]
    ratio = statistics.fmean(r["core_hours"] / r["oracle_h1_core_hours"] for r in rows)
    violating = statistics.fmean(r["violating"] for r in rows)
    return Tried(variant, statistics.fmean(r["cost"] for r in rows), ratio, violating)


def score(plan: Plan, best: dict[str, Variant], results: Results) -> None:
    """Run the best variants, ours and Flink's as shipped, and whole grids, on all workloads."""
    chosen = _chosen(best)
    points = [
        relabelled(v, f"{name}: {v.words}")
        for name in FRONTS if name in best for v in variants(name, plan.budget)
    ]  # fmt: skip
    jobs = [
        Job(path, variant, seed, noise, traced=noise == TRACED and seed == plan.seeds[0])
        for path in plan.paths for noise in NOISES
        for variant, seeds in (
            *((v, plan.seeds) for v in chosen), *((v, plan.seeds[:FRONT_SEEDS]) for v in points)
        )
        for seed in seeds
    ]  # fmt: skip
    of_front = {v.label for v in points}
    for outcome in do_all(jobs, plan.workers, say, "scores", plan.book):
        job = outcome.job
        if outcome.error:
            results.errors.append(outcome.failure)
        elif job.variant.label in of_front:
            results.fronts.setdefault(job.variant.name, []).append(outcome.row)
        else:
            results.rows.append(outcome.row)
        if outcome.trace and job.variant.label not in of_front:
            results.traces.setdefault(outcome.row["workload"], []).append(outcome.trace)


def _chosen(best: dict[str, Variant]) -> list[Variant]:
    """The best of each controller, and what ours and Flink's do as shipped."""
    return [*best.values(), *(v for n in (OURS, "flink") if n in best for v in shipped(n, SHIPPED))]


def hold_out(plan: Plan, seed: int, best: dict[str, Variant], results: Results) -> None:
    """Run the best variants, and what ships, on the loads that a seed makes."""
    chosen = _chosen(best)
    with TemporaryDirectory() as folder:
        jobs = [
            Job(path, variant, run, noise)
            for path in heldout.write(seed, Path(folder)) for noise in NOISES
            for variant in chosen for run in plan.seeds[:HELD_OUT_SEEDS]
        ]  # fmt: skip
        for outcome in do_all(jobs, plan.workers, say, "held out", plan.book):
            if outcome.error:
                results.errors.append(outcome.failure)
            else:
                results.held_out.append(outcome.row)


def curves(best: dict[str, Variant]) -> list[Curve]:
    """T3 with ours as shipped, DS2 given the bound, and the tuned others, which have no bound."""
    found = []
    for setting in SETTINGS:
        ours = [Variant(OURS, OURS)] if OURS in best else []
        told = ds2_readings(setting.higher) if "ds2" in best else []
        others = [v for name, v in best.items() if name != OURS]
        for variant in (*ours, *told, *others):
            cases = tuple(first_visits(setting, variant.name, dict(variant.given)))
            found.append(Curve(variant.label, variant.words, setting.higher, cases))
    return found


def ds2_readings(higher: float) -> list[Variant]:
    """DS2 with the scaling factor of a bound: both definitions of useful time, its sample interval
    and one that sees no batch from before the change."""
    factor = ("scaling_factor", f"{1 / higher - 1:.4f}")
    slower = (("policy_interval_s", "30"), ("warm_up_intervals", "1"))
    return [
        Variant(label + extra, "ds2", (("whole_batch", whole), factor, *interval))
        for label, whole in ((DS2, "false"), (DS2_NAIVE, "true"))
        for extra, interval in (("", ()), (", 30 s", slower))
    ]


def run(plan: Plan, command: str) -> Results:
    """Run the whole suite."""
    began = time.monotonic()
    results = Results(_facts(plan, command))
    results.skipped |= {n: "not in the catalogue of peers" for n in absent() if n not in NAMES}
    best = tune(plan, results)
    results.facts["chosen"] = {v.label: v.words for v in best.values()}
    score(plan, best, results)
    if plan.held_out is not None:
        hold_out(plan, plan.held_out, best, results)
    say("steps on the curve of T3")
    results.curves = curves(best)
    results.facts["wall_s"] = round(time.monotonic() - began)
    return results


def _facts(plan: Plan, command: str) -> dict[str, Any]:
    return {
        "command": command,
        "commit": head() + (" with changes" if changed(*CODE) else ""),
        "workloads": [path.stem for path in plan.paths],
        "seeds": plan.seeds,
        "tuning_seeds": plan.tuning_seeds,
        "tuned_on": [path.stem for path in plan.tuned_on],
        "held_out": plan.held_out,
        "budget": plan.budget,
        "weight": WEIGHT,
        "workers": plan.workers,
    }


def _book(held_out: int | None) -> Book:
    """What was done at this commit; nothing is kept while the code has changes."""
    if changed(*CODE):
        return NO_BOOK
    return Book(Path(f"build/bench/{head()}-{held_out}.jsonl"))


def write(results: Results, out: Path, docs: Path | None) -> None:
    """Write JSON and pictures to `out`; with `docs`, the page's directory, to its folder there."""
    from bench.plots import picture  # noqa: PLC0415 - matplotlib is slow to load, and an extra

    out.mkdir(parents=True, exist_ok=True)
    everything = {"verdicts": [v.plain() for v in judged(results)], **results.plain()}
    (out / "control.json").write_text(json.dumps(everything, separators=(",", ":")) + "\n")
    for workload, traces in results.traces.items():
        picture(out / f"{workload}.png", workload, traces, results.under(TRACED).rows)
    target = docs or out / "control.md"
    target.write_text(page(results, "control" if docs else "."))


def plan_of(
    *,
    quick: bool = False,
    only: str | None = None,
    files: Sequence[Path] = (),
    controllers: str | None = None,
    held_out: int | None = None,
) -> Plan:
    """The plan that the options describe.

    Raises:
        BadInputError: no such workload or controller.
    """
    paths = list(files) or sorted(WORKLOADS.glob("*.yaml"))
    if only:
        known = {path.stem: path for path in paths}
        if unknown := [name for name in only.split(",") if name not in known]:
            raise BadInputError(f"no workload {unknown[0]!r}; there are {', '.join(known)}")
        paths = [known[name] for name in only.split(",")]
    names = tuple(controllers.split(",")) if controllers else NAMES
    if strange := [name for name in names if name not in NAMES]:
        raise BadInputError(f"no controller {strange[0]!r}; there are {', '.join(NAMES)}")
    if quick:
        return Plan(
            tuple(paths), names, QUICK_SEEDS, QUICK_TUNING_SEEDS,
            held_out=held_out, budget=QUICK_BUDGET, rounds=0,
        )  # fmt: skip
    return Plan(tuple(paths), names, held_out=held_out)


@click.command()
@click.option("--quick", is_flag=True, help="Two seeds, four variants each: for a quick look only.")
@click.option("--only", help="Names of workloads, separated by commas.")
@click.option("--scenario", "files", multiple=True, type=click.Path(path_type=Path, exists=True),
              help="Scenario files instead of the workloads.")  # fmt: skip
@click.option("--controllers", help="Names separated by commas; default all.")
@click.option("--held-out", type=int,
              help="Seed of loads that nobody tuned for; with --publish the commit's.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/bench"),
              help="Where to write JSON, pictures and page.")  # fmt: skip
@click.option("--publish", is_flag=True, help="Write to docs/benchmarks instead.")
def main(
    *, quick: bool, only: str | None, files: tuple[Path, ...], controllers: str | None,
    held_out: int | None, out: Path, publish: bool,
) -> None:  # fmt: skip
    """Run the whole comparison and print its verdicts."""
    try:
        if publish and held_out is None:
            held_out = heldout.seed_of_commit()
        plan = plan_of(
            quick=quick, only=only, files=files, controllers=controllers, held_out=held_out
        )
        plan = replace(plan, book=_book(held_out)) if publish else plan
        results = run(plan, " ".join(["python -m bench.suite", *sys.argv[1:]]))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    pages = Path("docs/benchmarks")
    write(results, pages / "control" if publish else out,
          pages / "control.md" if publish else None)  # fmt: skip
    for verdict in judged(results):
        click.echo(verdict.line())
    say(f"{results.facts['wall_s']} s in total; see {pages / 'control.md' if publish else out}")


if __name__ == "__main__":
    main()
