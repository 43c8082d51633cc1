"""What the watches have reported: the newest known version of every object that matters."""

from __future__ import annotations

import threading
from collections.abc import Callable

from trimtab.ports import Key, Manifest, Name, key_of
from trimtab.reconcile.observe.executor_pods import failed, pipeline_of
from trimtab.reconcile.observe.refusals import Refusal

FETCHED_S = 30.0
"""Seconds for which a cached object of a kind that is not watched counts as current."""
NEWS_S = 600.0
"""Seconds after which the same words about an object are news again."""


class ObjectCache:
    """A thread-safe dict of objects that ignores versions older than the one it holds."""

    def __init__(self) -> None:
        self._objects: dict[Key, Manifest] = {}
        self._told: dict[Key, int] = {}
        self._refused: dict[Key, Refusal] = {}
        self._tolerated: dict[Key, str] = {}
        self._said: dict[Key, tuple[float, str]] = {}
        self._fetched: dict[Key, tuple[float, Manifest]] = {}
        self._failed: dict[Name, Manifest] = {}
        self._moment = 0
        self._lock = threading.Lock()

    def observe(self, manifest: Manifest, *, deleted: bool = False) -> None:
        """Store the object of an event or of a write's response."""
        key = key_of(manifest)
        with self._lock:
            if key in self._fetched:
                self._fetched[key] = self._fetched[key][0], manifest
            known = self._objects.get(key)
            if known is not None and _version(manifest) < _version(known):
                return
            self._moment += 1
            self._told[key] = self._moment
            if (name := pipeline_of(manifest)) and failed(manifest):
                self._failed[name] = manifest
            if deleted:
                self._objects.pop(key, None)
                self._refused.pop(key, None)
                self._tolerated.pop(key, None)
            else:
                self._objects[key] = manifest

    def failed_executor(self, namespace: str, pipeline: str) -> Manifest | None:
        """The executor pod that failed last. Spark deletes it at once, so a list rarely has it."""
        with self._lock:
            return self._failed.get((namespace, pipeline))

    def forget(self, key: Key) -> None:
        """Drop an object."""
        with self._lock:
            self._objects.pop(key, None)

    def fetched(
        self, key: Key, now_s: float, get: Callable[[Key], Manifest | None]
    ) -> Manifest | None:
        """A foreign object that is not watched; reread at most every 30 s once it exists."""
        fresh = {k: old for k, old in self._fetched.items() if now_s - old[0] < FETCHED_S}
        if key not in fresh and (found := get(key)) is not None:
            fresh[key] = now_s, found
        self._fetched = fresh
        return fresh[key][1] if key in fresh else None

    def refuse(self, parent: Key, refusal: Refusal) -> None:
        """Keep why a parent's children could not be written; WRITTEN if they were."""
        with self._lock:
            self._refused[parent] = refusal

    def refused(self, parent: Key) -> Refusal | None:
        """Why the children could not be written last; None before any was."""
        with self._lock:
            return self._refused.get(parent)

    def tolerate(self, key: Key, signature: str) -> None:
        """Keep the state of a child that stayed as others set it although it was put back."""
        with self._lock:
            self._tolerated[key] = signature

    def tolerated(self, key: Key) -> str | None:
        """That state, if there is one."""
        with self._lock:
            return self._tolerated.get(key)

    def is_news(self, key: Key, words: str, now_s: float) -> bool:
        """Whether these words about an object were not said lately; from now on they were."""
        with self._lock:
            self._said = {k: old for k, old in self._said.items() if now_s - old[0] < NEWS_S}
            if key in self._said and self._said[key][1] == words:
                return False
            self._said[key] = now_s, words
            return True

    def moment(self) -> int:
        """A mark in time: take it before a request, and pass it to `resync` or `correct`."""
        with self._lock:
            return self._moment

    def resync(self, kind: str, manifests: list[Manifest], since: int) -> None:
        """Store a full list of a kind, requested at `since`; objects not in it were deleted.

        Objects reported after `since` are newer than the list and stay as they are.
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

    def correct(self, key: Key, live: Manifest | None, since: int) -> None:
        """Store what the API server said of one object, requested at `since`; None: it is gone.

        What was reported after `since` is newer and stays as it is.
        """
        with self._lock:
            if self._told.get(key, 0) > since:
                return
            if live is None:
                self._objects.pop(key, None)
            else:
                self._objects[key] = live

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """One object, or None."""
        with self._lock:
            return self._objects.get((kind, namespace, name))

    def all(self, kind: str, namespace: str | None = None) -> list[Manifest]:
        """All objects of a kind, sorted by namespace and name."""
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
