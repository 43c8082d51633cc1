"""Writes of one tick: counted, and fed back into the cache at once."""

from __future__ import annotations

import logging

from trimtab.errors import BadInputError, ConflictError
from trimtab.ports import Cluster, Key, Manifest, key_of
from trimtab.reconcile.observe.cache import ObjectCache

log = logging.getLogger(__name__)


class Writer:
    """Writes to the cluster; the object that a write returns replaces the cached one."""

    def __init__(self, cluster: Cluster, cache: ObjectCache) -> None:
        self._cluster, self._cache = cluster, cache
        self.count = 0

    def apply(self, manifest: Manifest) -> str:
        """Apply a child; leaves a conflict to the next tick. Returns the reason if refused."""
        self.count += 1
        kind, _, name = key_of(manifest)
        try:
            self._cache.observe(self._cluster.apply(manifest))
        except ConflictError as error:
            log.info("%s: %s", "/".join(key_of(manifest)), error)
        except BadInputError as error:
            log.warning("%s: %s", "/".join(key_of(manifest)), error)
            return f"{kind} {name}: {error}"
        return ""

    def status(self, manifest: Manifest, status: Manifest) -> bool:
        """Write a status; False if the object has changed, so that the tick's result is void."""
        self.count += 1
        try:
            self._cache.observe(self._cluster.patch_status(manifest["kind"], manifest, status))
        except ConflictError as error:
            log.info("%s: %s", "/".join(key_of(manifest)), error)
            return False
        return True

    def delete(self, key: Key, uid: str | None = None) -> None:
        """Delete an object."""
        self.count += 1
        try:
            self._cluster.delete(key, uid=uid)
        except BadInputError as error:
            log.warning("%s was not deleted: %s", "/".join(key), error)

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        """Record an Event."""
        self.count += 1
        self._cluster.event(about, warning=warning, reason=reason, message=message)
