"""Measures the grid points that the file lacks; writes each window as soon as it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import fmean

from bench.live.book import Book
from bench.live.points import (
    GRIDS,
    TARGET_S,
    Goal,
    Point,
    Window,
    best,
    beyond,
    executor_seconds,
    met_share,
    throughput,
)
from bench.live.shapes import HIGH
from bench.live.site import Site, machine_load, open_site, pinned
from dev.localcluster import console

from bench import commit

WARM_S, WINDOW_S = 15.0, 60.0
FIRST_WARM_S = 60.0
"""Warm-up after a driver's start, while its code is compiled."""
BATCHES, LONGEST_S = 3, 180.0
"""A window of the flood has this many batches, if they end in this time."""
HOPELESS_S = 30.0
"""Where the window of a point that falls further and further behind is cut off: by then its rate is
known."""
LONG_S = 3 * 3600.0
POLL_S = 5.0
ENOUGH = 1_500_000
"""Records that must wait when a window of the flood begins: more than any point processes in it."""
REPEATS = 2
"""Repetitions of the best point, in addition to its window in the grid."""
DRAIN = (0.5, 64)
"""Trigger in seconds and calls in flight for draining the backlog of a slow point."""

Asked = list[tuple[Point, int]]
"""Points, and the number of the measurement of each."""


def lacks(book: Book) -> bool:
    """Whether part of the grid is not measured yet."""
    return any(_left(book, goal, asked) for goal, asked in _asked(book))


def measure(book: Book, until_s: float) -> None:
    """Measure until everything is measured, or until the wall time `until_s`.

    Raises:
        LocalClusterError: cluster or pipeline did not respond in time.
    """
    site = open_site()
    for goal, asked in _asked(book):
        if time.time() > until_s:
            return
        if left := _left(book, goal, asked):
            _MEASURES[goal](site, book, left, until_s)


def _asked(book: Book) -> Iterator[tuple[Goal, Asked]]:
    """What to measure, in order; the later parts depend on the results of the earlier ones."""
    for goal, points in GRIDS.items():
        yield goal, [(point, 0) for point in points]
        while more := beyond(book.windows, goal):
            yield goal, [(point, 0) for point in more]
        if found := best(book.windows, goal):
            yield goal, [(found.point, n + 1) for n in range(REPEATS)]


def _left(book: Book, goal: Goal, asked: Asked) -> Asked:
    done = {(w.point, w.repeat) for w in book.windows if w.goal == goal}
    return [each for each in asked if each not in done]


def _latency(site: Site, book: Book, left: Asked, until_s: float) -> None:
    """Measure one window per point under the highest load of the shapes."""
    site.begin("latency", pinned(left[0][0]))
    site.load(((LONG_S, HIGH),))
    time.sleep(FIRST_WARM_S)
    for point, repeat in left:
        if time.time() > until_s:
            break
        site.apply("latency", pinned(point))
        site.wait_effective(point)
        time.sleep(WARM_S)
        window = _window(site, "latency", point, repeat)
        book.add(window)
        if window.saturated:
            _drain(site, point)
    site.stop_load()
    site.end()


def _window(site: Site, goal: Goal, point: Point, repeat: int) -> Window:
    """Watch for a minute, or half of one if the point cannot keep up; longer for long batches."""
    begin_s = time.time()
    saturated = False
    while (spent_s := time.time() - begin_s) < LONGEST_S:
        time.sleep(POLL_S)
        few = goal == "throughput" and len(site.batches(begin_s)) < BATCHES
        if spent_s > WINDOW_S and not few:
            break
        behind = site.lag() > 2 * HIGH * TARGET_S
        if goal == "latency" and spent_s > HOPELESS_S and behind:
            saturated = True
            if len(site.batches(begin_s)) > 1:
                break
    time.sleep(POLL_S + 1)  # until a scrape has seen the last batch
    end_s = time.time() - POLL_S - 1
    seen = site.batches(begin_s)
    batches = [b for b in seen if b.committed_s <= end_s]
    return Window(
        goal=goal,
        point=point,
        repeat=repeat,
        seconds=round(end_s - begin_s, 1),
        met=round(met_share(seen, begin_s, end_s), 4),
        p95_s=round(fmean(b.p95_s for b in batches), 3) if batches else float("inf"),
        rate=round(throughput(batches), 1),
        executor_s=round(executor_seconds(site.executors(begin_s), begin_s, end_s), 1),
        batches=batches[-1].id - batches[0].id + 1 if batches else 0,
        saturated=saturated,
        machine_load=machine_load(),
        commit=commit.head(),
    )


def _drain(site: Site, point: Point) -> None:
    """Drain the backlog that the point has left, so that the next one begins without it."""
    site.stop_load()
    trigger_s, calls = DRAIN
    fast = Point(point.executors, trigger_s, calls)
    site.apply("latency", pinned(fast))
    site.kube.wait("backlog gone", 300, lambda: site.lag() < HIGH)
    site.load(((LONG_S, HIGH),))
    console.say(f"drained after {point.name}")


def _flood(site: Site, book: Book, left: Asked, until_s: float) -> None:
    """Measure one window per point with more waiting records than it can process."""
    site.fill()
    waiting = 0.0
    for point, repeat in left:
        if time.time() > until_s:
            return
        if waiting < ENOUGH:
            site.begin("throughput", pinned(point))
            time.sleep(FIRST_WARM_S)
        else:
            site.apply("throughput", pinned(point))
        site.wait_effective(point)
        time.sleep(WARM_S)
        book.add(_window(site, "throughput", point, repeat))
        waiting = site.lag()
        if waiting <= 0:
            console.warn(f"{point.name} has processed the whole flood: its rate is too low")
    site.end()


_MEASURES: Mapping[Goal, Callable[[Site, Book, Asked, float], None]] = {
    "latency": _latency,
    "throughput": _flood,
}
