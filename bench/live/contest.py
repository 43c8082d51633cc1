"""The contenders under the same load: trimtab from cold, the best static, defaults, lag scaling.

Each starts its own pipeline. trimtab's sees the shape twice: the first time is its calibration,
reported separately. The others learn nothing, so they see it once, after a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import yaml
from bench.live.book import Book
from bench.live.figures import Span, calibrated, changes, longest_break
from bench.live.points import (
    Goal,
    Point,
    best,
    executor_seconds,
    met_share,
    throughput,
)
from bench.live.shapes import LOW, SHAPES, Shape, seconds
from bench.live.site import (
    BATCH_LIMIT,
    EXAMPLE,
    FLOOD,
    PARTITIONS,
    TOPIC,
    Site,
    machine_load,
    open_site,
    pinned,
)
from bench.peers.controller import Limits
from bench.peers.keda import Keda, Parameters
from dev.localcluster import console

from bench import commit
from trimtab.api.knobs import MAX_OFFSETS
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

Json = dict[str, Any]

OURS, BEST, DEFAULTS, LAG = "trimtab", "best static", "Spark defaults", "scaling on lag"
CONTENDERS = (OURS, BEST, DEFAULTS, LAG)

SPARK_EXECUTORS = 2
"""spark.executor.instances if unset; Spark's other defaults are no trigger, no batch limit, and one
call after another."""

NO_TRIGGER, NO_LIMIT = "1ms", int(MAX_OFFSETS.maximum)
"""Batches follow each other immediately, as without a trigger, which a pipeline must have."""

BY_HAND = Point(1, 1.0, 4)
"""Where scaling on lag begins: settings that a person would choose, in the middle of the grid."""
LAG_THRESHOLD = 1_000
"""Records per executor: what four calls of 8 ms at a time process in two seconds."""

KNOBS = ("executors", "trigger", "maxOffsetsPerTrigger", "maxInFlight")

QUIET_S = 60.0
TAIL_S = 15.0
POLL_S = 5.0
FLOOD_S = {OURS: 600.0, BEST: 180.0, DEFAULTS: 180.0, LAG: 300.0}
SCORED_S = 120.0


def lacks(book: Book, contenders: Sequence[str] = CONTENDERS) -> bool:
    """Whether one of the contenders has not run yet."""
    return not all(_done(book, who, shape) for who in contenders for shape in (*SHAPES, "flood"))


def measure(book: Book, until_s: float, contenders: Sequence[str] = CONTENDERS) -> None:
    """Run the contenders' runs that the book lacks; the best static ones need a measured grid.

    Raises:
        LocalClusterError: cluster or pipeline did not respond in time.
    """
    site = open_site()
    for shape in SHAPES:
        for who in contenders:
            if time.time() < until_s and not _done(book, who, shape):
                book.add_run(_under_load(site, book, who, shape))
    missing = [who for who in contenders if not _done(book, who, "flood")]
    if missing and time.time() < until_s:
        site.fill()
    for who in missing:
        if time.time() < until_s:
            book.add_run(_in_flood(site, book, who))


def _done(book: Book, who: str, shape: str) -> bool:
    return any((run["who"], run["shape"]) == (who, shape) for run in book.runs)


def tuning(book: Book, who: str, goal: Goal) -> Json:
    """The field `tuning` of a contender's pipeline.

    Raises:
        ValueError: it needs the best grid point, which is not measured yet.
    """
    topic = TOPIC if goal == "latency" else FLOOD
    if who == OURS:
        example: Json = yaml.safe_load((EXAMPLE / "pipeline.yaml").read_text())
        return dict(example["spec"]["tuning"])
    if who == DEFAULTS:
        unlimited = {"maxOffsetsPerTrigger": NO_LIMIT, "trigger": NO_TRIGGER}
        return {"pinned": {"executors": SPARK_EXECUTORS, "maxInFlight": 1} | unlimited}
    if who == LAG:
        return pinned(BY_HAND, topic)
    found = best(book.windows, goal)
    if found is None:
        raise ValueError("no grid point meets the goal: measure the grid first")
    return pinned(found.point, topic)


def _under_load(site: Site, book: Book, who: str, name: str) -> Json:
    """Run one contender on one shape, with the latency goal."""
    shape = SHAPES[name]
    site.begin("latency", tuning(book, who, "latency"))
    rounds = 2 if who == OURS else 1
    quiet: Shape = () if who == OURS else ((QUIET_S, LOW),)
    begin_s = site.load((*quiet, *shape * rounds))
    scored_s = begin_s + sum(length for length, _ in quiet) + seconds(shape) * (rounds - 1)
    scored = Span(scored_s, scored_s + seconds(shape))
    _watch(site, who, "latency", scored.end_s + TAIL_S)
    run: Json = {"who": who, "shape": name} | _told(site, "latency", begin_s, scored)
    if who == OURS:
        batches = site.batches(begin_s)
        calm_s = calibrated(batches, begin_s, scored.end_s)
        run["calibration_s"] = round(calm_s - begin_s, 1)
        run["calibration_violated_s"] = round(
            (1 - met_share(batches, begin_s, calm_s)) * (calm_s - begin_s), 1
        )
    site.end()
    console.say(f"{who}, {name}: met {run['met']:.1%}, {run['executor_s']:.0f} executor-seconds")
    return run


def _in_flood(site: Site, book: Book, who: str) -> Json:
    """Run one contender with more waiting records than it can process, with the throughput goal."""
    site.begin("throughput", tuning(book, who, "throughput"))
    begin_s = time.time()
    end_s = begin_s + FLOOD_S[who]
    _watch(site, who, "throughput", end_s)
    scored = Span(end_s - SCORED_S, end_s)
    run: Json = {"who": who, "shape": "flood"} | _told(site, "throughput", begin_s, scored)
    if site.lag() <= 0:
        console.warn(f"{who} has processed the whole flood: its rate is too low")
    site.end()
    console.say(f"{who}, flood: {run['rate']:.0f}/s")
    return run


def _watch(site: Site, who: str, goal: Goal, end_s: float) -> None:
    """Wait; meanwhile, scale the contender that scales on lag."""
    move: Callable[[], None] = _scaler(site, goal) if who == LAG else lambda: None
    while time.time() < end_s:
        move()
        time.sleep(POLL_S)


def _scaler(site: Site, goal: Goal) -> Callable[[], None]:
    """KEDA's law with its HPA, applied to the executors of our pipeline."""
    topic = TOPIC if goal == "latency" else FLOOD
    law = Keda(Limits(1, max(4, BY_HAND.executors)), Parameters(lag_threshold=LAG_THRESHOLD))
    now = Settings(BY_HAND.executors, BY_HAND.trigger_s, BATCH_LIMIT[topic])

    def move() -> None:
        nonlocal now
        at_s = time.time()
        seen = Signals(at_s, 0, 0, None, lag_records=site.lag(), partitions=PARTITIONS)
        wanted = law.decide(at_s, seen, now)
        if wanted.executors != now.executors:
            point = Point(wanted.executors, BY_HAND.trigger_s, BY_HAND.calls)
            site.apply(goal, pinned(point, topic))
            now = wanted

    return move


