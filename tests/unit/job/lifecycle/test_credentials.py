"""A driver ends when a Secret that it mounts has changed, and only then."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.job.lifecycle import credentials
from trimtab.job.lifecycle.credentials import CredentialsWatch
from trimtab.job.lifecycle.stop_signal import StopSignal
from trimtab.kafka.secrets import VARIABLE

PASSWORD, CERTIFICATE = SecretKey("user", "password"), SecretKey("ca", "ca.crt")


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "password").write_text("before")
    return tmp_path


def test_a_new_value_ends_the_driver_and_the_log_names_the_secret(
    held: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    stop = StopSignal(lambda: 7.0)
    watch = CredentialsWatch((PASSWORD, CERTIFICATE), stop.request)
    assert not watch.look()
    assert stop.at is None
    (held / "user" / "password").write_text("after-it")
    assert watch.look()
    assert stop.at == 7.0
    assert "Secret user has changed" in caplog.text
    assert "after-it" not in caplog.text


def test_a_secret_that_appears_or_goes_counts_as_changed(held: Path) -> None:
    watch = CredentialsWatch((PASSWORD, CERTIFICATE), lambda: None)
    (held / "ca").mkdir()
    (held / "ca" / "ca.crt").write_text("x")
    assert watch.look()
    gone = CredentialsWatch((PASSWORD,), lambda: None)
    (held / "user" / "password").unlink()
    assert gone.look()


def test_it_looks_by_itself_and_not_at_all_without_secrets(
    held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "INTERVAL_S", 0.01)
    changed, stopping = threading.Event(), threading.Event()
    CredentialsWatch((), changed.set).start(stopping)
    assert "trimtab-credentials" not in {thread.name for thread in threading.enumerate()}
    CredentialsWatch((PASSWORD,), changed.set).start(stopping)
    (held / "user" / "password").write_text("after")
    assert changed.wait(10)
    stopping.set()
