"""A run as one HTML page without scripts: its summary, a chart, and its decisions by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.api.quantities import format_duration
from trimtab.api.reasons import Action
from trimtab.simulation.chart import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    WIDTH,
    Axis,
    Line,
    Mark,
    Panel,
    document,
    svg,
)
from trimtab.simulation.figures import violating_seconds
from trimtab.simulation.run import Run
from trimtab.simulation.summary import summary


def page(run: Run) -> str:
    """The page of a finished run."""
    marks = list(_marks(run))
    axis = Axis(run.scenario.duration, _after)
    title = f"{run.scenario.name}, seed {run.seed}"
    return document(title, f"{summary(run).words}.", svg(_panels(run), axis, marks), marks)


def _after(at_s: float) -> str:
    return format_duration(round(at_s))


def _marks(run: Run) -> Iterator[Mark]:
    """Each decision but the holds."""
    number = 0
    for tick in run.ticks:
        for told in tick.decision.told:
            if told.action is not Action.HOLD:
                number += 1
                words = f"{told.action} {told.reason}: {told.message}"
                yield Mark(number, tick.at_s, _after(tick.at_s), words)


def _panels(run: Run) -> tuple[Panel, ...]:
    seconds = range(0, int(run.scenario.duration), max(1, int(run.scenario.duration / WIDTH)))
    policy = run.scenario.policy()
    load = [(float(t), run.arrivals.rate(t)) for t in seconds]
    ends = [(b.end_s, b.end_s - run.arrivals.time_of(b.first)) for b in run.batches if b.records]
    latency = [Line("oldest record of each batch", ends, BLUE)]
    if policy.target_s is not None:
        span = [(0.0, policy.target_s), (run.scenario.duration, policy.target_s)]
        latency.append(Line("goal", span, RED, dashed=True))
    settings = [(t.at_s, t.after.in_force) for t in run.ticks]
    executors = [(at_s, float(each.executors)) for at_s, each in settings]
    triggers = [(at_s, each.trigger_s) for at_s, each in settings]
    return (
        Panel("Input", "records/s", (Line("input", load, GREY, stepped=True),)),
        Panel("Latency", "s", tuple(latency), tuple(_spans(violating_seconds(run)))),
        Panel("Executors", "", (Line("executors", executors, BLUE, stepped=True),)),
        Panel("Trigger", "s", (Line("trigger", triggers, ORANGE, stepped=True),)),
    )


def _spans(seconds: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Seconds in a row as spans."""
    begun = last = None
    for second in seconds:
        if last is None or second != last + 1:
            if begun is not None and last is not None:
                yield float(begun), float(last + 1)
            begun = second
        last = second
    if begun is not None and last is not None:
        yield float(begun), float(last + 1)
