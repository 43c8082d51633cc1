"""Checks that the topics of a source or a sink exist, and fails as the driver does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from trimtab.api.topics import is_pattern, matching
from trimtab.errors import (
    CredentialsInvalidError,
    CredentialsMissingError,
    DeniedError,
    UnavailableError,
)
from trimtab.job.termination import JobFailureError, Reason
from trimtab.kafka.admin import KafkaAdmin, KafkaIdentity
from trimtab.kafka.several import SeveralKafkas

START_TIMEOUT_S = 15.0
"""Limit of one request before a start: a Kafka that is coming up may take its time."""

_REASONS: Mapping[type[UnavailableError], Reason] = {
    DeniedError: Reason.KAFKA_DENIED,
    CredentialsMissingError: Reason.CREDENTIALS_MISSING,
    CredentialsInvalidError: Reason.CREDENTIALS_INVALID,
}


@contextmanager
def answered() -> Iterator[None]:
    """Raise a healing JobFailureError if Kafka does not answer, or refuses."""
    try:
        yield
    except UnavailableError as error:
        reason = _REASONS.get(type(error), Reason.KAFKA_UNREACHABLE)
        raise JobFailureError(reason, str(error), heals=True) from error


def partitions_of(kafka: KafkaAdmin, topics: Sequence[str]) -> dict[str, int]:
    """Partition counts of the topics that exist; raises a healing JobFailureError if unanswered."""
    with answered():
        return kafka.partitions(topics)


def identity_of(kafka: KafkaAdmin | SeveralKafkas, topics: Sequence[str]) -> KafkaIdentity:
    """The ids of the cluster and of topics; raises a healing JobFailureError if unanswered."""
    with answered():
        return kafka.identity(topics)


def require_topics(kafka: KafkaAdmin, topics: Sequence[str], role: str) -> dict[str, int]:
    """The partition counts of topics, none of which is missing.

    Raises:
        JobFailureError: one is missing; a healing one without an answer.
    """
    found = partitions_of(kafka, topics)
    missing = sorted(each for each in topics if not matching([each], found))
    if any(map(is_pattern, missing)):
        words = f"Kafka has no topic that matches {missing[0]} ({role}): create one, or correct it"
        raise JobFailureError(Reason.TOPIC_NOT_FOUND, words)
    if missing:
        raise JobFailureError(
            Reason.TOPIC_NOT_FOUND,
            f"Kafka has no topic {', '.join(missing)} ({role}): create it or correct the name",
        )
    return found
