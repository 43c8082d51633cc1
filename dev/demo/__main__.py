"""Run the demo: exit 0 only if the goal was broken and held again, and nothing was lost."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

from dev.demo import deploy, load, report
from dev.demo.judge import Phase, Verdict, judge, phases
from dev.demo.kube import DemoError, Json, Kube
from dev.demo.watch import Sample, header, look
from dev.localcluster import cluster, console
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import REPO, from_environment

NAMESPACE = "trimtab-demo"
OURS = "trimtab.dev/demo"
"""Label of a namespace that a demo made: no other is ever deleted."""
TARGET_S = 15.0
TICK_S = 5.0
SCHEDULE = [(60.0, 25.0), *[(145.0, 280.0), (65.0, 25.0)] * 3]
OUT = REPO / "build/demo"
LOOK_EVERY_S = 5.0


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
    plan = phases(SCHEDULE)
    started = load.start(kube, tags["pipeline"], SCHEDULE)
    samples = _watch(kube, plan, started)
    kube.wait("load ends", 180, lambda: load.finished(kube, "load"))
    summary = load.result(kube, "load")
    kube.wait("the pipeline has caught up", 180, lambda: _lag(kube) == 0)
    delivery = load.verify(kube, tags["pipeline"], summary, 180)
    decisions = _decisions(kube, samples, started)
    verdict = judge(samples, plan, decisions, delivery, TARGET_S)
    spent["whole demo"] = time.monotonic() - began
    facts = _facts(kube, samples, delivery, spent)
    report.write(OUT, samples, decisions, verdict, facts)
    _conclude(verdict, delivery, facts)
    return 0 if verdict.passed else 1


def _watch(kube: Kube, plan: list[Phase], started: float) -> list[Sample]:
    """The live table until the schedule ends."""
    samples: list[Sample] = []
    end_s = plan[-1].end_s
    console.say(header())
    while (t := time.time() - started) < end_s:
        rate = next((p.rate for p in plan if p.start_s <= t < p.end_s), 0.0)
        sample = look(kube, round(t, 1), rate)
        samples.append(sample)
        console.say(sample.row())
        time.sleep(max(0.0, LOOK_EVERY_S - (time.time() - started - t)))
    return samples


def _lag(kube: Kube) -> float:
    found = kube.query("trimtab-prometheus", 'sum(trimtab_lag_records{pipeline="clicks"})')
    return float(found[0]["value"][1]) if found else -1.0


def _decisions(kube: Kube, samples: list[Sample], started: float) -> list[dict[str, Any]]:
    """Every decision that was seen in status, once, with its time since the load began."""
    last = (kube.get("spl", "clicks") or {}).get("status", {}).get("decisions") or []
    seen: dict[tuple[str, str, int], Json] = {}
    for decision in [d for s in samples for d in s.decisions] + last:
        seen[decision["time"], decision["action"], decision["generation"]] = decision
    told = []
    for decision in seen.values():
        at = datetime.strptime(decision["time"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        told.append({"t": round(at.timestamp() - started, 1), **decision})
    return sorted(told, key=lambda d: d["t"])


def _facts(
    kube: Kube, samples: list[Sample], delivery: dict[str, int], spent: dict[str, float]
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


def _conclude(verdict: Verdict, delivery: dict[str, int], facts: dict[str, Any]) -> None:
    for fault in verdict.faults:
        console.warn(f"fault: {fault}")
    for v in verdict.phases:
        console.say(
            f"{v.phase.start_s:4.0f} s  {v.phase.rate:4g}/s  {v.changes} changes,"
            f" first after {v.detect_s} s, last after {v.settle_s} s;"
            f" goal {f'met again after {v.recover_s:g} s' if v.broken else 'met'};"
            f" {v.executors} executors, allowed {v.allowed}"
        )
    ups = [v for v in verdict.phases if v.phase.rate > 100]
    recover = ", ".join(f"{v.recover_s:.0f}" for v in ups if v.recover_s is not None)
    word = "passed" if verdict.passed else "FAILED"
    console.say(
        f"demo {word}: goal broken and held again in {recover} s,"
        f" {sum(v.changes for v in verdict.phases)} changes,"
        f" {delivery.get('produced')} records, {delivery.get('lost')} lost,"
        f" {delivery.get('duplicated')} duplicated,"
        f" {facts.get('whole demo, s since the start')} s in all; see {OUT / 'report.html'}"
    )


if __name__ == "__main__":
    sys.exit(main())
