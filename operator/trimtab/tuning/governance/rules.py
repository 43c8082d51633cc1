"""What several policies say together about one pipeline, and where each value comes from.

    mode, pausesPerHour   the least of all
    knobs                 what all allow; where that is nothing, what the higher one allows
    windows               the windows of every policy must be open
    overrides             the highest policy, whatever the pipeline says
    defaults              the pipeline itself, else the lowest policy

Two policies of one rank that contradict each other fight: what they fight about comes from neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trimtab.api.quantities import format_duration
from trimtab.api.ranges import Range
from trimtab.api.v1alpha1.policies import Values
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.governance.layers import Layer, from_the_top

VALUES = tuple(Values.model_fields)
MODES = (Mode.OBSERVE, Mode.RECOMMEND, Mode.AUTO)


@dataclass(frozen=True, slots=True)
class Said:
    """A value, and the policy that said it."""

    value: Any
    layer: Layer


@dataclass(frozen=True, slots=True)
class Fight:
    """Two policies that cannot both be right."""

    layers: tuple[Layer, Layer]
    message: str


@dataclass(frozen=True, slots=True)
class KnobRange:
    """What a knob may do, and which policy set each end of it."""

    range: Range = field(default_factory=Range)
    set_by: Mapping[str, Layer] = field(default_factory=dict)
    """By the name of the field: least, most, step, locked."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All that the policies above one pipeline say."""

    layers: tuple[Layer, ...] = ()
    """From the top."""
    mode: Said | None = None
    pauses_per_hour: Said | None = None
    approval: Mapping[str, Layer] = field(default_factory=dict)
    """Knobs whose changes wait for a person, and who says so."""
    overrides: Mapping[str, Said] = field(default_factory=dict)
    defaults: Mapping[str, Said] = field(default_factory=dict)
    knobs: Mapping[str, KnobRange] = field(default_factory=dict)
    fights: tuple[Fight, ...] = ()
    unreadable: tuple[str, ...] = ()
    """What is wrong with policies that cannot be read."""


NO_RULES = Rules()


def rules(selecting: Iterable[Layer], unreadable: tuple[str, ...] = ()) -> Rules:
    """The rules of the policies that select a pipeline."""
    layers = from_the_top(selecting)
    if not layers:
        return replace(NO_RULES, unreadable=unreadable)
    fights: list[Fight] = []
    return Rules(
        layers=tuple(layers),
        mode=_least(layers, "mode", MODES.index),
        pauses_per_hour=_least(layers, "pauses_per_hour", int),
        approval={name: layer for layer in reversed(layers) for name in layer.spec.approval},
        overrides=_values(layers, "overrides", fights),
        # the nearest one counts, but the higher priority of one kind still comes first
        defaults=_values(_nearest(layers), "defaults", fights),
        knobs=_knobs(layers, fights),
        fights=tuple(fights),
        unreadable=unreadable,
    )


def _least(layers: Sequence[Layer], name: str, size: Any) -> Said | None:
    said = [Said(value, each) for each in layers if (value := getattr(each.spec, name)) is not None]
    return min(said, key=lambda one: size(one.value), default=None)


def _nearest(layers: Sequence[Layer]) -> list[Layer]:
    return sorted(layers, key=lambda layer: layer.of_cluster)


def _values(layers: Sequence[Layer], part: str, fights: list[Fight]) -> dict[str, Said]:
    """The first value of each field; none where two of one rank differ."""
    found: dict[str, Said] = {}
    for name in VALUES:
        said = [
            Said(value, layer)
            for layer in layers
            if (value := getattr(getattr(layer.spec, part), name)) is not None
        ]
        if not said:
            continue
        first = said[0]
        against = (s for s in said[1:] if s.layer.equal_rank(first.layer))
        other = next((s for s in against if s.value != first.value), None)
        if other is None:
            found[name] = first
            continue
        alias = Values.model_fields[name].alias or name
        fights.append(_fight(first.layer, other.layer, f"{part}.{alias} differs"))
    return found


def _knobs(layers: Sequence[Layer], fights: list[Fight]) -> dict[str, KnobRange]:
    found: dict[str, KnobRange] = {}
    fought: set[str] = set()
    for layer in layers:
        for name, allowed in layer.spec.knobs.ranges().items():
            known = found.get(name, KnobRange())
            both = known.range.and_(allowed)
            if not both.empty:
                found[name] = KnobRange(both, _set_by(known, both, layer))
                continue
            found[name] = _upper(known, allowed, layer)
            rivals = {end: by for end, by in known.set_by.items() if end in {"least", "most"}}
            rival = next((by for by in rivals.values() if by.equal_rank(layer)), None)
            if rival is not None:
                fights.append(_fight(rival, layer, f"knobs.{name}: no value is allowed by both"))
                fought.add(name)
    return {name: allowed for name, allowed in found.items() if name not in fought}


def _upper(known: KnobRange, allowed: Range, layer: Layer) -> KnobRange:
    """The bounds of the higher policy; how far and whether it moves, by both."""
    both = known.range.and_(replace(allowed, least=None, most=None))
    return KnobRange(both, _set_by(known, both, layer))


def _set_by(known: KnobRange, both: Range, layer: Layer) -> dict[str, Layer]:
    """Who set each end: the layer itself where it is the stricter one."""
    changed = {
        end: layer
        for end in ("least", "most", "step", "locked")
        if getattr(both, end) != getattr(known.range, end)
    }
    return {**known.set_by, **changed}


def _fight(one: Layer, other: Layer, about: str) -> Fight:
    words = (
        f"{about}: {one.title} and {other.title} have the same priority, {one.spec.priority}; give"
        " one of them a higher one, or let them say the same"
    )
    return Fight((one, other), words)


def shown(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, float):
        return format_duration(value)
    if hasattr(value, "model_dump"):
        parts = value.model_dump(exclude_none=True, by_alias=True)
        return ", ".join(f"{name} {part:g}" for name, part in parts.items())
    return str(value)
