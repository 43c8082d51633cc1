"""Tell the operator why the query does not run, while the driver still tries to start it.

A driver that ends says so in its termination log. One that waits for something to heal has only
its pod to write on: an annotation, which the operator watches. It needs no Prometheus.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from trimtab.api.contract import DRIVER_STATE_ANNOTATION
from trimtab.errors import UnavailableError
from trimtab.job.telemetry.driver_state import DriverState

log = logging.getLogger(__name__)

INTERVAL_S = 0.5


def words(not_ready: str | None) -> str:
    """`Reason: message` of a trouble; empty when the query runs, starts or stops."""
    return not_ready if not_ready and ": " in not_ready else ""


def start(
    driver: DriverState, write: Callable[[str, str], None], stopping: threading.Event
) -> threading.Thread:
    """Write the words on the pod whenever they change, until `stopping` is set.

    `write(key, text)` may raise UnavailableError: then it is tried again.
    """

    def run() -> None:
        told = ""
        while not stopping.wait(INTERVAL_S):
            now = words(driver.not_ready)
            if now == told:
                continue
            try:
                write(DRIVER_STATE_ANNOTATION, now)
                told = now
            except UnavailableError as error:
                log.debug("the pod's annotation was not written: %s", error)

    thread = threading.Thread(target=run, name="trimtab-announce", daemon=True)
    thread.start()
    return thread
