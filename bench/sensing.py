"""What late news costs: our own core on the workloads, by how it learns what the driver does.

    python -m bench.sensing [--only step,spikes] [--noise rough] [--seeds 1,2,3]

It prints, for each way of sensing, the seconds that violate the goal, the core-hours as a share of
the oracle's, and the changes of executors: sums over the workloads, mean per seed.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import click
from bench.control import DIRECT_S, read_directly
from bench.noises import NOISES, noisy
from bench.runs import WORKLOADS

from trimtab.simulation.figures import figures
from trimtab.simulation.run import simulate
from trimtab.simulation.scenario import Scenario, load_scenario

WAYS: Mapping[str, tuple[float | None, bool]] = {
    "scraped": (None, False),
    "read directly": (DIRECT_S, False),
    "scraped, reflex": (None, True),
    "directly, reflex": (DIRECT_S, True),
}
"""By name, the seconds between direct reads, and whether the driver has its reflex; the workloads
are scraped every 5 s, 5 s late."""

Job = tuple[str, str, int, str]
"""Path of a workload, noise, seed, way."""


def sensed(scenario: Scenario, way: str) -> Scenario:
    """The scenario with one of the ways of sensing."""
    direct_s, reflex = WAYS[way]
    plant = read_directly(scenario.plant, direct_s)
    tuning = scenario.tuning.model_copy(update={"reflex": reflex or None})
    return scenario.model_copy(update={"plant": plant, "tuning": tuning})


def do(job: Job) -> Mapping[str, Any]:
    """The figures of one run."""
    path, noise, seed, way = job
    scenario = sensed(noisy(load_scenario(Path(path)), noise), way)
    return figures(simulate(scenario, seed), lambda _: {})


def summary(rows: Sequence[Mapping[str, Any]], seeds: int) -> str:
    """The totals of some runs."""
    violated, hours, oracle, steps, reversals = (
        sum(row[name] for row in rows) / seeds
        for name in (
            "slo_violation_s", "core_hours", "oracle_h1_core_hours", "steps", "reversals",
        )
    )  # fmt: skip
    return (
        f"{violated:6.0f} s violated, {hours / oracle:.3f} of the oracle's core-hours,"
        f" {steps:.0f} changes of executors, {reversals:.1f} reversals"
    )


@click.command()
@click.option("--only", help="Names of workloads, separated by commas; default all.")
@click.option("--noise", type=click.Choice(sorted(NOISES)), help="One noise; default all.")
@click.option("--seeds", default="1,2,3", help="Separated by commas.")
@click.option("--workers", default=2, help="Processes.")
def main(*, only: str | None, noise: str | None, seeds: str, workers: int) -> None:
    """Run every way on the same workloads, noises and seeds, and print the totals."""
    paths = sorted(WORKLOADS.glob("*.yaml"))
    wanted = [str(path) for path in paths if only is None or path.stem in only.split(",")]
    noises, numbers = [noise] if noise else sorted(NOISES), [int(s) for s in seeds.split(",")]
    jobs: list[Job] = list(product(wanted, noises, numbers, WAYS))
    with ProcessPoolExecutor(workers) as pool:
        rows = dict(zip(jobs, pool.map(do, jobs), strict=True))
    for loud in noises:
        click.echo(f"{loud}: {len(wanted)} workloads")
        for way in WAYS:
            of = [rows[p, loud, s, way] for p in wanted for s in numbers]
            click.echo(f"  {way:20} {summary(of, len(numbers))}")
        for path in wanted:
            means = [
                statistics.fmean(rows[path, loud, s, way]["slo_violation_s"] for s in numbers)
                for way in WAYS
            ]
            click.echo(f"    {Path(path).stem:15}" + "".join(f"{mean:8.0f}" for mean in means))


if __name__ == "__main__":
    main()
