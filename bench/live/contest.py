"""The contenders under the same load: trimtab from cold, the best static, defaults, lag scaling.

One clock for all: each starts a pipeline of its own about which nothing is known, and its time runs
from the first record of the load, which comes twice: the first pass is the cold one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import yaml
from bench.live.book import Book
from bench.live.figures import Span, changes, longest_break
from bench.live.points import Goal, Point, best, executor_seconds, met_share, throughput
from bench.live.shapes import SHAPES, seconds
from bench.live.site import EXAMPLE, PARTITIONS, Site, machine_load, open_site, pinned
from bench.peers.controller import Limits
from bench.peers.keda import Keda, Parameters
from bench.simreal.seen import Batch
from dev.localcluster import console

from bench import commit
from trimtab.api.knobs import MAX_OFFSETS
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

Json = dict[str, Any]

OURS, BEST, DEFAULTS, LAG = "trimtab", "best static", "Spark defaults", "scaling on lag"
PROMPT = "trimtab, profile latency"
CONTENDERS = (OURS, PROMPT, BEST, DEFAULTS, LAG)

PASSES = 2
REPEATS = 3
ASKED = (
    ("step", CONTENDERS),
    ("flood", (OURS, BEST, DEFAULTS, LAG)),
    ("cosine", (OURS, BEST, LAG)),
)
"""Each shape, and who runs under it."""

SPARK_EXECUTORS = 2
"""spark.executor.instances if unset; Spark's other defaults are no trigger, no batch limit, and one
call after another."""

NO_TRIGGER, NO_LIMIT = "1ms", int(MAX_OFFSETS.maximum)
"""Batches follow each other immediately, as without a trigger, which a pipeline must have."""

BY_HAND = {"latency": Point(1, 1.0, 4), "throughput": Point(1, 1.0, 4, 20_000)}
"""Where scaling on lag begins: settings that a person would choose."""
LAG_THRESHOLD = 1_000
"""Records per executor: what four calls of 8 ms at a time process in two seconds."""

KNOBS = ("executors", "trigger", "maxOffsetsPerTrigger", "maxInFlight")

TAIL_S = 15.0
POLL_S = 5.0
FLOOD_S, SCORED_S = 300.0, 120.0
"""A flood's time, and its end, whose rate is scored."""

Run = tuple[str, str, int]
"""A contender, a shape, and the number of the repetition."""


def lacks(book: Book, contenders: Sequence[str] = CONTENDERS) -> bool:
    """Whether a run of one of the contenders is missing."""
    return any(_left(book, contenders))


def measure(book: Book, until_s: float, contenders: Sequence[str] = CONTENDERS) -> None:
    """Run what the book lacks of the contenders; the best static ones need a measured grid.

    Raises:
        LocalClusterError: cluster or pipeline did not respond in time.
    """
    site, filled = open_site(), False
    for who, shape, repeat in list(_left(book, contenders)):
        if time.time() > until_s:
            return
        if shape == "flood":
            if not filled:
                site.fill()
            filled = True
            told = _in_flood(site, book, who)
        else:
            told = _under_load(site, book, who, shape)
        book.add_run({"who": who, "shape": shape, "repeat": repeat} | told)


def _left(book: Book, contenders: Sequence[str]) -> Iterator[Run]:
    """What is still to be run; every shape and contender once before any of them again."""
    done = {(run["who"], run["shape"], run["repeat"]) for run in book.runs}
    for repeat in range(REPEATS):
        for shape, asked in ASKED:
            for who in asked:
                run = (who, shape, repeat)
                if who in contenders and run not in done:
                    yield run


def tuning(book: Book, who: str, goal: Goal) -> Json:
    """The field `tuning` of a contender's pipeline.

    Raises:
        ValueError: it needs the best grid point, which is not measured yet.
    """
    if who in {OURS, PROMPT}:
        example: Json = yaml.safe_load((EXAMPLE / "pipeline.yaml").read_text())
        profile: Json = {"profile": "latency"} if who == PROMPT else {}
        return {"initial": example["spec"]["tuning"]["initial"]} | profile
    if who == DEFAULTS:
        unlimited = {"maxOffsetsPerTrigger": NO_LIMIT, "trigger": NO_TRIGGER}
        return {"pinned": {"executors": SPARK_EXECUTORS, "maxInFlight": 1} | unlimited}
    if who == LAG:
        return pinned(BY_HAND[goal])
    found = best(book.windows, goal)
    if found is None:
        raise ValueError("no grid point meets the goal: measure the grid first")
    return pinned(found.point)


