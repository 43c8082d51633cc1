"""Compares what committed batches have handed on with what has arrived, as the sink counts it.

A batch commits when its tasks have succeeded, and a task succeeds when its producer has flushed
without an error. The sink's own count does not depend on either.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from trimtab.errors import UnavailableError
from trimtab.job.telemetry.driver_state import DriverState

log = logging.getLogger(__name__)

INTERVAL_S = 5.0
"""One scrape."""


class ArrivalWatch:
    """Keeps the totals of arrivals up to date, in its own thread."""

    def __init__(self, driver: DriverState, arrived: Callable[[], int | None]) -> None:
        """`arrived` is the count of the sink; see `Sink.arrived`."""
        self._driver = driver
        self._arrived = arrived

    def check(self) -> None:
        """Compare once; without an answer the last comparison stands."""
        totals = self._driver.totals
        handed_on = totals.ledger["sink"]  # first: whatever is committed later may only add
        try:
            arrived = self._arrived()
        except UnavailableError as error:
            log.warning("what has arrived at the sink is unknown: %s", error)
            return
        with self._driver.writing():
            totals.arrived = arrived
            totals.missing = None if arrived is None else max(0, handed_on - arrived)

    def start(self, stopping: threading.Event) -> threading.Thread:
        """Compare every few seconds until `stopping` is set."""

        def run() -> None:
            while not stopping.wait(INTERVAL_S):
                self.check()

        thread = threading.Thread(target=run, name="trimtab-arrivals", daemon=True)
        thread.start()
        return thread
