"""What a pipeline's spec asks of the control core, once the policies above it have spoken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trimtab.api.knobs import BY_NAME, EXECUTOR_CORES, EXECUTORS, MIN_PARTITIONS, TOPIC_PARTITIONS
from trimtab.api.quantities import parse_duration
from trimtab.api.ranges import Range
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.limits import ExecutorRange, Limits
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.tuning import Dwell, Mode, Profile, Tuning, TuningBounds
from trimtab.tuning.governance.rules import MODES, KnobRange, Rules, Said, shown
from trimtab.tuning.policy import Policy

_ENDS = {"least": "min", "most": "max", "step": "maxStep", "locked": "locked"}


@dataclass(frozen=True, slots=True)
class SetBy:
    """A value that a policy set for a pipeline."""

    field: str
    value: str
    policy: str


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a spec that policies speak about."""

    goal: Goal
    limits: Limits
    tuning: Tuning


def policy(spec: StreamPipelineSpec, rules: Rules) -> tuple[Policy, tuple[SetBy, ...]]:
    """What the control core must hold to, and the values in it that policies set."""
    said = Parts(spec.goal, spec.limits, spec.tuning)
    parts, set_by = governed(said, rules)
    stated = Policy.stated(parts.goal, parts.limits, parts.tuning, spec.resources.executor)
    return restricted(stated.of_query(spec), rules), set_by


def restricted(stated: Policy, rules: Rules) -> Policy:
    """A policy with the rules that no spec can state."""
    ranges = {name: each.range for name, each in rules.knobs.items()}
    pauses = rules.pauses_per_hour
    return replace(
        stated,
        ranges=ranges,
        locked=frozenset(name for name, allowed in ranges.items() if allowed.locked),
        pauses_per_hour=pauses.value if pauses else None,
        approval=stated.approval | set(rules.approval),
        conflict="; ".join([*rules.unreadable, *(fight.message for fight in rules.fights)]),
    )


def governed(said: Parts, rules: Rules) -> tuple[Parts, tuple[SetBy, ...]]:
    """The parts of a spec with what policies say in their place."""
    if not rules.layers:
        return said, ()
    values = _chosen(said, rules)
    tuning, told = said.tuning, [_told(name, value) for name, value in values.items()]
    changes: dict[str, Any] = {n: v.value for n, v in values.items() if n in Tuning.model_fields}
    if rules.mode and MODES.index(rules.mode.value) < MODES.index(tuning.mode):
        changes["mode"] = rules.mode.value
        told.append(_told("mode", rules.mode))
    if rules.pauses_per_hour:
        told.append(_told("pausesPerHour", rules.pauses_per_hour))
    told += [SetBy(f"{n}.approval", "required", by.title) for n, by in rules.approval.items()]
    goal = _goal(said.goal, values["catch_up"].value) if "catch_up" in values else said.goal
    for name, each in rules.knobs.items():
        told += _ends(name, each)
    parts = Parts(goal, _limits(said.limits, rules), tuning.model_copy(update=changes))
    return parts, tuple(told)


def restated(said: Parts, told: Iterable[SetBy]) -> Parts:
    """The parts of a spec as policies have them, from what a status tells of these."""
    tuning: dict[str, Any] = {}
    goal, executors = said.goal, said.limits.executors
    for each in told:
        match each.field:
            case "mode":
                tuning["mode"] = Mode(each.value)
            case "profile":
                tuning["profile"] = Profile(each.value)
            case "bounds":
                tuning["bounds"] = TuningBounds.model_validate(_numbers(each.value))
            case "dwell":
                tuning["dwell"] = Dwell.model_validate(_numbers(each.value))
            case "catchUp":
                goal = _goal(goal, parse_duration(each.value))
            case "executors.min":
                executors = _range(executors, Range(least=int(each.value)))
            case "executors.max":
                executors = _range(executors, Range(most=int(each.value)))
    limits = said.limits.model_copy(update={"executors": executors})
    return Parts(goal, limits, said.tuning.model_copy(update=tuning))


def _numbers(text: str) -> dict[str, float]:
    """The inverse of `rules.shown` for a model of numbers."""
    pairs = (part.split(" ") for part in text.split(", "))
    return {name: float(number) for name, number in pairs}


def _chosen(said: Parts, rules: Rules) -> Mapping[str, Said]:
    """The values that policies decide: their overrides, and defaults where the spec is silent."""
    silent = {name: each for name, each in rules.defaults.items() if not _says(said, name)}
    return {**silent, **rules.overrides}


def _says(said: Parts, name: str) -> bool:
    """Whether a spec says a value by itself."""
    if name == "catch_up":
        goal = said.goal.latency or said.goal.throughput
        return goal is not None and goal.catch_up is not None
    own = getattr(said.tuning, name)
    return own not in (None, TuningBounds(), Dwell())


def _goal(goal: Goal, catch_up_s: float) -> Goal:
    parts = {"latency": goal.latency, "throughput": goal.throughput}
    changed = {
        name: part.model_copy(update={"catch_up": catch_up_s})
        for name, part in parts.items()
        if part is not None
    }
    return goal.model_copy(update=changed)


def _limits(limits: Limits, rules: Rules) -> Limits:
    """The limits of a spec within those of the policies."""
    allowed = rules.knobs.get(EXECUTORS.name, KnobRange()).range
    changed: dict[str, Any] = {"executors": _range(limits.executors, allowed)}
    for field, knob in _LIMITS.items():
        own, upper = getattr(limits, field), rules.knobs.get(knob.name, KnobRange()).range.most
        if own is not None and upper is not None:
            changed[field] = min(own, int(upper))
    return limits.model_copy(update=changed)


def _range(said: ExecutorRange, allowed: Range) -> ExecutorRange:
    most = max(1, int(allowed.within(said.max)))
    least = min(int(allowed.within(said.min)), most)
    return said.model_copy(update={"min": least, "max": most})


_LIMITS = {
    "tasks": MIN_PARTITIONS,
    "executor_cores": EXECUTOR_CORES,
    "topic_partitions": TOPIC_PARTITIONS,
}
"""Limits of a spec that are bounds of a knob."""


def _told(name: str, said: Said) -> SetBy:
    return SetBy("catchUp" if name == "catch_up" else name, shown(said.value), said.layer.title)


def _ends(name: str, known: KnobRange) -> Iterator[SetBy]:
    knob = BY_NAME[name]
    for end, layer in known.set_by.items():
        value = getattr(known.range, end)
        text = "true" if end == "locked" else knob.format(value)
        yield SetBy(f"{name}.{_ENDS[end]}", text, layer.title)
