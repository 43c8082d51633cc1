"""Batches that were planned larger than the limit now allows, and run again as planned.

Spark logs a batch's offsets before it runs. An unfinished batch runs again with those offsets,
whatever the limit is by then: it says nothing about the current settings, and no limit shrinks it.
"""

from __future__ import annotations

from trimtab.api.v1alpha1.status import OversizeStatus
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals

MARGIN = 1.1
"""A batch counts as larger than its limit from this factor: Spark rounds up per partition."""

OFTEN = 2
"""A batch that restarts this often is what ends the driver."""


CURE = "more memory (limits.memory, limits.driverMemory) or more executors help"


def running(signals: Signals, settings: Settings) -> OversizeStatus | None:
    """The batch under way, if it is oversize."""
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
    """Whether the last batch was oversize: it is ignored until another one ends."""
    return batch.replayed and batch.records > MARGIN * settings.max_offsets


OUT_OF_MEMORY = {"DriverOutOfMemory": "driver", "ExecutorOutOfMemory": "executor"}
"""The role that ran out of memory, by the reason why the driver ended."""


def standing(
    old: OversizeStatus | None, signals: Signals | None, settings: Settings
) -> OversizeStatus | None:
    """The current status; unchanged while the driver is down and reports nothing."""
    return old if signals is None else running(signals, settings)


def message(told: OversizeStatus) -> str:
    """What happened, and what can be done about it."""
    said = (
        f"batch {told.batch} was planned with {told.records:,} records before the limit was"
        f" lowered to {told.limit:,}; it runs as planned, no limit changes it"
    )
    if told.replays < OFTEN:
        return f"{said}: wait until it has ended"
    return f"{said}. It has restarted {told.replays} times: {CURE}"


def is_news(old: OversizeStatus | None, new: OversizeStatus | None) -> bool:
    """Whether to emit an Event: the batch is new, or restarts often enough to end the driver."""
    if new is None:
        return False
    often = new.replays >= OFTEN
    return old is None or old.batch != new.batch or (often and old.replays < OFTEN)


def failure(died: tuple[str, str] | None, told: OversizeStatus | None) -> tuple[str, str] | None:
    """Why the driver is down; if memory ran out in an oversize batch, also what would help."""
    if died is None or told is None or died[0] not in OUT_OF_MEMORY:
        return died
    return died[0], f"{died[1]}; {message(told)}"
