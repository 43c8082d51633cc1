"""Tells the operator in words what holds the driver up: a failure, or executors that are refused.

A driver that exits leaves a termination log. One that waits for a cause to heal annotates its own
pod, which the operator watches. This works without Prometheus.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from trimtab.api.contract import DRIVER_STATE_ANNOTATION, EXECUTORS_ANNOTATION
from trimtab.errors import UnavailableError
from trimtab.job.telemetry.driver_state import DriverState

log = logging.getLogger(__name__)

INTERVAL_S = 0.5


def message(not_ready: str | None) -> str:
    """`Reason: message` while a failure is being waited out; empty otherwise."""
    return not_ready if not_ready and ": " in not_ready else ""


def messages(driver: DriverState) -> dict[str, str]:
    """The text of each annotation; empty if there is nothing to tell."""
    return {
        DRIVER_STATE_ANNOTATION: message(driver.not_ready),
        EXECUTORS_ANNOTATION: driver.executors_refused,
    }


def start(
    driver: DriverState, write: Callable[[str, str], None], stopping: threading.Event
) -> threading.Thread:
    """Annotate the pod whenever a message changes, until `stopping` is set.

    If `write(key, text)` raises UnavailableError, it is tried again.
    """

    def run() -> None:
        told: Mapping[str, str] = {}
        while not stopping.wait(INTERVAL_S):
            told = _update(told, messages(driver), write)

    thread = threading.Thread(target=run, name="trimtab-announce", daemon=True)
    thread.start()
    return thread


def _update(
    told: Mapping[str, str], now: Mapping[str, str], write: Callable[[str, str], None]
) -> dict[str, str]:
    """Write what has changed; returns what the annotations say then."""
    said = dict(told)
    for key, text in now.items():
        if text == said.get(key, ""):
            continue
        try:
            write(key, text)
            said[key] = text
        except UnavailableError as error:
            log.debug("the annotation %s was not written: %s", key, error)
    return said
