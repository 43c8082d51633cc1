"""The values of the knobs that the law moves, and how they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.api.knobs import (
    ALL_KNOBS,
    EXECUTOR_CORES,
    EXECUTORS,
    KNOBS,
    MAX_IN_FLIGHT,
    MAX_OFFSETS,
    MIN_PARTITIONS,
    SCOPE,
    TOPIC_PARTITIONS,
    TRIGGER,
    Knob,
    KnobValues,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """One value for every knob that moves; None where the pipeline has no such knob."""

    executors: int
    trigger_s: float
    max_offsets: int
    max_in_flight: int | None = None
    """Calls in flight of each task of a stage that waits for a remote service."""
    min_partitions: int | None = None
    """Tasks that the source's partitions are split into, where there are fewer partitions."""
    scope: int | None = None
    """How far from its data a task may run: an index of `SCOPES`."""

    topic_partitions: int | None = None
    """Partitions that the source's topic is asked to have; None: nothing is asked."""
    cores: int | None = None
    """Task slots of each executor; None: as many as the spec says."""

    def numbers(self) -> dict[str, float]:
        """Values by knob name, durations in seconds, the scope as its index."""
        values = {
            EXECUTORS.name: self.executors,
            TRIGGER.name: self.trigger_s,
            MAX_OFFSETS.name: self.max_offsets,
            MIN_PARTITIONS.name: self.min_partitions,
            MAX_IN_FLIGHT.name: self.max_in_flight,
            SCOPE.name: self.scope,
            TOPIC_PARTITIONS.name: self.topic_partitions,
            EXECUTOR_CORES.name: self.cores,
        }
        return {name: float(value) for name, value in values.items() if value is not None}

    def knob_values(self) -> KnobValues:
        """What of it the driver is told, as the API writes it."""
        return KnobValues.of({n: v for n, v in self.numbers().items() if n in KNOBS})

    def with_numbers(self, numbers: Mapping[str, float]) -> Settings:
        """The settings with some values replaced, by knob name."""
        merged = self.numbers() | dict(numbers)
        optional = (MIN_PARTITIONS, MAX_IN_FLIGHT, SCOPE, TOPIC_PARTITIONS, EXECUTOR_CORES)
        known = {k.name: int(merged[k.name]) for k in optional if k.name in merged}
        return Settings(
            executors=int(merged[EXECUTORS.name]),
            trigger_s=merged[TRIGGER.name],
            max_offsets=int(merged[MAX_OFFSETS.name]),
            min_partitions=known.get(MIN_PARTITIONS.name),
            max_in_flight=known.get(MAX_IN_FLIGHT.name),
            scope=known.get(SCOPE.name),
            topic_partitions=known.get(TOPIC_PARTITIONS.name),
            cores=known.get(EXECUTOR_CORES.name),
        )

    def differences(self, other: Settings) -> tuple[str, ...]:
        """`executors 1 -> 4` for every knob that differs; `unset` where it has no value."""
        mine, theirs = self.numbers(), other.numbers()
        return tuple(
            f"{k.name} {_shown(k, mine)} -> {_shown(k, theirs)}"
            for k in ALL_KNOBS
            if mine.get(k.name) != theirs.get(k.name)
        )

    def tasks(self, partitions: int | None) -> int:
        """Tasks of a batch, of so many partitions; 1 where those are not known."""
        return max(partitions or 1, self.min_partitions or 1)


def _shown(knob: Knob, values: Mapping[str, float]) -> str:
    return knob.format(values[knob.name]) if knob.name in values else "unset"
