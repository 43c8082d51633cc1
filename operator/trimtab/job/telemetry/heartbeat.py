"""The heartbeat: a thread that shows every second that the driver is alive.

It does not use Spark, so it continues while a query hangs: idle or slow is not dead.
"""

from __future__ import annotations

import threading

from trimtab.job.clock import Clock, wall_s
from trimtab.job.telemetry.driver_state import DriverState

PERIOD_S = 1.0


def start(
    driver: DriverState, stopping: threading.Event, clock: Clock = wall_s
) -> threading.Thread:
    """Beat until `stopping` is set; `clock` gives seconds since 1970."""

    def beat() -> None:
        while True:
            driver.heartbeat = clock()
            if stopping.wait(PERIOD_S):
                return

    thread = threading.Thread(target=beat, name="trimtab-heartbeat", daemon=True)
    thread.start()
    return thread
