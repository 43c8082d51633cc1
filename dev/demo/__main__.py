"""Run the demo: exit 0 only if the goal was broken and held again, and nothing was lost."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from dev.demo import deploy, load, report
from dev.demo.drive import drive
from dev.demo.judge import Verdict, judge, measured_capacity
from dev.demo.kube import DemoError, Kube
from dev.demo.summary import Summary, summarize
from dev.demo.watch import Sample
from dev.demo.work import known_work
from dev.localcluster import cluster, console
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import REPO, from_environment

NAMESPACE = "trimtab-demo"
OURS = "trimtab.dev/demo"
"""Label of a namespace that a demo made: no other is ever deleted."""
TICK_S = 5.0
OUT = REPO / "build/demo"


def main() -> int:
    """The whole demo; returns the exit code."""
    began = time.monotonic()
    spent: dict[str, float] = {}
    paths = from_environment()
    try:
        if os.environ.get("CLUSTER") == "current":
            _ask()
            kube, tags = deploy.current_cluster(paths, NAMESPACE, os.environ.get("REGISTRY", ""))
        else:
            kube, tags = deploy.local_cluster(paths, NAMESPACE)
        spent["cluster and images"] = time.monotonic() - began
        deploy.install(kube, tags, TICK_S)
        spent["operator installed"] = time.monotonic() - began
        _fresh_namespace(kube)
        deploy.example(kube)
        spent["pipeline ready"] = time.monotonic() - began
        code = _drive(kube, tags, spent, began)
    except LocalClusterError as error:
        console.warn(f"demo failed: {error}")
        return 1
    if os.environ.get("KEEP") != "1" and os.environ.get("CLUSTER") != "current":
        cluster.down(paths)
    return code


def _ask() -> None:
    """Name the context, and ask before anything is changed in it."""
    kube = Kube("kubectl", "helm", None, NAMESPACE)
    context = kube.call("config", "current-context").strip()
    console.warn(
        f"this installs trimtab into the namespace trimtab, and the quickstart into {NAMESPACE},"
        f" of the context {context!r}; both stay when the demo has ended"
    )
    if os.environ.get("YES") == "1":
        return
    try:
        answer = input("go on? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise DemoError("stopped; nothing was changed (YES=1 answers yes)")


def _fresh_namespace(kube: Kube) -> None:
    """A new namespace in place of what an earlier demo left: its objects and its data."""
    found = kube.get("namespace", NAMESPACE)
    if found and OURS not in (found["metadata"].get("labels") or {}):
        raise DemoError(f"the namespace {NAMESPACE} was not made by a demo: delete it yourself")
    kube.call("delete", "namespace", NAMESPACE, "--ignore-not-found", limit_s=180)
    kube.call("create", "namespace", NAMESPACE)
    kube.call("label", "namespace", NAMESPACE, f"{OURS}=true")


def _drive(kube: Kube, tags: dict[str, str], spent: dict[str, float], began: float) -> int:
    work = known_work(deploy.EXAMPLE)
    ride = drive(kube, tags["pipeline"], work)
    kube.wait("load ends", 180, lambda: load.finished(kube, "load"))
    sent = load.result(kube, "load")
    kube.wait("the pipeline has caught up", 180, lambda: _lag(kube) == 0)
    delivery = load.verify(kube, tags["pipeline"], sent, 180)
    last = (kube.get("spl", "clicks") or {}).get("status", {}).get("decisions") or []
    decisions = ride.decisions(last)
    verdict = judge(ride.samples, ride.plan, decisions, delivery, work)
    summary = summarize(ride.samples, verdict, measured_capacity(ride.samples, work))
    spent["whole demo"] = time.monotonic() - began
    facts = _facts(kube, ride.samples, delivery, spent)
    report.write(OUT, report.Told(ride.samples, decisions, verdict, summary, facts))
    _conclude(verdict, summary, delivery, facts)
    return 0 if verdict.passed else 1


def _lag(kube: Kube) -> float:
    found = kube.query("trimtab-prometheus", 'sum(trimtab_lag_records{pipeline="clicks"})')
    return float(found[0]["value"][1]) if found else -1.0


def _facts(
    kube: Kube, samples: Sequence[Sample], delivery: dict[str, int], spent: dict[str, float]
) -> dict[str, Any]:
    last = samples[-1]
    facts: dict[str, Any] = {f"{k}, s since the start": round(v) for k, v in spent.items()}
    facts |= {f"records {k}": v for k, v in delivery.items() if k != "exact"}
    for how, count in last.changes.items():
        if count:
            pause = last.pauses.get(how, 0.0) / count
            facts[f"changes by {how}"] = f"{count:.0f}, pause {pause:.2f} s each"
    for pod, mib in kube.memory_mib().items():
        facts[f"working set of {pod}, MiB"] = mib
    return facts


def _conclude(
    verdict: Verdict, summary: Summary, delivery: dict[str, int], facts: dict[str, Any]
) -> None:
    for fault in verdict.faults:
        console.warn(f"fault: {fault}")
    for v in verdict.phases:
        console.say(
            f"{v.phase.start_s:4.0f} s  {v.phase.rate:4g}/s  {v.changes} changes,"
            f" first after {v.detect_s} s, last after {v.settle_s} s;"
            f" goal {f'met again after {v.recover_s:g} s' if v.broken else 'met'};"
            f" {v.executors} executors, allowed {v.allowed}"
        )
    for sentence in summary.sentences():
        console.say(sentence)
    word = "passed" if verdict.passed else "FAILED"
    console.say(
        f"demo {word}: {sum(v.changes for v in verdict.phases)} changes,"
        f" {delivery.get('produced')} records, {delivery.get('lost')} lost,"
        f" {delivery.get('duplicated')} duplicated,"
        f" {facts.get('whole demo, s since the start')} s in all; see {OUT / 'report.html'}"
    )


if __name__ == "__main__":
    sys.exit(main())
