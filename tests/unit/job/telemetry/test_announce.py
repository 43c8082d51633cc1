"""What the driver writes on its pod, and that a refused write is tried again."""

from __future__ import annotations

import threading

import pytest

from trimtab.api.contract import DRIVER_STATE_ANNOTATION, EXECUTORS_ANNOTATION
from trimtab.errors import UnavailableError
from trimtab.job.telemetry import announce
from trimtab.job.telemetry.driver_state import DriverState


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (None, ""),
        ("starting", ""),
        ("stopping", ""),
        ("KafkaUnreachable: Kafka at a:1 does not answer", "KafkaUnreachable: Kafka at a:1 does"),
    ],
)
def test_only_troubles_are_told(state: str | None, told: str) -> None:
    assert announce.message(state).startswith(told)
    assert bool(announce.message(state)) == bool(told)


def test_words_are_written_once_and_again_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce, "INTERVAL_S", 0.001)
    driver, stopping, written = DriverState(), threading.Event(), threading.Event()
    calls: list[tuple[str, str]] = []

    def write(key: str, text: str) -> None:
        calls.append((key, text))
        if len(calls) == 1:
            raise UnavailableError("not now")
        written.set()

    driver.not_ready = "KafkaUnreachable: gone"
    thread = announce.start(driver, write, stopping)
    assert written.wait(30)
    stopping.set()
    thread.join(30)
    assert calls == [(DRIVER_STATE_ANNOTATION, "KafkaUnreachable: gone")] * 2


def test_refused_executors_have_an_annotation_of_their_own() -> None:
    driver = DriverState(not_ready=None, executors_refused="forbidden: exceeded quota: team")
    assert announce.messages(driver) == {
        DRIVER_STATE_ANNOTATION: "",
        EXECUTORS_ANNOTATION: "forbidden: exceeded quota: team",
    }
