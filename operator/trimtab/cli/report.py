"""`trimtab report`: what a pipeline did over some time, as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.api.common import moment, timestamp
from trimtab.api.history import Entry
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.cli import governance
from trimtab.cli.cost import cost
from trimtab.cli.manifests import read
from trimtab.ports import Manifest
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
from trimtab.tuning.policy import Policy

Series = Sequence[tuple[float, float]]
"""Seconds since 1970, and a value."""

Ask = Callable[[str], Series]
"""The answer to a range query."""

OBSERVED, INPUT, LOAD, EXECUTORS, TRIGGER, MET = (
    "observed", "input", "load", "executors", "trigger", "met",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """The time of a report, in seconds since 1970."""

    start_s: float
    end_s: float

    @property
    def step_s(self) -> float:
        """Between two points: as many as the chart is wide, and none closer than a scrape."""
        return max(5.0, (self.end_s - self.start_s) / WIDTH)


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of that time; a series that nobody recorded is missing."""

    entries: Sequence[Entry]
    """The decisions before its end."""
    series: Mapping[str, Series] = field(default_factory=dict)


def queries(namespace: str, name: str, *, rate: bool) -> dict[str, str]:
    """The range queries of a report, by what they yield."""
    own = f"pipeline_namespace={json.dumps(namespace)},pipeline={json.dumps(name)}"
    driver = own.replace("pipeline_namespace", "namespace", 1)
    observed = "observed_records_per_second" if rate else "observed_seconds"
    return {
        OBSERVED: f"max(trimtab_pipeline_{observed}{{{own}}})",
        INPUT: f"max(trimtab_pipeline_observed_records_per_second{{{own}}})",
        LOAD: f"max(trimtab_pipeline_load_ratio{{{own}}})",
        EXECUTORS: f'max(trimtab_executors{{{driver},state="running"}})',
        TRIGGER: f'max(trimtab_pipeline_effective{{{own},knob="trigger"}})',
        MET: f'max(trimtab_pipeline_condition{{{own},type="GoalMet"}})',
    }


def recorded(manifest: Manifest, ask: Ask) -> dict[str, Series]:
    """The answers to the queries that have one."""
    spec, _ = read(manifest)
    meta = manifest["metadata"]
    asked = queries(meta.get("namespace", "default"), meta["name"], rate=_rate(spec))
    return {what: points for what, promql in asked.items() if (points := ask(promql))}


def report(manifest: Manifest, found: Found, span: Span) -> str:
    """The page. Pure.

    Raises:
        BadInputError: not a valid StreamPipeline; says what is wrong.
    """
    spec, status = read(manifest)
    policy, meta = governance.in_force(spec, status), manifest["metadata"]
    title = f"{meta.get('namespace', '-')}/{meta['name']}: {_times(span)}"
    marks = list(_marks(found.entries, span))
    axis = Axis(
        span.end_s - span.start_s,
        lambda at_s: timestamp(span.start_s + at_s)[5:16].replace("T", " "),
    )
    words = _summary(policy, status, found)
    return document(title, words, svg(_panels(policy, found, span), axis, marks), marks)


def _times(span: Span) -> str:
    return f"{timestamp(span.start_s)} to {timestamp(span.end_s)}"


def _rate(spec: StreamPipelineSpec) -> bool:
    return Policy.of(spec).target_s is None


def _summary(policy: Policy, status: StreamPipelineStatus, found: Found) -> str:
    met = found.series.get(MET, ())
    held = f"held in {sum(v for _, v in met) / len(met):.1%} of the time" if met else "not recorded"
    return f"Goal {policy.goal_text()}: {held}. Since the pipeline's beginning: {cost(status)}."


def _marks(entries: Sequence[Entry], span: Span) -> Iterator[Mark]:
    inside = [entry for entry in entries if moment(entry.time) >= span.start_s]
    for number, entry in enumerate(inside, 1):
        words = f"{entry.action} {entry.reason}: {entry.message}"
        yield Mark(number, moment(entry.time) - span.start_s, entry.time, words)


def _panels(policy: Policy, found: Found, span: Span) -> tuple[Panel, ...]:
    unit = "records/s" if policy.target_s is None else "s"
    observed = [_line("observed", found, OBSERVED, span, BLUE)]
    if goal := (policy.rate if policy.target_s is None else policy.target_s):
        ends = [(0.0, goal), (span.end_s - span.start_s, goal)]
        observed.append(Line("goal", ends, RED, dashed=True))
    bad = tuple(_unmet(found.series.get(MET, ()), span))
    return (
        Panel("Input", "records/s", (_line("input", found, INPUT, span, GREY),)),
        Panel("Held against the goal", unit, tuple(observed), bad),
        Panel("Load", "", (_line("load", found, LOAD, span, BLUE),)),
        Panel("Executors", "", (_line("executors", found, EXECUTORS, span, BLUE, stepped=True),)),
        Panel("Trigger", "s", (_line("trigger", found, TRIGGER, span, ORANGE, stepped=True),)),
    )


def _line(
    name: str, found: Found, what: str, span: Span, colour: str, *, stepped: bool = False
) -> Line:
    points = found.series.get(what) or list(_decided(found.entries, what, span))
    return Line(name, [(at_s - span.start_s, v) for at_s, v in points], colour, stepped=stepped)


def _decided(entries: Sequence[Entry], what: str, span: Span) -> Iterator[tuple[float, float]]:
    """What the decisions say of it; a setting holds until the next one and to the end."""
    setting = {EXECUTORS: "executors", TRIGGER: "trigger"}.get(what)
    last: float | None = None
    for entry in entries:
        at_s = max(moment(entry.time), span.start_s)
        value = entry.settings.get(setting) if setting else _number(entry, what)
        if value is None:
            continue
        if setting or at_s > span.start_s:
            yield at_s, value
        last = value
    if setting and last is not None:
        yield span.end_s, last


def _number(entry: Entry, what: str) -> float | None:
    numbers = entry.numbers
    if numbers is None:
        return None
    return {INPUT: numbers.input_rate, LOAD: numbers.load, OBSERVED: numbers.observed}.get(what)


def _unmet(met: Series, span: Span) -> Iterator[tuple[float, float]]:
    """The spans in which the goal was not met."""
    begun: float | None = None
    for at_s, value in met:
        if value < 1 and begun is None:
            begun = at_s
        elif value >= 1 and begun is not None:
            yield begun - span.start_s, at_s - span.start_s
            begun = None
    if begun is not None:
        yield begun - span.start_s, met[-1][0] - span.start_s