def _told(site: Site, goal: Goal, begin_s: float, scored: Span) -> Json:
    """The figures of the scored span, and the series of the whole run for the picture."""
    batches = site.batches(begin_s)
    executors = site.executors(begin_s)
    inside = [b for b in batches if scored.begin_s < b.committed_s <= scored.end_s]
    return {
        "goal": goal,
        "seconds": round(scored.seconds, 1),
        "met": round(met_share(batches, scored.begin_s, scored.end_s), 4),
        "p95_s": round(fmean(b.p95_s for b in inside), 3) if inside else None,
        "rate": round(throughput(inside), 1),
        "executor_s": round(executor_seconds(executors, scored.begin_s, scored.end_s), 1),
        "longest_break_s": round(longest_break(batches, scored), 1),
        "scored_from_s": round(scored.begin_s - begin_s, 1),
        "machine_load": machine_load(),
        "commit": commit.head(),
        "batches": [
            [round(b.committed_s - begin_s, 1), round(b.p95_s, 2), b.records] for b in batches
        ],
        "executors": changes([(at - begin_s, count) for at, count in executors]),
        "settings": _settings(site),
        "decisions": _decisions(site),
    }


def _settings(site: Site) -> Json:
    """The knobs that the bench reports, as the driver exports them."""
    told = site.status().get("effective") or {}
    return {k: told[k] for k in KNOBS if told.get(k) is not None}


def _decisions(site: Site) -> list[Json]:
    told = site.status().get("decisions") or []
    return [{k: d[k] for k in ("time", "action", "reason", "message")} for d in told]
