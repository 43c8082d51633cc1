"""Locality on three zones with a slow link: `python -m bench.locality --out docs/benchmarks`.

The same load in the scope Process, in Any, with the tuner in charge, and in both scopes with a copy
of the topic in each zone.
"""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

import click
from bench.link import slow
from bench.locality import run as runs
from bench.locality.run import Phase, Run
from dev.demo import deploy
from dev.localcluster import cluster, console
from dev.localcluster.paths import from_environment

from bench import commit

TICK_S = 5.0


def page(found: Sequence[Run], delay_ms: float, commit: str) -> str:
    """The page in Markdown."""
    low, high = runs.STEPS[0][2], runs.STEPS[1][2]
    lines = [
        "# Locality on three zones", "",
        f"`make bench-locality` at commit {commit}: {runs.NODES} nodes in as many zones, a broker",
        f"and an executor of two slots in each. Packets between zones take {delay_ms:g} ms more",
        f"each way. Topics of {runs.PARTITIONS} partitions, led from all zones, with one copy or",
        "with a copy in each zone, which `client.rack` then lets executors read;",
        f"each record waits {runs.WAIT_MS} ms, the trigger is {runs.TRIGGER_S} s. The load is",
        f"{low:g}, {high:g} and {low:g} records/s; the first {runs.SETTLES_S:g} s of each step do",
        "not count.",
        "",
        "Bytes across are those from brokers to executors of other zones, with headers; near is",
        "the share of tasks on the executor that they prefer. Factors are those over the first",
        "contender at the same load: what is saved, and its price in latency.", "",
        "| contender | load | scope at its end | p95, s | × | bytes across / record | × | near |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(run, *phases) for run in found
          for phases in zip(run.phases, found[0].phases, strict=False)), "",
    ]  # fmt: skip
    for run in found:
        if run.decisions:
            lines += [f"What {run.contender} decided:", ""]
            lines += [f"- {each}" for each in run.decisions]
            lines += [""]
    lost = sum(run.lost or 0 for run in found)
    lines += [f"Records lost: {lost}.", ""]
    return "\n".join(lines)


def _line(run: Run, phase: Phase, first: Phase) -> str:
    p95, at_first = (statistics.median(p.p95_s) if p.p95_s else None for p in (phase, first))
    return (
        f"| {run.contender} | {phase.name} | {phase.scope}"
        f" | {'unknown' if p95 is None else f'{p95:.2f}'} | {_times(p95, at_first)}"
        f" | {phase.bytes_each:.0f} | {_times(phase.bytes_each, first.bytes_each)}"
        f" | {phase.near:.0%} |"
    )


def _times(value: float | None, first: float | None) -> str:
    return f"{value / first:.2f}" if value is not None and first else "-"


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/locality"))
@click.option("--delay-ms", default=20.0, show_default=True, help="Each way, between zones.")
@click.option("--only", multiple=True, help="Contenders; default all.")
def main(out: Path, delay_ms: float, only: tuple[str, ...]) -> None:
    """Run the contenders one after another, and write locality.json and locality.md."""
    paths = from_environment()
    out.mkdir(parents=True, exist_ok=True)
    found = []
    try:
        kube, tags = deploy.local_cluster(paths, runs.NAMESPACE, runs.NODES)
        deploy.install(kube, tags, TICK_S)
        kube.call("create", "namespace", runs.NAMESPACE)
        runs.prepare(kube)
        with slow(itertools.permutations(runs.zones(), 2), delay_ms):
            for contender in only or runs.PINNED:
                found.append(runs.play(kube, tags["pipeline"], contender))
                console.say(json.dumps(found[-1].plain()))
    finally:
        cluster.down(paths)
    (out / "locality.json").write_text(json.dumps([run.plain() for run in found], indent=1) + "\n")
    text = page(found, delay_ms, commit.head())
    (out / "locality.md").write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
