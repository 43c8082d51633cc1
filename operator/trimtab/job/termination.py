"""Why the driver exits: a reason for machines, a message for people, an exit code.

Kubernetes copies the termination log into the pod's status. The operator copies reason and message
from there into the pipeline's condition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import NamedTuple

from trimtab.api.contract import FORM
from trimtab.errors import ContractError, TransformError, TrimtabError

MAX_MESSAGE = 1500
"""Characters; Kubernetes truncates the whole log at 4096 bytes."""


class Reason(StrEnum):
    """What stopped the pipeline, as a condition's reason."""

    TOPIC_NOT_FOUND = "TopicNotFound"
    MODULE_NOT_FOUND = "ModuleNotFound"
    PACKAGES_NOT_INSTALLED = "PackagesNotInstalled"
    TRANSFORM_FAILED = "TransformFailed"
    KAFKA_UNREACHABLE = "KafkaUnreachable"
    KAFKA_DENIED = "KafkaDenied"
    SOURCE_NOT_FOUND = "SourceNotFound"
    SINK_UNREACHABLE = "SinkUnreachable"
    SINK_DENIED = "SinkDenied"
    SINK_NOT_FOUND = "SinkNotFound"
    SINK_FAILED = "SinkFailed"
    TABLE_UNREACHABLE = "TableUnreachable"
    TABLE_DENIED = "TableDenied"
    FORMAT_INVALID = "FormatInvalid"
    RECORD_UNDECODABLE = "RecordUndecodable"
    SCHEMA_UNKNOWN = "SchemaUnknown"
    SCHEMA_REGISTRY_UNREACHABLE = "SchemaRegistryUnreachable"
    RECORD_TOO_LARGE = "RecordTooLarge"
    TOO_MANY_DEAD_LETTERS = "TooManyDeadLetters"
    CREDENTIALS_MISSING = "CredentialsMissing"
    CREDENTIALS_INVALID = "CredentialsInvalid"
    VOLUME_MISSING = "VolumeMissing"
    DATA_LOST = "DataLost"
    CHECKPOINT_UNREACHABLE = "CheckpointUnreachable"
    LISTENER_FAILED = "ListenerFailed"
    EVENT_LOG_UNREACHABLE = "EventLogUnreachable"
    CHECKPOINT_INCOMPATIBLE = "CheckpointIncompatible"
    CHECKPOINT_IN_USE = "CheckpointInUse"
    STATE_NEEDS_SHARED_CHECKPOINT = "StateNeedsSharedCheckpoint"
    SETTINGS_INVALID = "SettingsInvalid"
    DRIVER_OUT_OF_MEMORY = "DriverOutOfMemory"
    EXECUTOR_OUT_OF_MEMORY = "ExecutorOutOfMemory"
    QUERY_FAILED = "QueryFailed"
    DRAIN_TIMEOUT = "DrainTimeout"


class ExitCode(IntEnum):
    """The process' exit code."""

    CLEAN = 0
    FAILED = 1
    UNCLEAN = 3


JVM_OUT_OF_MEMORY = 3
"""Exit code of a JVM that ends itself at the first OutOfMemoryError."""


class Cause(NamedTuple):
    """One exception of a Java chain: its class and its message."""

    kind: str
    message: str


class JobFailureError(TrimtabError):
    """The pipeline cannot continue; `heals` means that the cause may disappear by itself."""

    def __init__(self, reason: Reason, message: str, *, heals: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.heals = heals


class ModuleMissingError(TransformError):
    """The module or function that the transform names does not exist."""


_KAFKA_AWAY = re.compile(
    r"kafka\.common\.errors\.(Timeout|Network|Disconnect|BrokerNotAvailable|LeaderNotAvailable"
    r"|NotLeaderOrFollower|NotEnoughReplicas\w*|UnknownTopicOrPartition)Exception"
    r"|No resolvable bootstrap urls|Timed out waiting for a node assignment"
    r"|Failed to (create new KafkaAdminClient|construct kafka (consumer|producer))"
    r"|not present in metadata after"
)
_KAFKA_DENIED = re.compile(
    r"kafka\.common\.errors\.(?P<what>\w*(Authentication|Authorization|SaslMechanism))Exception"
    r"(: (?P<words>[^\n]+))?"
)
_ALLOW = {
    "SaslAuthentication": "correct authentication, or what its Secret holds",
    "SslAuthentication": "correct tls.trustedCertificates, or authentication.certificateAndKey",
    "UnsupportedSaslMechanism": "choose an authentication.type that the listener has",
    "TopicAuthorization": "grant Read for a source, Write for a sink",
    "GroupAuthorization": "grant Read on groups that begin with spark-kafka-source",
    # who may write to no topic may not even begin to
    "ClusterAuthorization": (
        "grant Write on the sink's topic, and IdempotentWrite on a cluster that is older than 2.8"
    ),
}
"""What to do about each kind of refusal."""
_DATA_LOST = re.compile(r"KAFKA_DATA_LOSS|kafka\S*OffsetOutOfRange|[Ss]ome data may have been lost")
_TOO_LARGE = re.compile(r"kafka\.common\.errors\.RecordTooLargeException: (?P<words>[^\n]+)")
_SMALLER = (
    "Make such rows smaller or leave them out in the transform, or raise max.request.size in"
    " sink.kafka.options and max.message.bytes of the topic; with deadLetters, those above"
    " max.request.size (1 MiB) go there"
)
_INCOMPATIBLE = re.compile(
    r"STATE_STORE_\w*(SCHEMA|FORMAT|PROVIDER)\w*|STATEFUL_OPERATOR_(NOT_MATCH|MISSING)\w*"
    r"|StateSchemaNotCompatible|checkpoint offsets and now there are"
    r"|CANNOT_LOAD_STATE_STORE|NUM(BER)?_OF_SOURCES"
)
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|OOMKilled|\bOOM\b|exit(ed with)? code:? (52|137)\b|Exit status: (52|137)\b"
)
"""Exit code 52 is an executor with a full heap, 137 a pod at its memory limit."""
_ON_EXECUTOR = re.compile(r"ExecutorLostFailure|Lost task|executor (?!driver\b)\w+\)")
_FRAME = re.compile(r"at [\w.$/@]+\(.*\)$")
_PYTHON = "PythonException"
_PYTHON_ERROR = re.compile(r"^(?P<error>[A-Za-z_][\w.]*(Error|Exception|Exit|Warning)\b.*)$", re.M)


