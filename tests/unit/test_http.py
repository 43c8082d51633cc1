"""The one HTTP server of operator and driver."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry, Gauge

from trimtab import http

WELL = {"/ready": True, "/alive": False}


@pytest.fixture(scope="module")
def port() -> int:
    registry = CollectorRegistry()
    Gauge("trimtab_test", "A test's", registry=registry).set(7)
    probes = {path: lambda well=well: (well, "wörds") for path, well in WELL.items()}
    return http.serve(0, registry, probes)  # type: ignore[arg-type]


def get(port: int, path: str, accept: str = "") -> tuple[int, str, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_metrics_in_the_format_that_is_asked_for(port: int) -> None:
    code, kind, text = get(port, "/metrics?name=any")
    assert (code, kind.partition(";")[0]) == (200, "text/plain")
    assert "trimtab_test 7.0" in text
    code, kind, text = get(port, "/metrics", "application/openmetrics-text; version=1.0.0")
    assert (code, kind.partition(";")[0]) == (200, "application/openmetrics-text")
    assert text.endswith("# EOF\n")


@pytest.mark.parametrize(("path", "code"), [("/ready", 200), ("/alive", 503)])
def test_a_probe_answers_by_its_status_and_says_why(port: int, path: str, code: int) -> None:
    assert get(port, path) == (code, "text/plain; charset=utf-8", "wörds")


def test_another_path_is_told_which_there_are(port: int) -> None:
    code, _, text = get(port, "/healthz")
    assert (code, text) == (404, "only /metrics, /ready, /alive")


def test_a_port_that_is_taken_is_an_error(port: int) -> None:
    with pytest.raises(OSError, match="in use"):
        http.serve(port, CollectorRegistry(), {})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "READ_S", 0.5)
    monkeypatch.setattr(http, "WRITE_S", 0.5)


def connected(port: int, said: bytes = b"GET /metrics HTTP/1.1\r\nHost: a\r\n") -> socket.socket:
    """A connection whose request is not at its end."""
    made = socket.create_connection(("127.0.0.1", port), timeout=5)
    made.sendall(said)
    return made


def workers() -> int:
    return sum(thread.name == http.WORKER for thread in threading.enumerate())


def settled(wanted: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 5
    while not wanted() and time.monotonic() < deadline:
        time.sleep(0.01)
    return wanted()


def closed(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection; waits for it."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_requests_that_never_end_keep_nobody_out(port: int) -> None:
    slow = [connected(port) for _ in range(3 * http.MAX_CONNECTIONS)]
    began = time.monotonic()
    for _ in range(5):
        assert get(port, "/metrics")[0] == 200
    assert time.monotonic() - began < http.READ_S, "no wait for their time-outs"
    assert workers() <= http.MAX_CONNECTIONS
    assert closed(slow[0]), "the oldest gives way"
    for each in slow:
        each.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("said", [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n"])
def test_a_request_has_a_limit_in_time(port: int, said: bytes) -> None:
    with connected(port, said) as slow:
        assert closed(slow)
    assert settled(lambda: workers() == 0)


@pytest.mark.usefixtures("impatient")
def test_a_byte_now_and_then_does_not_extend_it(port: int) -> None:
    began = time.monotonic()
    with connected(port) as slow, contextlib.suppress(ConnectionError):
        while time.monotonic() - began < 5:
            slow.sendall(b"x")
            time.sleep(0.1)
    assert time.monotonic() - began < 2


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_nobody_reads_has_a_limit_in_time() -> None:
    probes = {"/big": lambda: (True, "x" * 50_000_000)}
    port = http.serve(0, CollectorRegistry(), probes)
    with connected(port, b"GET /big HTTP/1.1\r\n\r\n"):
        assert settled(lambda: workers() == 1)
        assert settled(lambda: workers() == 0)


def test_answers_that_hang_are_bounded_too() -> None:
    well, asked = threading.Event(), threading.Semaphore(0)

    def hang() -> tuple[bool, str]:
        asked.release()
        return well.wait(30), "at last"

    probes = {"/hang": hang, "/well": lambda: (True, "well")}
    port = http.serve(0, CollectorRegistry(), probes)
    ask = b"GET /hang HTTP/1.1\r\n\r\n"
    hung = [connected(port, ask) for _ in range(http.MAX_CONNECTIONS)]
    for _ in hung:
        # A worker that still reads its request would be the one to give way.
        assert asked.acquire(timeout=5)
    with connected(port, b"GET /well HTTP/1.1\r\n\r\n") as refused:
        assert closed(refused), "said at once, so that a probe fails in time"
    assert workers() == http.MAX_CONNECTIONS
    well.set()
    for each in hung:
        assert each.recv(12) == b"HTTP/1.0 200"
        each.close()
    assert get(port, "/well")[0] == 200
