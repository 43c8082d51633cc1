from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.api.contract import FORM
from trimtab.errors import ContractError, TransformError
from trimtab.job.termination import (
    Cause,
    JobFailureError,
    ModuleMissingError,
    Reason,
    classify,
    of,
    write,
    write_clean,
)

TASK = "org.apache.spark.SparkException"


@pytest.mark.parametrize(
    ("cause", "reason", "heals"),
    [
        (
            Cause("org.apache.kafka.common.errors.TimeoutException", "Timed out: listTopics"),
            Reason.KAFKA_UNREACHABLE,
            True,
        ),
        (
            Cause(TASK, "stage failure: org.apache.kafka.common.errors.TimeoutException: x"),
            Reason.KAFKA_UNREACHABLE,
            True,
        ),
        (
            Cause("org.apache.kafka.common.errors.SaslAuthenticationException", "bad password"),
            Reason.KAFKA_DENIED,
            True,
        ),
        (
            Cause("java.lang.AssertionError", "There are [1] sources in the checkpoint offsets "
                  "and now there are [2] sources requested by the query"),
            Reason.CHECKPOINT_INCOMPATIBLE,
            False,
        ),
        (
            Cause(TASK, "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema"),
            Reason.CHECKPOINT_INCOMPATIBLE,
            False,
        ),
        (
            Cause(TASK, "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming"),
            Reason.CHECKPOINT_INCOMPATIBLE,
            False,
        ),
        (
            Cause(TASK, "[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart"),
            Reason.CHECKPOINT_INCOMPATIBLE,
            False,
        ),
        (Cause(TASK, "[KAFKA_DATA_LOSS.START_OFFSET_RESET] gone"), Reason.DATA_LOST, False),
        (Cause("org.apache.kafka.common.errors.RecordTooLargeException", "2097234 bytes"),
         Reason.RECORD_TOO_LARGE, False),
        (Cause("java.lang.OutOfMemoryError", "Java heap space"), Reason.DRIVER_OUT_OF_MEMORY,
         False),
        (Cause("org.apache.spark.SparkException", "Job aborted due to stage failure: Lost task 0.3"
               " in stage 7.0 (TID 9) (10.0.0.4 executor 2): ExecutorLostFailure (executor 2 exited"
               " caused by one of the running tasks) Reason: The executor with id 2 exited with"
               " exit code 137(SIGKILL, possible container OOM)."), Reason.EXECUTOR_OUT_OF_MEMORY,
         False),
    ],
)  # fmt: skip
def test_tells_what_ended_a_query(cause: Cause, reason: Reason, heals: bool) -> None:
    failure = classify([Cause("StreamingQueryException", "Query failed"), cause])
    assert (failure.reason, failure.heals) == (reason, heals)


ERRORS = "org.apache.kafka.common.errors"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (Cause(f"{ERRORS}.SaslAuthenticationException", "invalid credentials"),
         "invalid credentials. To end this, correct authentication, or what its Secret holds"),
        (Cause(f"{ERRORS}.UnsupportedSaslMechanismException", "mechanism 'PLAIN' not enabled"),
         "'PLAIN' not enabled. To end this, choose an authentication.type that the listener has"),
        (Cause(f"{ERRORS}.SslAuthenticationException", "SSL handshake failed"),
         "SSL handshake failed. To end this, correct tls.trustedCertificates"),
        (Cause(TASK, "Job aborted due to stage failure: Task 0 in stage 7.0 failed: "
               f"{ERRORS}.TopicAuthorizationException: Not authorized to access topics: [in]\n"
               "\tat a.B.c(D.java:1)"),
         "Not authorized to access topics: [in]. To end this, grant Read for a source, Write for"),
        (Cause(f"{ERRORS}.GroupAuthorizationException", "Not authorized to access group: g"),
         "access group: g. To end this, grant Read on groups that begin with spark-kafka-source"),
        (Cause(f"{ERRORS}.ClusterAuthorizationException", "Cluster authorization failed."),
         "Cluster authorization failed. To end this, grant Write on the sink's topic"),
        (Cause(f"{ERRORS}.DelegationTokenAuthorizationException", "no"), "refused access: no"),
    ],
)  # fmt: skip
def test_says_what_kafka_refused_and_what_to_allow(cause: Cause, words: str) -> None:
    failure = classify([Cause("StreamingQueryException", "Query failed"), cause])
    assert (failure.reason, failure.heals) == (Reason.KAFKA_DENIED, True)
    assert words in str(failure)
    assert "D.java" not in str(failure)


