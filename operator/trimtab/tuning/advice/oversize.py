"""Batches that were planned larger than the limit now allows, and run again as planned.

Spark logs a batch's offsets before it runs. One that did not end runs again with those, whatever
the limit is by then: it says nothing of the settings in force, and no limit makes it smaller.
"""

from __future__ import annotations

from trimtab.api.v1alpha1.status import OversizeStatus
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals

MARGIN = 1.1
"""A batch is larger than its limit from this factor on: Spark rounds up for each partition."""

OFTEN = 2
"""A batch that begins again so often is what ends the driver."""


CURE = "more memory (limits.memory, limits.driverMemory) or more executors do"


def running(signals: Signals, settings: Settings) -> OversizeStatus | None:
    """The batch under way, if it is such a one."""
    records, limit = signals.running_records, settings.max_offsets
    if not signals.running_replays or records <= MARGIN * limit:
        return None
    return OversizeStatus(
        batch=signals.running_id or 0,
        records=records,
        limit=limit,
        replays=signals.running_replays,
    )


def ended(batch: Batch, settings: Settings) -> bool:
    """Whether the last batch was one: it tells nothing, until another has ended."""
    return batch.replayed and batch.records > MARGIN * settings.max_offsets


OUT_OF_MEMORY = {"DriverOutOfMemory": "driver", "ExecutorOutOfMemory": "executor"}
"""Whose memory ran out, by the reason of the driver's end."""


def standing(
    old: OversizeStatus | None, signals: Signals | None, settings: Settings
) -> OversizeStatus | None:
    """What stands: a driver that is down says nothing, so that it is the same as before."""
    return old if signals is None else running(signals, settings)


def message(told: OversizeStatus) -> str:
    """What is so, and what can be done about it."""
    said = (
        f"batch {told.batch} was planned with {told.records:,} records before the limit came"
        f" down to {told.limit:,}; it runs as planned, no limit changes it"
    )
    if told.replays < OFTEN:
        return f"{said}: wait until it has ended"
    return f"{said}. It has begun again {told.replays} times: {CURE}"


def is_news(old: OversizeStatus | None, new: OversizeStatus | None) -> bool:
    """Whether to tell it by an Event: a new one, or one that has become what ends the driver."""
    if new is None:
        return False
    often = new.replays >= OFTEN
    return old is None or old.batch != new.batch or (often and old.replays < OFTEN)


def failure(died: tuple[str, str] | None, told: OversizeStatus | None) -> tuple[str, str] | None:
    """Why the driver is down; where memory ran out in such a batch, that a limit is no cure."""
    if died is None or told is None or died[0] not in OUT_OF_MEMORY:
        return died
    return died[0], f"{died[1]}; {message(told)}"
