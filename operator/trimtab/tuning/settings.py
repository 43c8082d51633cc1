"""The settings of one pipeline: a value for every knob that the law moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.api.knobs import (
    BY_NAME,
    EXECUTOR_CORES,
    EXECUTORS,
    KNOBS,
    MAX_IN_FLIGHT,
    MAX_OFFSETS,
    MIN_PARTITIONS,
    PRODUCER_BATCH,
    PRODUCER_COMPRESSION,
    PRODUCER_IN_FLIGHT,
    PRODUCER_KNOBS,
    PRODUCER_LINGER,
    SCOPE,
    SINK_WRITERS,
    TOPIC_PARTITIONS,
    TRIGGER,
    KnobValues,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """One value for every knob that moves; None if the pipeline has no such knob.

    For the producer's knobs, None is Kafka's default.
    """

    executors: int
    trigger_s: float
    max_offsets: int
    max_in_flight: int | None = None
    """Calls in flight per task of a stage that waits for a remote service."""
    min_partitions: int | None = None
    """Tasks that the source's partitions are split into, if there are fewer partitions."""
    scope: int | None = None
    """How far from its data a task may run: an index of `SCOPES`."""
    producer_in_flight: int | None = None
    """Requests in flight to each broker of a Kafka sink."""
    producer_batch: int | None = None
    """Bytes per partition in one of its requests."""
    producer_linger_ms: int | None = None
    producer_compression: int | None = None
    """An index of `COMPRESSIONS`."""
    writers: int | None = None
    """What writes a batch into a table or files: an index of `WRITERS`."""
    topic_partitions: int | None = None
    """Partitions requested for the source's topic; None: none requested."""
    cores: int | None = None
    """Task slots per executor; None: as many as the spec says."""
    others: Mapping[str, float] | None = None
    """Values that only their own knob reads, by name; None if there are none."""

    def numbers(self) -> dict[str, float]:
        """Values by knob name, durations in seconds, words as their index."""
        values = {name: getattr(self, field) for name, field in _FIELDS.items()}
        values |= self.others or {}
        return {name: float(value) for name, value in values.items() if value is not None}

    def knob_values(self) -> KnobValues:
        """The part that the driver receives, as the API writes it."""
        return KnobValues.of({n: v for n, v in self.numbers().items() if n in KNOBS})

    def with_numbers(self, numbers: Mapping[str, float]) -> Settings:
        """The settings with some values replaced, by knob name; names of other knobs are ignored.

        All but the trigger become whole numbers.
        """
        merged = self.numbers() | dict(numbers)
        others = {name: merged[name] for name in self.others or {}}
        values = {_FIELDS[n]: int(v) for n, v in merged.items() if n in _FIELDS}
        kept: dict[str, Any] = values | {
            "trigger_s": merged[TRIGGER.name],
            "others": others or None,
        }
        return Settings(**kept)

    def differences(self, other: Settings) -> tuple[str, ...]:
        """`executors 1 -> 4` for every knob that differs; `unset` if it has no value."""
        mine, theirs = self.numbers(), other.numbers()
        names = dict.fromkeys([*BY_NAME, *mine, *theirs])
        return tuple(
            f"{name} {_shown(name, mine)} -> {_shown(name, theirs)}"
            for name in names
            if mine.get(name) != theirs.get(name)
        )

    def moved(self, other: Settings) -> frozenset[str]:
        """The names of the knobs that have another value there."""
        mine, theirs = self.numbers(), other.numbers()
        return frozenset(name for name in theirs if mine.get(name) != theirs[name])

    def tasks(self, partitions: int | None) -> int:
        """Tasks of a batch that reads `partitions` partitions; 1 if those are unknown."""
        return max(partitions or 1, self.min_partitions or 1)

    @property
    def manner(self) -> tuple[int, str]:
        """How it calls, runs and writes, as in `Point.manner`."""
        return (self.max_in_flight or 0, self.way)

    @property
    def way(self) -> str:
        """Identifies where tasks run and how they write; empty if nothing of it is set."""
        said, ways = self.numbers(), (*PRODUCER_KNOBS, SINK_WRITERS, SCOPE, MIN_PARTITIONS)
        return "/".join(f"{k.name}={said[k.name]:g}" for k in ways if k.name in said)


_FIELDS = {
    EXECUTORS.name: "executors",
    TRIGGER.name: "trigger_s",
    MAX_OFFSETS.name: "max_offsets",
    MAX_IN_FLIGHT.name: "max_in_flight",
    MIN_PARTITIONS.name: "min_partitions",
    SCOPE.name: "scope",
    PRODUCER_IN_FLIGHT.name: "producer_in_flight",
    PRODUCER_BATCH.name: "producer_batch",
    PRODUCER_LINGER.name: "producer_linger_ms",
    PRODUCER_COMPRESSION.name: "producer_compression",
    SINK_WRITERS.name: "writers",
    TOPIC_PARTITIONS.name: "topic_partitions",
    EXECUTOR_CORES.name: "cores",
}
"""The field of each knob."""


def _shown(name: str, values: Mapping[str, float]) -> str:
    if name not in values:
        return "unset"
    return BY_NAME[name].format(values[name]) if name in BY_NAME else f"{values[name]:g}"
