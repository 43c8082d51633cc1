"""What Spark says about executor pods that it cannot create, and about those that fail.

Spark has no API for either: it logs them. An appender at its two loggers keeps the records in
memory, so that no user's logging configuration is needed or disturbed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from pyspark import SparkContext

from trimtab.job import gateway
from trimtab.job.clock import Clock, monotonic_s

log = logging.getLogger(__name__)

_PACKAGE = "org.apache.spark.scheduler.cluster.k8s"
LOGGERS = (f"{_PACKAGE}.ExecutorPodsAllocator", f"{_PACKAGE}.ExecutorPodsLifecycleManager")
_FIELD, _RECORD = "\x1f", "\x1e"
_PATTERN = f"%m{_FIELD}%ex{{short.message}}{_RECORD}"
FORGET_S = 30.0
"""Seconds without another refusal after which the last one no longer counts: Spark retries each
second."""

_ANSWER = re.compile(r"Message: (?P<answer>.*?)\.? Received status: Status\(", re.DOTALL)
_POD = re.compile(r'^pods? "[^"]*" is ')
_FAILED = re.compile(r"^(\d+) new failed executors")


@dataclass(frozen=True, slots=True)
class Told:
    """Pods refused, executors failed, and the last reason for a refusal; empty if none."""

    refused: int = 0
    failed: int = 0
    reason: str = ""


class Records(Protocol):
    """Where the log records come from: Spark's JVM."""

    def take(self) -> str:
        """The records since the last call, in the format of `parse`."""


def parse(text: str) -> Told:
    """Read log records: `message FIELD exception's message RECORD`, repeated."""
    refused, failed, reason = 0, 0, ""
    for record in text.split(_RECORD):
        message, _, error = record.partition(_FIELD)
        if found := _FAILED.match(message):
            failed += int(found[1])
        elif message.startswith("Failed to ") and error.strip():
            refused += 1
            reason = answer(error)
    return Told(refused, failed, reason)


def answer(error: str) -> str:
    """The API server's words in the message of a Kubernetes client's exception.

    The pod's name is left out, because it differs with every attempt.
    """
    found = _ANSWER.search(error)
    return _POD.sub("", found["answer"] if found else error.strip()).strip()


class SparkRecords:
    """The records of Spark's two loggers, kept in the JVM until they are taken."""

    def __init__(self, context: SparkContext, loggers: Iterable[str] = LOGGERS) -> None:
        """Attach to the loggers, whose records then no longer go to the driver's log."""
        jvm = gateway.classes(context)
        log4j = jvm.org.apache.logging.log4j
        core = log4j.core
        self._writer = jvm.java.io.StringWriter()
        layout = core.layout.PatternLayout.newBuilder()
        layout = layout.withPattern(_PATTERN).withAlwaysWriteExceptions(False).build()
        appender = core.appender.WriterAppender.newBuilder()
        appender = appender.setName("trimtab").setTarget(self._writer).setLayout(layout).build()
        appender.start()
        log_context = log4j.LogManager.getContext(False)
        for name in loggers:
            logger = core.config.LoggerConfig(name, log4j.Level.WARN, False)
            logger.addAppender(appender, log4j.Level.WARN, None)
            log_context.getConfiguration().addLogger(name, logger)
        log_context.updateLoggers()

    def take(self) -> str:
        """The records since the last call."""
        text = str(self._writer.toString())
        if text:
            # what was logged in between stays for the next call
            self._writer.getBuffer().delete(0, len(text.encode("utf-16-le")) // 2)
        return text


class PodLog:
    """What the records say, and what still holds of it."""

    def __init__(self, records: Records, clock: Clock = monotonic_s) -> None:
        self._records, self._clock = records, clock
        self._reason, self._since_s = "", 0.0

    def read(self, *, pending: int) -> Told:
        """What was told since the last call, and the reason why `pending` executors are missing."""
        told, now_s = parse(self._records.take()), self._clock()
        if told.reason:
            if told.reason != self._reason:
                log.warning("an executor pod was refused: %s", told.reason)
            self._reason, self._since_s = told.reason, now_s
        elif not pending or now_s - self._since_s > FORGET_S:
            self._reason = ""
        if told.failed:
            log.warning("%d executors failed", told.failed)
        return Told(told.refused, told.failed, self._reason if pending else "")
