"""Follows what is read from Kafka, beside the query: its lag, and groups that show it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from trimtab.api.contract import Job
from trimtab.api.topics import qualified
from trimtab.job.batches.batches import Batches
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.offset_log import Offsets
from trimtab.job.query.sources.several import offsets_of
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.telemetry.group import GroupCommits
from trimtab.job.telemetry.lag import LagPoller
from trimtab.kafka.admin import KafkaAdmin
from trimtab.kafka.several import SeveralKafkas

PROBE_TIMEOUT_S = 4.0
"""Limit of one lag poll: a later answer would be out of date."""


def start(
    job: Job,
    driver: DriverState,
    batches: Batches,
    checkpoint: Checkpoint,
    stopping: threading.Event,
) -> None:
    """Poll the lag, and let the batches know how long their records waited."""
    if not (sources := job.kafka_sources):
        return
    admins = {name: KafkaAdmin(each.connection, PROBE_TIMEOUT_S) for name, each in sources.items()}

    def committed() -> Offsets | None:
        return batches.committed or checkpoint.committed_offsets()

    topics = [qualified(name, topic) for name, each in sources.items() for topic in each.topics]
    kafka = admins[""] if "" in admins else SeveralKafkas(admins)
    poller = LagPoller(driver, kafka, topics, committed)
    batches.waits = poller.waits
    poller.start(stopping)
    for name, each in sources.items():
        if group := each.commit_group:
            own = partial(_of_source, committed, name)
            GroupCommits(partial(admins[name].commit_group, group), own).start(stopping)


def _of_source(committed: Callable[[], Offsets | None], name: str) -> Offsets | None:
    """Where the committed batches end in one of the sources."""
    known = committed()
    return None if known is None else offsets_of(known, name)
