"""The driver's reflex: when to ask for more executors without waiting for the operator.

What it may ask for is in the operator's table, and how it decides in `tuning/reflex.py`; here it
gets the polls of the lag, each once.
"""

from __future__ import annotations

import logging
import threading

from trimtab.api.contract import Reflex
from trimtab.errors import ContractError
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.tuning.reflex import Watch

log = logging.getLogger(__name__)


class DriverReflex:
    """Looks at the polls that the driver exports; `offer` may come from another thread."""

    def __init__(self, driver: DriverState, pipeline_uid: str) -> None:
        self._driver, self._uid = driver, pipeline_uid
        self._lock = threading.Lock()
        self._table: Reflex | None = None
        self._text = ""
        self._watch = Watch()
        self._polled_s: float | None = None

    def offer(self, text: str) -> None:
        """Take a table as it was found, empty if there is none; one that is odd counts as none."""
        if text == self._text:
            return
        table = None
        try:
            table = Reflex.from_json(text) if text else None
        except ContractError as error:
            log.warning("%s", error)
        if table and table.pipeline_uid != self._uid:
            log.warning("reflex document refused: it belongs to pipeline %r", table.pipeline_uid)
            table = None
        with self._lock:
            self._table, self._text = table, text

    def look(self, generation: int, executors: int) -> int | None:
        """Executors to ask for now, while these settings are in force; None for no change."""
        with self._driver.writing() as driver:
            lag, polled_s, refused = driver.lag, driver.polled_s, driver.executors_refused
        if not lag or polled_s is None or any(each.records is None for each in lag.values()):
            self._watch.forget()
            return None
        if polled_s == self._polled_s:
            return None
        self._polled_s = polled_s
        with self._lock:
            table = self._table
        usable = table if table and table.generation == generation and not refused else None
        total = sum(each.end for each in lag.values())
        waiting = sum(each.records or 0 for each in lag.values())
        return self._watch.look(usable, executors, polled_s, total, waiting)