def _under_load(site: Site, book: Book, who: str, name: str) -> Json:
    """Run one contender on one shape, with the latency goal."""
    length_s = seconds(SHAPES[name])
    site.begin("latency", tuning(book, who, "latency"))
    begin_s = site.load(SHAPES[name] * PASSES)
    spans = [Span(begin_s + n * length_s, begin_s + (n + 1) * length_s) for n in range(PASSES)]
    _watch(site, who, "latency", spans[-1].end_s + TAIL_S)
    run = _told(site, "latency", begin_s, spans)
    site.end()
    cold, warm = run["passes"]
    console.say(f"{who}, {name}: met {cold['met']:.1%} cold, {warm['met']:.1%} warm")
    return run


def _in_flood(site: Site, book: Book, who: str) -> Json:
    """Run one contender with more waiting records than it can process, with the throughput goal."""
    site.begin("throughput", tuning(book, who, "throughput"))
    begin_s = time.time()
    end_s = begin_s + FLOOD_S
    _watch(site, who, "throughput", end_s)
    run = _told(site, "throughput", begin_s, [Span(end_s - SCORED_S, end_s)])
    if site.lag() <= 0:
        console.warn(f"{who} has processed the whole flood: its rate is too low")
    site.end()
    console.say(f"{who}, flood: {run['passes'][0]['rate']:.0f}/s")
    return run


def _watch(site: Site, who: str, goal: Goal, end_s: float) -> None:
    """Wait; meanwhile, scale the contender that scales on lag."""
    move: Callable[[], None] = _scaler(site, goal) if who == LAG else lambda: None
    while time.time() < end_s:
        move()
        time.sleep(POLL_S)


def _scaler(site: Site, goal: Goal) -> Callable[[], None]:
    """KEDA's law with its HPA, applied to the executors of our pipeline."""
    start = BY_HAND[goal]
    law = Keda(Limits(1, max(4, start.executors)), Parameters(lag_threshold=LAG_THRESHOLD))
    now = Settings(start.executors, start.trigger_s, start.limit)

    def move() -> None:
        nonlocal now
        at_s = time.time()
        seen = Signals(at_s, 0, 0, None, lag_records=site.lag(), partitions=PARTITIONS)
        wanted = law.decide(at_s, seen, now)
        if wanted.executors != now.executors:
            site.apply(goal, pinned(replace(start, executors=wanted.executors)))
            now = wanted

    return move


def _told(site: Site, goal: Goal, begin_s: float, spans: Sequence[Span]) -> Json:
    """The figures of the scored spans, and the series of the whole run for the picture."""
    batches = site.batches(begin_s)
    executors = site.executors(begin_s)
    return {
        "goal": goal,
        "passes": [_pass(batches, executors, span) for span in spans],
        "machine_load": machine_load(),
        "commit": commit.head(),
        "batches": [
            [round(b.committed_s - begin_s, 1), round(b.p95_s, 2), b.records] for b in batches
        ],
        "executors": changes([(at - begin_s, count) for at, count in executors]),
        "settings": _settings(site),
        "decisions": _decisions(site),
    }


def _pass(batches: Sequence[Batch], executors: Sequence[tuple[float, float]], span: Span) -> Json:
    """The figures of one span."""
    inside = [b for b in batches if span.begin_s < b.committed_s <= span.end_s]
    return {
        "seconds": round(span.seconds, 1),
        "met": round(met_share(batches, span.begin_s, span.end_s), 4),
        "p95_s": round(fmean(b.p95_s for b in inside), 3) if inside else None,
        "rate": round(throughput(inside), 1),
        "executor_s": round(executor_seconds(executors, span.begin_s, span.end_s), 1),
        "longest_break_s": round(longest_break(batches, span), 1),
    }


def _settings(site: Site) -> Json:
    """The knobs that the bench reports, as the driver exports them."""
    told = site.status().get("effective") or {}
    return {k: told[k] for k in KNOBS if told.get(k) is not None}


def _decisions(site: Site) -> list[Json]:
    told = site.status().get("decisions") or []
    return [{k: d[k] for k in ("time", "action", "reason", "message")} for d in told]
