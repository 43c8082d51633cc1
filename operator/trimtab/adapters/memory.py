"""Ports in memory, for tests and simulated loops, with real semantics where they matter.

The cluster maintains resource versions and generations, refuses stale preconditions, records which
fields others than the operator have set, and every write so that tests can count them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab.adapters import fields
from trimtab.adapters.fields import Path
from trimtab.api.kinds import KINDS
from trimtab.errors import ConflictError, ExistsError, UnavailableError
from trimtab.ports import Key, Manifest, Name, Reading, Sample, key_of
from trimtab.workloads.common import MANAGED_BY


@dataclass
class MemoryCluster:
    """Objects by key, with optimistic concurrency."""

    objects: dict[Key, Manifest] = field(default_factory=dict)
    writes: list[tuple[str, Key]] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    unavailable: bool = False
    _version: int = 0
    _applied: dict[Key, Manifest] = field(default_factory=dict)
    """The last applied manifests by key: the fields that we own."""
    _others: dict[Key, set[Path]] = field(default_factory=dict)
    """The fields that others have set."""

    def put(self, manifest: Manifest) -> Manifest:
        """Store an object as a user or a controller would; returns the stored object."""
        key = key_of(manifest)
        before = self._others.get(key, set()) if key in self.objects else set()
        return self._store(manifest, before | fields.changed(self.objects.get(key, {}), manifest))

    def _store(self, manifest: Manifest, others: set[Path]) -> Manifest:
        self._version += 1
        stored, key = copy.deepcopy(manifest), key_of(manifest)
        meta = stored.setdefault("metadata", {})
        meta.setdefault("uid", f"uid-{self._version}")
        meta.setdefault("generation", 1)
        meta["resourceVersion"] = str(self._version)
        self._others[key] = {path for path in others if fields.at(stored, path) is not None}
        meta["managedFields"] = fields.managed(self._others[key])
        self.objects[key] = stored
        return copy.deepcopy(stored)

    def list_all(self, kind: str) -> list[Manifest]:
        """All objects of a kind; of foreign kinds only our own."""
        self._check()
        every = KINDS[kind].ours
        found = (o for key, o in self.objects.items() if key[0] == kind)
        return [copy.deepcopy(o) for o in found if every or _labelled(o)]

    def get(self, key: Key) -> Manifest | None:
        """One object, or None."""
        self._check()
        return copy.deepcopy(self.objects.get(key))

    def create(self, manifest: Manifest) -> Manifest:
        """The same as apply, if there is no object of that name."""
        self._check()
        if key_of(manifest) in self.objects:
            raise ExistsError("there is an object of this name")
        return self.apply(manifest)

    def apply(self, manifest: Manifest) -> Manifest:
        """Server-side apply: fields that were applied before and now are not are removed.

        Uid and resourceVersion are preconditions. An apply that changes nothing makes no new
        version.
        """
        self._check()
        key = key_of(manifest)
        old = self.objects.get(key)
        self._precondition(old, manifest)
        self.writes.append(("apply", key))
        kept = _without(old, self._applied.get(key, {}), manifest) if old else {}
        self._applied[key] = copy.deepcopy(manifest)
        merged = _merge(kept, manifest)
        if old:
            merged["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if old and merged == old:
            return copy.deepcopy(old)
        _count(old, merged)
        return self._store(merged, self._same(key, old or {}, merged))

    def replace(self, manifest: Manifest) -> Manifest:
        """Store the object with nothing but the manifest's fields, and its status."""
        self._check()
        key = key_of(manifest)
        old = self.objects.get(key)
        self._precondition(old, manifest)
        self.writes.append(("replace", key))
        assert old is not None
        kept = {k: old[k] for k in ("status",) if k in old}
        new = copy.deepcopy(kept | manifest)
        _count(old, new)
        return self._store(new, self._same(key, old, manifest))

    def _same(self, key: Key, old: Manifest, new: Manifest) -> set[Path]:
        """What others have set and stays as it is."""
        others = self._others.get(key, set())
        return {path for path in others if fields.at(old, path) == fields.at(new, path)}

    def patch_status(self, kind: str, manifest: Manifest, status: Manifest) -> Manifest:
        """Merge the status, provided that the object has not changed."""
        self._check()
        meta = manifest["metadata"]
        key = (kind, meta.get("namespace", ""), meta["name"])
        old = self.objects.get(key)
        if old is None:
            raise ConflictError("the object no longer exists")
        self._precondition(old, manifest)
        self.writes.append(("status", key))
        return self._store(_merge(old, {"status": status}), self._others.get(key, set()))

    def delete(self, key: Key, *, uid: str | None = None) -> None:
        """Remove the object."""
        self._check()
        old = self.objects.get(key)
        if old is not None and uid in {None, old["metadata"]["uid"]}:
            self.writes.append(("delete", key))
            del self.objects[key]
            self._applied.pop(key, None)
            self._others.pop(key, None)

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        """Keep reason and message."""
        del about, warning
        self.events.append((reason, message))

    def _check(self) -> None:
        if self.unavailable:
            raise UnavailableError("the API server does not answer")

    @staticmethod
    def _precondition(old: Manifest | None, new: Manifest) -> None:
        known = old["metadata"] if old else {}
        for name in ("uid", "resourceVersion"):
            if new["metadata"].get(name, known.get(name)) != known.get(name):
                raise ConflictError("the object has changed")