def classify(causes: Sequence[Cause]) -> JobFailureError:
    """What a query's exception chain (outermost first) means for the pipeline."""
    text = "\n".join(f"{cause.kind}: {cause.message}" for cause in causes)
    root = _root_message(causes)
    if (refusal := _KAFKA_DENIED.search(text)) is not None:
        words = _denied(refusal["what"], refusal["words"] or root)
        return JobFailureError(Reason.KAFKA_DENIED, words, heals=True)
    if _INCOMPATIBLE.search(text):
        words = "the query does not fit its checkpoint; bump checkpoint.generation for a new one: "
        return JobFailureError(Reason.CHECKPOINT_INCOMPATIBLE, words + root)
    if _OUT_OF_MEMORY.search(text):
        return _out_of_memory(text, root)
    if (refused := _TOO_LARGE.search(text)) is not None:
        words = f"Kafka does not take a record of the result: {refused['words'].rstrip('. ')}."
        return JobFailureError(Reason.RECORD_TOO_LARGE, _cut(f"{words} {_SMALLER}"))
    if _DATA_LOST.search(text):
        words = "records that were not yet read are gone from Kafka (retention or a new topic): "
        return JobFailureError(Reason.DATA_LOST, words + root)
    if _PYTHON in text:
        errors = [m["error"] for m in _PYTHON_ERROR.finditer(text) if _PYTHON not in m["error"]]
        what = errors[-1] if errors else root
        return JobFailureError(Reason.TRANSFORM_FAILED, _cut(f"the transform raised {what}"))
    if _KAFKA_AWAY.search(text):
        return JobFailureError(
            Reason.KAFKA_UNREACHABLE, f"Kafka does not answer: {root}", heals=True
        )
    return JobFailureError(Reason.QUERY_FAILED, root)


def _denied(what: str, words: str) -> str:
    allow = _ALLOW.get(what)
    ending = f". To end this, {allow}" if allow else ""
    return _cut(f"Kafka refused access: {words.rstrip('. ')}{ending}")


def _out_of_memory(text: str, root: str) -> JobFailureError:
    if _ON_EXECUTOR.search(text):
        words = f"an executor ran out of memory: raise resources.executor.memory; {root}"
        return JobFailureError(Reason.EXECUTOR_OUT_OF_MEMORY, _cut(words))
    words = f"the driver ran out of memory: raise resources.driver.memory; {root}"
    return JobFailureError(Reason.DRIVER_OUT_OF_MEMORY, _cut(words))


def of(error: BaseException, jvm_exit_code: int | None = None) -> JobFailureError:
    """The failure that an exception of the driver's own code means.

    `jvm_exit_code` is None while the JVM runs. Without it, every call of it fails.
    """
    if jvm_exit_code == JVM_OUT_OF_MEMORY:
        words = "the driver's heap is full: raise resources.driver.memory"
        return JobFailureError(Reason.DRIVER_OUT_OF_MEMORY, words)
    if isinstance(error, JobFailureError):
        return error
    if isinstance(error, ModuleMissingError):
        return JobFailureError(Reason.MODULE_NOT_FOUND, str(error))
    if isinstance(error, TransformError):
        return JobFailureError(Reason.TRANSFORM_FAILED, str(error))
    if isinstance(error, ContractError):
        return JobFailureError(Reason.SETTINGS_INVALID, str(error))
    return JobFailureError(Reason.QUERY_FAILED, f"{type(error).__name__}: {_heart(str(error))}")


def write(path: Path, failure: JobFailureError) -> None:
    """Write the termination log; an error in writing it never hides the failure itself."""
    document = {"reason": str(failure.reason), "message": _cut(str(failure)), "form": FORM}
    with suppress(OSError):
        path.write_text(json.dumps(document))


def write_clean(path: Path) -> None:
    """Say at the end of a driver that was told to stop which form it has."""
    with suppress(OSError):
        path.write_text(json.dumps({"form": FORM}))


def _root_message(causes: Sequence[Cause]) -> str:
    said = [cause for cause in causes if cause.message.strip()]
    if not said:
        return causes[-1].kind if causes else "the query ended without an exception"
    root = said[-1]
    first = root.message.strip().splitlines()[0]
    return _cut(f"{root.kind.rsplit('.', 1)[-1]}: {first}")


def _heart(text: str) -> str:
    """A message without the frames of a Java stack: what was said first, and the last cause."""
    lines = [line.strip() for line in text.splitlines()]
    frames = [n for n, line in enumerate(lines) if _FRAME.match(line)]
    if not frames:
        return text
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([*lines[: frames[0]], *causes[-1:]])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"
