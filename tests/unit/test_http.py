"""The one HTTP server of operator and driver."""

from __future__ import annotations

import urllib.error
import urllib.request

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
