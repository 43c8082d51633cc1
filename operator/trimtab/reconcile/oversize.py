"""A batch planned larger than the limit: kept in the status while it runs, and while it ends the
driver again and again. Pure.
"""

from __future__ import annotations

from trimtab.api.status import OversizeStatus
from trimtab.tuning.advice import oversize
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

OUT_OF_MEMORY = {"DriverOutOfMemory": "driver", "ExecutorOutOfMemory": "executor"}
"""Whose memory ran out, by the reason of the driver's end."""


def status(
    old: OversizeStatus | None, signals: Signals | None, settings: Settings
) -> OversizeStatus | None:
    """What stands: a driver that is down says nothing, so that it is the same as before."""
    if signals is None:
        return old
    found = oversize.running(signals, settings)
    if found is None:
        return None
    return OversizeStatus(
        batch=found.batch, records=found.records, limit=found.limit, replays=found.replays
    )


def words(told: OversizeStatus) -> str:
    """The same as the decision says it."""
    return oversize.Oversize(told.batch, told.records, told.limit, told.replays).words


def is_news(old: OversizeStatus | None, new: OversizeStatus | None) -> bool:
    """Whether to tell it by an Event: a new one, or one that has become what ends the driver."""
    if new is None:
        return False
    often = new.replays >= oversize.OFTEN
    return old is None or old.batch != new.batch or (often and old.replays < oversize.OFTEN)


def failure(died: tuple[str, str] | None, told: OversizeStatus | None) -> tuple[str, str] | None:
    """Why the driver is down; where memory ran out in such a batch, that a limit is no cure."""
    if died is None or told is None or died[0] not in OUT_OF_MEMORY:
        return died
    return died[0], f"{died[1]}; {words(told)}"
