"""Ports in memory: for tests and for simulated loops. Real semantics where they matter.

The cluster keeps resource versions and generations, refuses stale preconditions, and records
every write, so that a test can count them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from trimtab.errors import ConflictError, UnavailableError
from trimtab.ports import Key, Manifest, Sample, key_of


@dataclass
class MemoryCluster:
    """Objects by key, with optimistic concurrency."""

    objects: dict[Key, Manifest] = field(default_factory=dict)
    writes: list[tuple[str, Key]] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    unavailable: bool = False
    _version: int = 0

    def put(self, manifest: Manifest) -> Manifest:
        """Store an object as a user or a controller would; returns what is stored."""
        self._version += 1
        stored = copy.deepcopy(manifest)
        meta = stored.setdefault("metadata", {})
        meta.setdefault("uid", f"uid-{self._version}")
        meta.setdefault("generation", 1)
        meta["resourceVersion"] = str(self._version)
        self.objects[key_of(stored)] = stored
        return copy.deepcopy(stored)

    def list_all(self, kind: str) -> list[Manifest]:
        """Every object of a kind."""
        self._check()
        return [copy.deepcopy(o) for key, o in self.objects.items() if key[0] == kind]

    def get(self, key: Key) -> Manifest | None:
        """One object, or None."""
        self._check()
        return copy.deepcopy(self.objects.get(key))

    def apply(self, manifest: Manifest) -> Manifest:
        """Merge over what is there; a resourceVersion is a precondition."""
        self._check()
        key = key_of(manifest)
        old = self.objects.get(key)
        self._precondition(old, manifest["metadata"].get("resourceVersion"))
        self.writes.append(("apply", key))
        merged = _merge(old or {}, manifest)
        return self.put(merged)

    def patch_status(self, kind: str, manifest: Manifest, status: Manifest) -> Manifest:
        """Merge the status, if the object is still the given one."""
        self._check()
        meta = manifest["metadata"]
        key = (kind, meta["namespace"], meta["name"])
        old = self.objects.get(key)
        if old is None:
            raise ConflictError("the object is gone")
        self._precondition(old, meta["resourceVersion"])
        self.writes.append(("status", key))
        return self.put(_merge(old, {"status": status}))

    def delete(self, key: Key, *, uid: str | None = None) -> None:
        """Remove the object."""
        self._check()
        old = self.objects.get(key)
        if old is not None and uid in {None, old["metadata"]["uid"]}:
            self.writes.append(("delete", key))
            del self.objects[key]

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        """Keep reason and message."""
        del about, warning
        self.events.append((reason, message))

    def _check(self) -> None:
        if self.unavailable:
            raise UnavailableError("the API server is away")

    @staticmethod
    def _precondition(old: Manifest | None, version: str | None) -> None:
        if version and (old is None or old["metadata"]["resourceVersion"] != version):
            raise ConflictError("the object changed meanwhile")


def _merge(old: Manifest, new: Manifest) -> Manifest:
    out: dict[str, Any] = copy.deepcopy(old)
    for key, value in new.items():
        if isinstance(value, dict):
            before = out.get(key)
            out[key] = _merge(before if isinstance(before, dict) else {}, value)
        elif value is None:
            out.pop(key, None)
        else:
            out[key] = copy.deepcopy(value)
    return out


@dataclass
class MemoryMetrics:
    """Answers by query text; unknown queries give nothing."""

    answers: dict[str, list[Sample]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failure: str = ""

    def query(self, promql: str) -> list[Sample]:
        """The prepared answer."""
        self.asked.append(promql)
        if self.failure:
            raise UnavailableError(self.failure)
        return self.answers.get(promql, [])


@dataclass
class ManualClock:
    """A clock that a test sets."""

    now_s: float = 1_000_000.0

    def now(self) -> float:
        """Seconds since 1970, as set."""
        return self.now_s


@dataclass
class MemoryTelemetry:
    """Keeps what was told."""

    ticks: list[dict[str, float]] = field(default_factory=list)
    decisions: list[tuple[str, str]] = field(default_factory=list)

    def tick(self, *, seconds: float, queries: int, writes: int, pipelines: int) -> None:
        """Keep a tick."""
        self.ticks.append(
            {"seconds": seconds, "queries": queries, "writes": writes, "pipelines": pipelines}
        )

    def decision(self, namespace: str, pipeline: str, action: str, reason: str) -> None:
        """Keep a decision."""
        del namespace, pipeline
        self.decisions.append((action, reason))
