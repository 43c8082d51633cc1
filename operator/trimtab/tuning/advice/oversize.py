"""Batches that were planned larger than the limit now allows, and run again as planned.

Spark logs a batch's offsets before it runs. One that did not end runs again with those, whatever
the limit is by then: it says nothing of the settings in force, and no limit makes it smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals

MARGIN = 1.1
"""A batch is larger than its limit from this factor on: Spark rounds up for each partition."""

OFTEN = 2
"""A batch that begins again so often is what ends the driver."""


@dataclass(frozen=True, slots=True)
class Oversize:
    """A batch that runs again with more records than the limit lets into a new one."""

    batch: int
    records: int
    limit: int
    replays: int

    @property
    def words(self) -> str:
        """What is so, and what can be done about it."""
        said = (
            f"batch {self.batch} was planned with {self.records:,} records before the limit came"
            f" down to {self.limit:,}; it runs as planned, no limit changes it"
        )
        if self.replays < OFTEN:
            return f"{said}: wait until it has ended"
        return f"{said}. It has begun again {self.replays} times: {CURE}"


CURE = "more memory (limits.memory, limits.driverMemory) or more executors do"


def running(signals: Signals, settings: Settings) -> Oversize | None:
    """The batch under way, if it is such a one."""
    records, limit = signals.running_records, settings.max_offsets
    if not signals.running_replays or records <= MARGIN * limit:
        return None
    return Oversize(signals.running_id or 0, records, limit, signals.running_replays)


def ended(batch: Batch, settings: Settings) -> bool:
    """Whether the last batch was one: it tells nothing, until another has ended."""
    return batch.replayed and batch.records > MARGIN * settings.max_offsets
