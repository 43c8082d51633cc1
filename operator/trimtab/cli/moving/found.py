"""What is found of a job: fields of a StreamPipeline, and what a person has to see to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from trimtab.api.common import API_VERSION
from trimtab.api.quantities import format_quantity
from trimtab.sizing.heap import MIB

NEEDED = {
    "source.kafka.bootstrapServers": "the addresses of the Kafka that the job reads",
    "source.kafka.topics": "the topics that the job reads",
    "transform": "sql or python: what the job does between reading and writing",
    "sink": "where the job writes to",
    "goal": "what the pipeline must achieve, such as latency: {percentile: 95, target: 30s}",
}
"""Fields without which there is no pipeline, and what goes there."""


NO_PLACE = "a pipeline has no place for it"
NO_JVM = (
    "a pipeline has no main class: put what makes one frame of the other into a class, and name it"
    " in transform.jvm (docs/api.md)"
)
"""Advice that several places give."""


@dataclass(slots=True)
class Found:
    """Fields by their dotted path below `spec`, and notes in the order of what they are about."""

    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    name: str | None = None

    def set(self, path: str, value: Any) -> None:
        """Set a field; the first who says something about it is right."""
        self.fields.setdefault(path, value)

    def run(self, file: str, arguments: Sequence[str] = ()) -> None:
        """Set the script that is the transform; `file` is its path, or the URI of it."""
        place = file.removeprefix("local://")
        local = place.startswith("/")
        self.set("transform.python.script", place if local else place.rpartition("/")[2])
        if arguments:
            self.set("transform.python.args", list(arguments))

    def note(self, what: str, advice: str) -> None:
        """Something that was not carried over, and what to do about it."""
        line = f"{what}: {advice}"
        if line not in self.notes:
            self.notes.append(line)

    def add(self, other: Found) -> None:
        """Take over what another place says of the same job."""
        self.name = self.name or other.name
        for path, value in other.fields.items():
            mine = self.fields.get(path)
            both = isinstance(mine, dict) and isinstance(value, dict)
            self.fields[path] = value | mine if both else self.fields.get(path, value)
        self.notes += [note for note in other.notes if note not in self.notes]

    @property
    def missing(self) -> list[str]:
        """The fields that nothing was found for, each with what goes there."""
        fields = self.fields.keys() - {"transform.shufflePartitions", "sink.outputMode"}
        if "source.kafka.topicPattern" in fields:
            fields.add("source.kafka.topics")
        named = {part for path in fields for part in _parents(path)}
        told = [f"spec.{path}: {words}" for path, words in NEEDED.items() if path not in named]
        if (script := self.fields.get("transform.python.script")) is not None:
            words = f"a ConfigMap with {script.rpartition('/')[2]}, unless spec.image has {script}"
            told.append(f"spec.transform.python.configMap: {words}")
        return told

    def manifest(self, name: str | None) -> dict[str, Any]:
        """The pipeline, as far as it is known."""
        spec: dict[str, Any] = {}
        for path, value in self.fields.items():
            node = spec
            *parents, last = path.split(".")
            for part in parents:
                node = node.setdefault(part, {})
            node[last] = value
        return {
            "apiVersion": API_VERSION,
            "kind": "StreamPipeline",
            "metadata": {"name": name or self.name or "imported"},
            "spec": spec,
        }

    def text(self, name: str | None) -> str:
        """The pipeline as YAML, after comments that say what is left to do."""
        lines = [f"# to write: {line}" for line in self.missing]
        lines += [f"# not carried over: {line}" for line in self.notes]
        body = yaml.safe_dump(self.manifest(name), sort_keys=False, width=100)
        return "\n".join([*lines, body])


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


_UNITS: Mapping[str, int] = {
    "": 20, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40,
}  # fmt: skip
OVERHEAD, OVERHEAD_MIN = 0.1, 384 * MIB
"""Spark's defaults for a pod's memory outside the heap: a share of the heap, and a minimum."""


def spark_bytes(text: str) -> int | None:
    """Spark's way to write a size, such as 4g; a bare number is in MiB. None if it is none."""
    number = text.strip().lower().rstrip("kmgtbi")
    unit = text.strip().lower()[len(number) :].replace("i", "")
    try:
        return int(float(number) * (1 << _UNITS[unit]))
    except (ValueError, KeyError):
        return None


def pod_memory(heap: str, overhead: str | None = None) -> str | None:
    """The size of a pod with that heap; trimtab states whole pods. None if a size is unknown."""
    size = spark_bytes(heap)
    if size is None:
        return None
    more = spark_bytes(overhead) if overhead else max(int(size * OVERHEAD), OVERHEAD_MIN)
    return None if more is None else format_quantity(-(-(size + more) // MIB) * MIB)
