"""Writes of one tick: counted, and fed back into the cache at once.

What was read of a custom resource may be old: a list or an event came late, or was lost. Children
that are derived from an old spec would undo what has been done since. So the parent is read again
before the first write about it, unless its status, whose precondition is its version, was written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from trimtab.api.kinds import KINDS
from trimtab.errors import BadInputError, ConflictError, ExistsError
from trimtab.ports import Cluster, Key, Manifest, key_of
from trimtab.reconcile.apply.drift import meddled, signature
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.refusals import CHILD_REFUSED, WRITTEN, Refusal, taken

log = logging.getLogger(__name__)


class Writer:
    """Writes to the cluster; the object that a write returns replaces the cached one.

    All writes but Events raise ConflictError, and change nothing, if somebody has changed the
    parent since it was read.
    """

    def __init__(self, cluster: Cluster, cache: ObjectCache) -> None:
        self._cluster, self._cache = cluster, cache
        self._newest: set[Key] = set()
        self.count = 0

    def apply(self, child: Manifest, parent: Manifest) -> Refusal:
        """Create or update a child; leaves a conflict to the next tick.

        Returns why it could not: the API server refused it, or an object that is not ours has its
        name. That object stays as it is.
        """
        self._make_sure(parent)

        def write() -> Refusal:
            live = self._cache.get(*key_of(child)) or self._created(child)
            refusal = taken(live, parent) if live else WRITTEN
            if live and refusal == WRITTEN:
                self._update(child, live)
            return refusal

        return _tried(child, write)

    def patch(self, part: Manifest, parent: Manifest) -> Refusal:
        """Set some fields of an object that others made, as long as it has the uid of the part."""
        self._make_sure(parent)

        def write() -> Refusal:
            self.count += 1
            self._cache.observe(self._cluster.apply(part))
            return WRITTEN

        return _tried(part, write)

    def replace(self, manifest: Manifest, parent: Manifest) -> Refusal:
        """Store an object as it is given, as long as nobody has changed it since."""
        self._make_sure(parent)

        def write() -> Refusal:
            self.count += 1
            self._cache.observe(self._cluster.replace(manifest))
            return WRITTEN

        return _tried(manifest, write)

    def _created(self, child: Manifest) -> Manifest | None:
        """Create a child; returns the object that has its name already, if there is one."""
        self.count += 1
        try:
            self._cache.observe(self._cluster.create(child))
        except ExistsError:
            live = self._cluster.get(key_of(child))
            if live is None:
                raise  # gone meanwhile: the next tick creates the child
            return live
        return None

    def _update(self, child: Manifest, live: Manifest) -> None:
        """Update a child of ours, provided that it is still that one."""
        self.count += 1
        stored = self._cluster.apply(_exactly(child, live, "uid"))
        if meddled(child, stored) and "update" in KINDS[child["kind"]].verbs:
            self.count += 1
            stored = self._cluster.replace(_exactly(child, stored, "uid", "resourceVersion"))
        if meddled(child, stored):
            self._cache.tolerate(key_of(child), signature(stored))
        self._cache.observe(stored)

    def status(self, manifest: Manifest, status: Manifest) -> bool:
        """Write a status; False if the object has changed, so that the tick's result is void."""
        key = key_of(manifest)
        self.count += 1
        try:
            self._cache.observe(self._cluster.patch_status(manifest["kind"], manifest, status))
        except ConflictError as error:
            log.info("%s: %s", "/".join(key), error)
            if "get" in KINDS[manifest["kind"]].verbs:  # of other kinds the watch tells
                self._read_again(key)
            return False
        self._newest.add(key)
        return True

    def delete(self, key: Key, parent: Manifest, uid: str | None = None) -> None:
        """Delete an object."""
        self._make_sure(parent)
        self.count += 1
        try:
            self._cluster.delete(key, uid=uid)
        except BadInputError as error:
            log.warning("%s was not deleted: %s", "/".join(key), error)

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        """Record an Event."""
        self.count += 1
        self._cluster.event(about, warning=warning, reason=reason, message=message)

    def _make_sure(self, parent: Manifest) -> None:
        """Raise ConflictError if somebody has changed the parent since it was read."""
        key = key_of(parent)
        if key in self._newest:
            return
        live = self._read_again(key)
        if live is None or _version(live) != _version(parent):
            raise ConflictError("it has changed since it was read: the next tick acts on that")
        self._newest.add(key)

    def _read_again(self, key: Key) -> Manifest | None:
        """Have the cache hold what the API server has now, even if its version is lower."""
        since = self._cache.moment()
        live = self._cluster.get(key)
        self._cache.correct(key, live, since)
        return live


def _tried(manifest: Manifest, write: Callable[[], Refusal]) -> Refusal:
    """Write, or say why it could not be; a conflict is left to the next tick."""
    kind, _, name = key_of(manifest)
    try:
        return write()
    except ConflictError as error:
        log.info("%s: %s", "/".join(key_of(manifest)), error)
    except BadInputError as error:
        log.warning("%s: %s", "/".join(key_of(manifest)), error)
        return Refusal(CHILD_REFUSED, f"{kind} {name}: {error}")
    return WRITTEN


def _version(manifest: Manifest) -> str:
    return str(manifest["metadata"]["resourceVersion"])


def _exactly(child: Manifest, live: Manifest, *preconditions: str) -> Manifest:
    """The child on condition that the object is still the same."""
    known = {name: live["metadata"][name] for name in preconditions}
    return child | {"metadata": known | child["metadata"]}
