"""What sources have in common that need nothing of Kafka: the defaults of a `Source`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.termination import Cause, JobFailureError
from trimtab.kafka.admin import KafkaIdentity


class PlainSource:
    """A source without topics and knobs, whose rows can all be read."""

    knobs: Collection[str] = ()
    phases: Collection[str] = ("latest_offset",)
    session_conf: Mapping[str, str] = {}

    @property
    def topics(self) -> list[str]:
        """None."""
        return []

    def require(self) -> None:
        """Nothing can be missing."""

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """None: no failure is its own."""
        del causes
        return None

    def identity(self) -> KafkaIdentity | None:
        """None: its offsets belong to the checkpoint alone."""
        return None

    def planned(self, checkpoint: Checkpoint, batch_id: int) -> int | None:
        """Not known."""
        del checkpoint, batch_id
        return None

    def fitted(
        self, knobs: Mapping[str, float], record_bytes: float | None, partitions: int
    ) -> dict[str, float]:
        """Nothing: it has no knobs."""
        del knobs, record_bytes, partitions
        return {}
