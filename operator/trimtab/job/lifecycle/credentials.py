"""Ends the driver at a batch boundary when a Secret that it mounts has changed.

Executors hold connections of before, and their nodes refresh a mounted Secret later than this one.
New pods mount it as it is; so the kubelet starts the driver again, and that its executors.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.kafka.secrets import fingerprints

log = logging.getLogger(__name__)

INTERVAL_S = 1.0


class CredentialsWatch:
    """Compares the mounted Secrets with those of the driver's start."""

    def __init__(self, keys: Sequence[SecretKey], stop: Callable[[], None]) -> None:
        """`stop` ends the driver at a batch boundary."""
        self._keys, self._stop = keys, stop
        self._known = fingerprints(keys)

    def look(self) -> bool:
        """Compare once; whether something has changed, and the driver ends."""
        found = fingerprints(self._keys)
        changed = sorted({key.secret for key in self._keys if found[key] != self._known[key]})
        if changed:
            names = ", ".join(changed)
            log.info("Secret %s has changed: the driver ends, to start with what it holds", names)
            self._stop()
        return bool(changed)

    def start(self, stopping: threading.Event) -> None:
        """Compare every second until something has changed, or `stopping` is set."""

        def run() -> None:
            while not stopping.wait(INTERVAL_S):
                if self.look():
                    return

        if self._keys:
            threading.Thread(target=run, name="trimtab-credentials", daemon=True).start()