def test_names_the_error_that_the_users_code_raised() -> None:
    message = (
        "Job aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call):\n"
        '  File "jobs.py", line 3, in work\n'
        "KeyError: 'no such customer'\n\n"
        "\tat org.apache.spark.api.python.BasePythonRunner\n"
    )
    failure = classify([Cause(TASK, message)])
    assert failure.reason is Reason.TRANSFORM_FAILED
    assert str(failure) == "the transform raised KeyError: 'no such customer'"


def test_the_root_cause_is_what_is_told() -> None:
    failure = classify(
        [Cause("a.Outer", "wrapped"), Cause("b.Inner", "disk full\nat x"), Cause("c.C", "")]
    )
    assert str(failure) == "Inner: disk full"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleMissingError("no module"), Reason.MODULE_NOT_FOUND),
        (TransformError("line 1"), Reason.TRANSFORM_FAILED),
        (ContractError("unknown key"), Reason.SETTINGS_INVALID),
        (JobFailureError(Reason.TOPIC_NOT_FOUND, "no topic"), Reason.TOPIC_NOT_FOUND),
        (ZeroDivisionError("oh"), Reason.QUERY_FAILED),
    ],
)
def test_our_own_errors_have_a_reason(error: Exception, reason: Reason) -> None:
    assert of(error).reason is reason


def test_writes_the_log_short_enough_for_kubernetes(tmp_path: Path) -> None:
    log = tmp_path / "termination"
    write(log, JobFailureError(Reason.QUERY_FAILED, "x" * 9000))
    document = json.loads(log.read_text())
    assert (document["reason"], document["form"]) == ("QueryFailed", FORM)
    assert len(log.read_bytes()) < 4096
    write(tmp_path, JobFailureError(Reason.QUERY_FAILED, "a directory is not writable as a file"))


def test_a_jvm_that_ended_itself_at_a_full_heap_is_named_whatever_call_failed_then() -> None:
    failure = of(ConnectionRefusedError("py4j"), 3)
    assert failure.reason is Reason.DRIVER_OUT_OF_MEMORY
    assert "resources.driver.memory" in str(failure)
    assert of(ConnectionRefusedError("py4j"), 1).reason is Reason.QUERY_FAILED
    assert of(ConnectionRefusedError("py4j")).reason is Reason.QUERY_FAILED


def test_a_clean_end_says_which_form_the_driver_has(tmp_path: Path) -> None:
    write_clean(tmp_path / "log")
    assert json.loads((tmp_path / "log").read_text()) == {"form": FORM}
    write_clean(tmp_path / "none" / "log")


def test_an_error_of_java_is_told_without_its_frames() -> None:
    text = (
        "An error occurred while calling o474.createOrReplaceTempView.\n"
        ": org.apache.spark.SparkException: [INTERNAL_ERROR] Executed command failed.\n"
        "\tat org.apache.spark.SparkException$.internalError(SparkException.scala:119)\n"
        "Caused by: java.lang.NullPointerException: the session is null\n\t... 12 more"
    )
    assert str(of(RuntimeError(text))) == (
        "RuntimeError: An error occurred while calling o474.createOrReplaceTempView."
        " : org.apache.spark.SparkException: [INTERNAL_ERROR] Executed command failed."
        " Caused by: java.lang.NullPointerException: the session is null"
    )
    assert str(of(ValueError("no\nnumber"))) == "ValueError: no\nnumber"
