"""What Spark's log says about executor pods, and how long a refusal counts."""

from __future__ import annotations

import pytest

from trimtab.job.executors.pod_log import FORGET_S, PodLog, Told, answer, parse

QUOTA = (
    "Failure executing: POST at: https://kubernetes.default.svc/api/v1/namespaces/t/pods. Message:"
    ' pods "clicks-1f2-exec-7" is forbidden: exceeded quota: team, requested: pods=1, used: pods=3,'
    " limited: pods=3. Received status: Status(apiVersion=v1, code=403, details=null)."
)
REFUSED = "forbidden: exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3"


def record(message: str, error: str = "") -> str:
    return f"{message}\x1f{error}\n\x1e"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (QUOTA, REFUSED),
        (QUOTA.replace("exec-7", "exec-8"), REFUSED),
        ("Operation: [create] failed.", "Operation: [create] failed."),
    ],
)  # fmt: skip
def test_the_answer_is_the_api_servers_and_does_not_name_the_pod(error: str, words: str) -> None:
    assert answer(error) == words


def test_refusals_and_failures_are_counted_and_other_records_are_not() -> None:
    text = record("Failed to create executor pod 7. Total failures: 1.", QUOTA)
    text += record("Failed to create executor pod 8. Total failures: 2.", QUOTA)
    text += record("2 new failed executors.") + record("Executors with ids 3 were not detected")
    assert parse(text) == Told(refused=2, failed=2, reason=REFUSED)
    assert parse("") == Told()


class Log:
    def __init__(self) -> None:
        self.text, self.now = "", 0.0

    def take(self) -> str:
        text, self.text = self.text, ""
        return text


def test_a_refusal_counts_while_executors_are_missing_and_it_is_repeated() -> None:
    log = Log()
    pods = PodLog(log, lambda: log.now)
    log.text = record("Failed to create executor pod 7.", QUOTA)
    assert pods.read(pending=1).reason == REFUSED
    log.now = FORGET_S
    assert pods.read(pending=1) == Told(reason=REFUSED)
    log.now += 1
    assert pods.read(pending=1) == Told()


def test_nothing_is_refused_once_no_executor_is_missing() -> None:
    log = Log()
    pods = PodLog(log, lambda: log.now)
    log.text = record("Failed to create executor pod 7.", QUOTA)
    assert pods.read(pending=0) == Told(refused=1)
    assert pods.read(pending=1) == Told(reason=REFUSED)
    assert pods.read(pending=0) == Told()
    assert pods.read(pending=1) == Told()