def _count(old: Manifest | None, new: Manifest) -> None:
    """A changed spec is the next generation."""
    if old:
        changed = old.get("spec") != new.get("spec")
        new["metadata"]["generation"] = old["metadata"]["generation"] + changed


def _labelled(manifest: Manifest) -> bool:
    return MANAGED_BY.items() <= (manifest["metadata"].get("labels") or {}).items()


def _without(live: Manifest, before: Manifest, now: Manifest) -> Manifest:
    """The object without the fields that were applied before and are not applied now."""
    out: dict[str, Any] = {}
    for key, value in live.items():
        if key in before and key not in now:
            continue
        nested = all(isinstance(node.get(key), dict) for node in (live, before, now))
        out[key] = _without(value, before[key], now[key]) if nested else value
    return out


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
    """Answers by query text; unknown queries return no series, non-finite values are omitted."""

    answers: dict[str, list[Sample]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failure: str = ""

    def query(self, promql: str) -> list[Sample]:
        """The prepared answer."""
        self.asked.append(promql)
        if self.failure:
            raise UnavailableError(self.failure)
        return [sample for sample in self.answers.get(promql, []) if math.isfinite(sample.value)]


@dataclass
class MemoryDrivers:
    """What each address answers; any other one refuses the connection."""

    answers: dict[str, list[Sample] | str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def read(self, addresses: Mapping[Name, str]) -> Mapping[Name, list[Sample] | str]:
        """The prepared answers."""
        self.asked += addresses.values()
        refused = "did not answer: connection refused"
        return {name: self.answers.get(ip, refused) for name, ip in addresses.items()}


@dataclass
class ManualClock:
    """A clock that a test sets."""

    now_s: float = 1_000_000.0

    def now(self) -> float:
        """Seconds since 1970, as set."""
        return self.now_s


@dataclass
class MemoryTelemetry:
    """Keeps what was reported."""

    ticks: list[dict[str, float]] = field(default_factory=list)
    decisions: list[tuple[str, str]] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    reads: list[tuple[int, int]] = field(default_factory=list)
    pipelines: dict[Name, Sequence[Reading]] = field(default_factory=dict)

    def pipeline(self, name: Name, readings: Sequence[Reading]) -> None:
        """Keep what is known."""
        self.pipelines[name] = readings

    def forget(self, known: Container[Name]) -> None:
        """Keep only these."""
        self.pipelines = {name: kept for name, kept in self.pipelines.items() if name in known}

    def tick(self, *, seconds: float, queries: int, writes: int, pipelines: int) -> None:
        """Keep a tick."""
        self.ticks.append(
            {"seconds": seconds, "queries": queries, "writes": writes, "pipelines": pipelines}
        )

    def decision(self, namespace: str, pipeline: str, action: str, reason: str) -> None:
        """Keep a decision."""
        del namespace, pipeline
        self.decisions.append((action, reason))

    def driver_reads(self, read: int, failed: int) -> None:
        """Keep both numbers."""
        self.reads.append((read, failed))

    def skipped(self, reason: str, series: int) -> None:
        """Keep the number."""
        self.unread[reason] = self.unread.get(reason, 0) + series
