"""What the watches have told: the newest known version of every object that matters."""

from __future__ import annotations

import threading
from collections.abc import Callable

from trimtab.ports import Key, Manifest, key_of

FETCHED_S = 30.0
"""Seconds for which an object that is not watched counts as it was read."""


class ObjectCache:
    """A thread-safe dict of objects that ignores older versions than it holds."""

    def __init__(self) -> None:
        self._objects: dict[Key, Manifest] = {}
        self._told: dict[Key, int] = {}
        self._refused: dict[Key, str] = {}
        self._fetched: dict[Key, tuple[float, Manifest]] = {}
        self._moment = 0
        self._lock = threading.Lock()

    def observe(self, manifest: Manifest, *, deleted: bool = False) -> None:
        """Take in an event or the answer of a write."""
        key = key_of(manifest)
        with self._lock:
            known = self._objects.get(key)
            if known is not None and _version(manifest) < _version(known):
                return
            self._moment += 1
            self._told[key] = self._moment
            if deleted:
                self._objects.pop(key, None)
                self._refused.pop(key, None)
            else:
                self._objects[key] = manifest

    def forget(self, key: Key) -> None:
        """Drop an object."""
        with self._lock:
            self._objects.pop(key, None)

    def fetched(
        self, key: Key, now_s: float, get: Callable[[Key], Manifest | None]
    ) -> Manifest | None:
        """A foreign object that no watch tells of: read at most every 30 s once it is there."""
        fresh = {k: old for k, old in self._fetched.items() if now_s - old[0] < FETCHED_S}
        if key not in fresh and (found := get(key)) is not None:
            fresh[key] = now_s, found
        self._fetched = fresh
        return fresh[key][1] if key in fresh else None

    def refuse(self, parent: Key, words: str) -> None:
        """Keep what the API server said against a parent's children; empty where all is well."""
        with self._lock:
            self._refused[parent] = words

    def refused(self, parent: Key) -> str | None:
        """What the API server said last against the children; None before any was written."""
        with self._lock:
            return self._refused.get(parent)

    def moment(self) -> int:
        """A mark in time: taken before a list is asked for, and handed to `resync` with it."""
        with self._lock:
            return self._moment

    def resync(self, kind: str, manifests: list[Manifest], since: int) -> None:
        """Take in a whole list of a kind that was asked for at `since`; what is not in it is gone.

        What was told of after `since` is newer than the list, and stays as it was told.
        """
        listed = {key_of(m): m for m in manifests}
        with self._lock:
            self._told = {key: told for key, told in self._told.items() if told > since}
            for key in [k for k in self._objects if k[0] == kind and k not in listed]:
                if key not in self._told:
                    del self._objects[key]
            for key, manifest in listed.items():
                if key not in self._told:
                    self._objects[key] = manifest

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """One object, or None."""
        with self._lock:
            return self._objects.get((kind, namespace, name))

    def all(self, kind: str, namespace: str | None = None) -> list[Manifest]:
        """Every object of a kind, sorted by namespace and name."""
        with self._lock:
            found = [
                (key, m)
                for key, m in self._objects.items()
                if key[0] == kind and namespace in {None, key[1]}
            ]
        return [m for _, m in sorted(found, key=lambda item: item[0])]


def _version(manifest: Manifest) -> int:
    """Resource versions of one kind are ordered numbers (Kubernetes >= 1.35 promises it)."""
    text = str(manifest["metadata"].get("resourceVersion", "0"))
    return int(text) if text.isdigit() else 0
