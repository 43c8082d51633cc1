"""Tells the operator why the query is not running while the driver keeps trying to start it.

A driver that exits leaves a termination log. One that waits for a cause to heal annotates its own
pod, which the operator watches. This works without Prometheus.
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


def message(not_ready: str | None) -> str:
    """`Reason: message` while a failure is being waited out; empty otherwise."""
    return not_ready if not_ready and ": " in not_ready else ""


def start(
    driver: DriverState, write: Callable[[str, str], None], stopping: threading.Event
) -> threading.Thread:
    """Annotate the pod whenever the message changes, until `stopping` is set.

    If `write(key, text)` raises UnavailableError, it is tried again.
    """

    def run() -> None:
        told = ""
        while not stopping.wait(INTERVAL_S):
            now = message(driver.not_ready)
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
