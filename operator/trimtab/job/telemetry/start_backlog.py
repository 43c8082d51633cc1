"""What was in the topics when the driver started: a run ends once all of it is committed."""

from __future__ import annotations

from trimtab.job.query.offset_log import Offsets


class StartBacklog:
    """Remembers where the partitions ended at first."""

    def __init__(self) -> None:
        self._ends: Offsets | None = None

    def left(self, ends: Offsets, committed: Offsets | None) -> int | None:
        """Records of then that are not committed yet; None while the query has no position."""
        if self._ends is None:
            self._ends = dict(ends)
        if committed is None:
            return None if any(self._ends.values()) else 0
        return sum(max(0, end - committed.get(key, 0)) for key, end in self._ends.items())
