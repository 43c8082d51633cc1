"""Runs every case on the local cluster: `python -m bench.bottlenecks --out docs/benchmarks`.

For each: which bottleneck was named, which knob moved, and what that achieved.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click
from bench.bottlenecks.cases import CASES, Case, Json, kafka, pipeline
from bench.bottlenecks.quota import throttle
from dev.demo import deploy, load
from dev.demo.kube import DemoError, Kube, condition
from dev.localcluster import cluster, console
from dev.localcluster.paths import Paths, from_environment

from bench import commit
from trimtab.api.reasons import BottleneckKind

NAMESPACE = "bottlenecks"
TICK_S = 5.0
POLL_S = 2.5
QUIET_S = 30.0
WORK = Path(__file__).parent / "work.py"


@dataclass
class Outcome:
    """The outcome of a case."""

    kind: str
    title: str
    target: str = "12s"
    named: dict[str, int] = field(default_factory=dict)
    """How often each bottleneck was in the status while the load was running."""
    decisions: list[Json] = field(default_factory=list)
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    commit: str = ""

    @property
    def right(self) -> bool:
        """Whether the true bottleneck was named at all."""
        return self.kind in self.named


def drive(kube: Kube, image: str, case: Case) -> Outcome:
    """Deploy, load, watch, and remove everything."""
    outcome = Outcome(case.kind, case.title, case.target, commit=commit.head())
    named = Counter[str]()
    kube.apply(pipeline(case))
    try:
        if case.quota is not None:
            throttle(kube, case.quota)
        kube.wait(
            f"{case.name} ready", 240,
            lambda: condition(kube.get("spl", case.name), "Ready") == "True",
        )  # fmt: skip
        load.start(kube, image, [(QUIET_S, case.rate / 10), (case.seconds, case.rate)],
                   case.name, case.hot)  # fmt: skip
        begin = time.monotonic()
        while (elapsed := time.monotonic() - begin) < QUIET_S + case.seconds:
            status = (kube.get("spl", case.name) or {}).get("status") or {}
            if elapsed > QUIET_S:
                outcome.before = outcome.before or _figures(status)
                _note(outcome, named, status)
            time.sleep(POLL_S)
        outcome.after = _figures(status)
    except DemoError as error:
        outcome.failure = str(error)
    finally:
        kube.call("delete", "job", "load", "--ignore-not-found")
        kube.call("delete", "spl", case.name, "--ignore-not-found", limit_s=120)
        kube.wait("driver gone", 120, lambda: kube.get("pod", f"{case.name}-driver-0") is None)
        kube.call("delete", "pvc", f"{case.name}-checkpoint", "--ignore-not-found")
        if case.quota is not None:
            throttle(kube, None)
    outcome.named = dict(named.most_common())
    return outcome


def _note(outcome: Outcome, named: Counter[str], status: Json) -> None:
    kind = (status.get("bottleneck") or {}).get("kind")
    if kind and kind != "None":
        named[kind] += 1
    known = {(d["time"], d["reason"]) for d in outcome.decisions}
    for each in status.get("decisions") or []:
        if (each["time"], each["reason"]) not in known:
            # a change may have removed it before the status is sampled again
            named.update(kind for kind in BottleneckKind if each["message"].startswith(f"{kind} ("))
            outcome.decisions.append({k: each[k] for k in ("time", "action", "reason", "message")})


def _figures(status: Json) -> dict[str, str]:
    effective = {k: str(v) for k, v in (status.get("effective") or {}).items() if v is not None}
    goal = status.get("goal") or {}
    return {"p95": str(goal.get("observed")), **effective}


def read(file: Path) -> list[Outcome]:
    """The outcomes so far."""
    return [Outcome(**each) for each in json.loads(file.read_text())] if file.exists() else []


def write(file: Path, outcomes: list[Outcome]) -> None:
    """Replace older outcomes of the same cases, keeping the order of the cases."""
    rows = {each.title: each for each in (*read(file), *outcomes)}
    order = [case.title for case in CASES]
    ordered = sorted(rows.values(), key=lambda each: order.index(each.title))
    file.write_text(json.dumps([asdict(each) for each in ordered], indent=1) + "\n")


def table(outcomes: list[Outcome]) -> str:
    """The page in Markdown."""
    lines = [
        "# Bottlenecks, made on purpose", "",
        "`make demo-bottlenecks`: one pipeline after another on the local cluster (2 cores), each"
        " with one known",
        '[bottleneck](../glossary.md). "Named" counts how often each kind was in the status,'
        f" sampled every {POLL_S:g} s, and the reason",
        "of a decision.", "",
        "| true bottleneck | named | knob moved | what it gave | p95 before -> after (goal)"
        " | commit |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for each in outcomes:
        named = ", ".join(f"{kind} {count}" for kind, count in each.named.items()) or "nothing"
        moved = [d for d in each.decisions if d["action"] in {"Change", "Revert"}]
        gave = [d for d in each.decisions if d["action"] in {"Keep", "Revert"}]
        knobs = "; ".join(f"{d['reason']} ({_change(d['message'])})" for d in moved) or "none"
        came = "; ".join(f"{d['reason']}: {d['message'].split(';')[0]}" for d in gave) or "-"
        mark = "" if each.right else " **(not named)**"
        p95 = f"{each.before.get('p95')} -> {each.after.get('p95')} ({each.target})"
        lines.append(
            f"| {each.title}{mark} | {named} | {knobs} | {came}{each.failure} | {p95}"
            f" | {each.commit} |"
        )
    return "\n".join([*lines, ""])


def _change(message: str) -> str:
    parts = [p for p in message.replace(": ", ", ").split(", ") if "->" in p]
    return ", ".join(parts)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/bottlenecks"))
@click.option("--only", multiple=True, help="Kinds or names; default all.")
def main(out: Path, only: tuple[str, ...]) -> None:
    """Run the cases, print the table, write bottlenecks.json and bottlenecks.md."""
    paths = from_environment()
    out.mkdir(parents=True, exist_ok=True)
    cases = [case for case in CASES if not only or {case.kind, case.name} & set(only)]
    try:
        drive_all(paths, cases, out / "bottlenecks.json")
    finally:
        cluster.down(paths)
    page = table(read(out / "bottlenecks.json"))
    (out / "bottlenecks.md").write_text(page)
    click.echo(page)


def drive_all(paths: Paths, cases: Sequence[Case], file: Path) -> None:
    """Run one case after another on a cluster with operator and Kafka; write each when it ends."""
    kube, tags = deploy.local_cluster(paths, NAMESPACE)
    deploy.install(kube, tags, TICK_S)
    kube.call("create", "namespace", NAMESPACE)
    module = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "work"},
              "data": {"work.py": WORK.read_text()}}  # fmt: skip
    kube.apply(kafka(), module)
    kube.wait("Kafka ready", 240, lambda: condition(kube.get("tkc", "events"), "Ready") == "True")
    for case in cases:
        outcome = drive(kube, tags["pipeline"], case)
        console.say(f"{case.title}: named {outcome.named} {outcome.failure}")
        write(file, [outcome])


if __name__ == "__main__":
    main()
