"""Runs every case on the local cluster: `python -m bench.bottlenecks --out docs/benchmarks`.

For each: which bottleneck was named, which knob moved, and what that achieved.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from bench.bottlenecks.cases import CASES, Case, kafka
from bench.bottlenecks.drive import Outcome, play
from bench.bottlenecks.page import table
from dev.demo import deploy
from dev.demo.kube import condition
from dev.localcluster import cluster, console
from dev.localcluster.paths import Paths, from_environment

NAMESPACE = "bottlenecks"
TICK_S = 5.0
WORK = Path(__file__).parent / "work.py"


def read(file: Path) -> list[Outcome]:
    """The outcomes so far."""
    return [Outcome(**each) for each in json.loads(file.read_text())] if file.exists() else []


def write(file: Path, outcomes: Sequence[Outcome]) -> None:
    """Replace older outcomes of the same cases and repeats, keeping the order of the cases."""
    rows = {(each.title, each.repeat): each for each in (*read(file), *outcomes)}
    order = [case.title for case in CASES]
    ordered = sorted(rows.values(), key=lambda each: (order.index(each.title), each.repeat))
    file.write_text(json.dumps([asdict(each) for each in ordered], indent=1) + "\n")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/bottlenecks"))
@click.option("--only", multiple=True, help="Kinds or names; default all.")
@click.option("--repeats", default=3, show_default=True, help="Runs of each case.")
@click.option("--first", default=1, show_default=True, help="Number of the first of them.")
def main(out: Path, only: tuple[str, ...], repeats: int, first: int) -> None:
    """Run the cases, print the table, write bottlenecks.json and bottlenecks.md."""
    paths = from_environment()
    out.mkdir(parents=True, exist_ok=True)
    cases = [case for case in CASES if not only or {case.kind, case.name} & set(only)]
    try:
        _all(paths, cases, range(first, first + repeats), out / "bottlenecks.json")
    finally:
        cluster.down(paths)
    page = table(read(out / "bottlenecks.json"))
    (out / "bottlenecks.md").write_text(page)
    click.echo(page)


def _all(paths: Paths, cases: Sequence[Case], repeats: Sequence[int], file: Path) -> None:
    """One case after another on a cluster with operator and Kafka; write each when it ends."""
    kube, tags = deploy.local_cluster(paths, NAMESPACE)
    deploy.install(kube, tags, TICK_S)
    kube.call("create", "namespace", NAMESPACE)
    module = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "work"},
              "data": {"work.py": WORK.read_text()}}  # fmt: skip
    kube.apply(kafka(), module)
    kube.wait("Kafka ready", 240, lambda: condition(kube.get("tkc", "events"), "Ready") == "True")
    for repeat in repeats:
        for case in cases:
            outcome = play(kube, tags["pipeline"], case, repeat)
            console.say(f"{case.title} {repeat}: named {outcome.named} {outcome.failure}")
            write(file, [outcome])


if __name__ == "__main__":
    main()
