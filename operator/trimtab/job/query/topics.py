"""Whether the topics of a source or a sink are there, as the driver's own failures."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.errors import UnavailableError
from trimtab.job.termination import JobFailureError, Reason
from trimtab.kafka.admin import KafkaAdmin

START_TIMEOUT_S = 15.0
"""Of one question before a start: a Kafka that comes up may take its time."""


def partitions_of(kafka: KafkaAdmin, topics: Sequence[str]) -> dict[str, int]:
    """Partition counts of those topics that exist; raises JobFailureError (healing) unanswered."""
    try:
        return kafka.partitions(topics)
    except UnavailableError as error:
        raise JobFailureError(Reason.KAFKA_UNREACHABLE, str(error), heals=True) from error


def require_topics(kafka: KafkaAdmin, topics: Sequence[str], role: str) -> None:
    """Raises JobFailureError when a topic does not exist, or (healing) without an answer."""
    missing = sorted(set(topics) - set(partitions_of(kafka, topics)))
    if missing:
        raise JobFailureError(
            Reason.TOPIC_NOT_FOUND,
            f"Kafka has no topic {', '.join(missing)} ({role}): create it, or mend the name",
        )
