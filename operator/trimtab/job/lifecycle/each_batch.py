"""What happens at each batch, in the thread of Spark's query: before it is written, and after."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.job.batches.batches import Batches
from trimtab.job.batches.timing import Split
from trimtab.job.executors.executors import Executors
from trimtab.job.pending.pending_map import Stages
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.fence import Fence
from trimtab.job.query.protocols import Source
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.termination import JobFailureError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EachBatch:
    """Whom a batch concerns: the source, the fence, the executors, the books, the metrics."""

    driver: DriverState
    batches: Batches
    checkpoint: Checkpoint
    source: Source
    executors: Executors | None
    fence: Fence | None

    def begin(self, batch_id: int) -> bool:
        """A batch has passed the gate; returns whether to time it.

        Raises:
            JobFailureError: another driver has taken over the checkpoint.
        """
        if self.fence is not None:
            self.fence.require()
        executors = self.executors.batch_begins().staying if self.executors else None
        replays, records = self._planned(batch_id)
        if replays:
            log.info("batch %d runs again with its %s records, try %d", batch_id, records, replays)
        return self.batches.begin(batch_id, records, executors, replays)

    def _planned(self, batch_id: int) -> tuple[int, int | None]:
        """How often a batch was tried before, and its records; only reports need either."""
        replays, records = 0, None
        try:
            if self.batches.replays(batch_id):
                replays = 1  # at least
                replays = self.checkpoint.count_replay(batch_id)
            records = self.source.planned(self.checkpoint, batch_id)
        except (JobFailureError, OSError) as error:
            log.warning("batch %d: its size could not be read: %s", batch_id, error)
        return replays, records

    def written(self, split: Split | None, stages: Stages, sinks_s: Mapping[str, float]) -> None:
        """A batch is written; `split` is its time by phase if it was timed.

        `sinks_s` are the seconds that each of several sinks took.
        """
        self.batches.written(split)
        if self.executors is not None:
            self.executors.batch_ended()
        calls = stages.take()
        with self.driver.writing() as driver:
            driver.calls = calls
            driver.sinks_s = dict(sinks_s)
            driver.totals.add_calls(calls)

    def abandon(self) -> None:
        """No batch of this start is being written any longer."""
        self.batches.abandon()
        if self.executors is not None:
            self.executors.batch_ended()
