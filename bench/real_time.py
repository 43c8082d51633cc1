"""Real-time mode beside micro-batches: `python -m bench.real_time --out docs/benchmarks`.

The pipeline of examples/96-real-time on the local cluster, under the same load: in batches that
follow each other at once, in batches as trimtab tunes them, and in real-time mode.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml
from dev.demo import deploy, load
from dev.demo.kube import Kube, condition
from dev.localcluster import cluster, console
from dev.localcluster.paths import REPO, from_environment

from bench import commit

Json = dict[str, Any]

NAMESPACE, PIPELINE = "real-time", "alerts"
PARTITIONS, RATE = 4, 1_000.0
WARM_S, COUNTED_S = 90.0, 180.0
TICK_S = 3.0
WANTED_MS = 200

BATCHES: Json = {"execution": "microBatch", "goal": {"latency": {"percentile": 95, "target": "2s"}}}
CONTENDERS: Mapping[str, Json] = {
    "batches, one after another": BATCHES | {"tuning": {"pinned": {"trigger": "1ms"}}},
    "batches, profile latency": BATCHES | {
        "tuning": {"profile": "latency", "initial": {"trigger": "2s"}}
    },
    "real time": {"tuning": {"mode": "Auto"}},
    "real time, intervals of 30 s": {"tuning": {"pinned": {"trigger": "30s"}}},
}  # fmt: skip
"""By contender, what its spec has in place of the example's. Real time begins with 10 s."""


def kafka() -> Json:
    """One broker with two topics for each contender."""
    numbers = range(len(CONTENDERS))
    names = [name for number in numbers for name in (source(number), sink(number))]
    return {
        "apiVersion": "trimtab.dev/v1alpha1", "kind": "KafkaCluster",
        "metadata": {"name": "events"},
        "spec": {
            "storage": {"size": "4Gi"}, "resources": {"cpuRequest": "100m", "memory": "1Gi"},
            "topics": [{"name": name, "partitions": PARTITIONS} for name in names],
        },
    }  # fmt: skip


def source(number: int) -> str:
    """The topic that a contender reads."""
    return f"clicks-{number}"


def sink(number: int) -> str:
    """The topic that it writes."""
    return f"alerts-{number}"


def pipeline(contender: str, number: int) -> Json:
    """The example's pipeline between the topics of a contender."""
    made: Json = yaml.safe_load((REPO / "examples/96-real-time/pipeline.yaml").read_text())
    made["spec"] |= {
        "source": {"kafka": {"cluster": "events", "topics": [source(number)]}},
        "sink": {"kafka": {"cluster": "events", "topic": sink(number)}},
        **CONTENDERS[contender],
    }
    made["spec"]["resources"]["driver"] = {"cpuRequest": "200m", "memory": "1536Mi"}
    made["spec"]["resources"]["executor"] |= {"cpuRequest": "100m"}
    return made


def play(kube: Kube, image: str, contender: str, number: int) -> Json:
    """Deploy a contender, load it, measure the ages of its records, and remove it."""
    topic = source(number)
    kube.apply(pipeline(contender, number))
    kube.wait("ready", 300, lambda: condition(kube.get("spl", PIPELINE), "Ready") == "True")
    load.start(kube, image, [(WARM_S + COUNTED_S, RATE)], topic)
    time.sleep(WARM_S + COUNTED_S)
    kube.wait("load ends", 120, lambda: load.finished(kube, "load"))
    status = (kube.get("spl", PIPELINE) or {}).get("status") or {}
    _remove(kube)  # what drains is written before the output is read
    found = load.ages(kube, image, load.result(kube, "load"), (topic, sink(number)), WARM_S)
    kube.call("delete", "jobs", "load", "ages", "--ignore-not-found")
    return found | {
        "contender": contender,
        "effective": status.get("effective") or {},
        "execution": status.get("execution"),
        "decisions": [
            f"{each['reason']}: {each['message']}" for each in status.get("decisions") or []
        ],
    }


def _remove(kube: Kube) -> None:
    kube.call("delete", "spl", PIPELINE, "--ignore-not-found", limit_s=180)
    kube.wait("driver gone", 180, lambda: kube.get("pod", f"{PIPELINE}-driver-0") is None)
    kube.call("delete", "pvc", f"{PIPELINE}-checkpoint", "--ignore-not-found")


def page(runs: Sequence[Json], commit: str) -> str:
    """The page in Markdown."""
    lines = [
        "# Real-time mode beside micro-batches", "",
        f"`make bench-real-time` at commit {commit}, on the local cluster (two cores): the",
        f"pipeline of [the example](../../examples/96-real-time/README.md), {RATE:,.0f} records/s,",
        f"{PARTITIONS} partitions, and executors of two slots. An age is the time from when a",
        "record was sent to when the pipeline sent what came of it. The first"
        f" {WARM_S:g} s do not count; {COUNTED_S:g} s do.", "",
        "| contender | p50 | p95 | p99 | most | p95 of 10 s: least, most | trigger | executors |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(run) for run in runs), "",
    ]  # fmt: skip
    real = next((run for run in runs if run["contender"] == "real time"), None)
    if real:
        met = "met" if real["p95_ms"] <= WANTED_MS else "**missed**"
        lines += [f"A p95 of at most {WANTED_MS} ms was wanted of real time: {met}.", ""]
    for run in runs:
        if run["decisions"]:
            lines += [f"Decisions for {run['contender']}:", ""]
            lines += [*(f"- {each}" for each in run["decisions"]), ""]
    return "\n".join(lines)


def _line(run: Json) -> str:
    figures = " | ".join(f"{run[f'p{each}_ms']:,} ms" for each in (50, 95, 99, 100))
    windows = [each for _, each in run["windows"]]
    told = run["effective"]
    return (
        f"| {run['contender']} | {figures} | {min(windows):,}, {max(windows):,} ms"
        f" | {told.get('trigger')} | {told.get('executors')} |"
    )


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/real-time"))
@click.option("--only", multiple=True, type=click.Choice(list(CONTENDERS)), help="Default all.")
def main(out: Path, only: tuple[str, ...]) -> None:
    """Run the contenders one after another, and write real-time.json and real-time.md."""
    paths, runs = from_environment(), []
    out.mkdir(parents=True, exist_ok=True)
    try:
        kube, tags = deploy.local_cluster(paths, NAMESPACE)
        deploy.install(kube, tags, TICK_S)
        kube.call("delete", "namespace", NAMESPACE, "--ignore-not-found", limit_s=180)
        kube.call("create", "namespace", NAMESPACE)
        kube.apply(kafka())
        kube.wait("Kafka", 240, lambda: condition(kube.get("tkc", "events"), "Ready") == "True")
        for number, contender in enumerate(only or CONTENDERS):
            runs.append(play(kube, tags["pipeline"], contender, number))
            console.say(json.dumps(runs[-1]))
    finally:
        cluster.down(paths)
    (out / "real-time.json").write_text(json.dumps(runs, indent=1) + "\n")
    text = page(runs, commit.head())
    (out / "real-time.md").write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
