"""What the adapter makes of odd answers, and that no password comes out of it."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from prometheus_client import generate_latest
from tests.unit.adapters import served
from tests.unit.reconcile.stage import Stage

from trimtab.adapters import prometheus
from trimtab.adapters.clock import WallClock
from trimtab.adapters.prometheus import Prometheus
from trimtab.adapters.telemetry import PrometheusTelemetry
from trimtab.errors import UnavailableError
from trimtab.ports import Sample
from trimtab.reconcile.loop import ControlLoop
from trimtab.settings import OperatorSettings

LABELS = {"__name__": "up", "pipeline": "clicks"}
SECRET = "s3cr:t/w%rd"


class Server(served.Server):
    """Answers queries like Prometheus."""

    def __init__(self) -> None:
        super().__init__()
        self.headers = {"Content-Type": "application/json"}

    def rows(self, *rows: Any) -> None:
        data = {"resultType": "vector", "result": list(rows)}
        self.body = json.dumps({"status": "success", "data": data}).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def source(server: Server, login: Any = None, timeout_s: float = 5.0) -> tuple[Prometheus, Any]:
    skipped: dict[str, int] = {}

    def skip(reason: str, rows: int) -> None:
        skipped[reason] = skipped.get(reason, 0) + rows

    url = f"http://127.0.0.1:{server.port}"
    return Prometheus(url, timeout_s, WallClock(), skip, login), skipped


def refusal(server: Server, **options: Any) -> str:
    with pytest.raises(UnavailableError) as raised:
        source(server, **options)[0].query("up")
    return str(raised.value)


GOOD = {"metric": LABELS, "value": [1.0, "4"]}

ODD = [
    (
        {"metric": LABELS, "histogram": [1.0, {"count": "3", "sum": "1", "buckets": []}]},
        "histogram",
    ),
    ({"metric": LABELS, "value": [1.0, "NaN"]}, "not_finite"),
    ({"metric": LABELS, "value": [1.0, "+Inf"]}, "not_finite"),
    ({"metric": LABELS, "value": [1.0, "-Inf"]}, "not_finite"),
    ({"metric": LABELS, "value": [1.0, "1e999"]}, "not_finite"),
    ({"metric": LABELS, "value": [1.0, "four"]}, "malformed"),
    ({"metric": LABELS, "value": [1.0, 4]}, "malformed"),
    ({"metric": LABELS, "value": [1.0]}, "malformed"),
    ({"metric": LABELS, "value": "4"}, "malformed"),
    ({"metric": LABELS}, "malformed"),
    ({"metric": LABELS, "values": [[1.0, "4"]]}, "malformed"),
    ({"metric": {"pipeline": 7}, "value": [1.0, "4"]}, "malformed"),
    ({"metric": ["pipeline"], "value": [1.0, "4"]}, "malformed"),
    ({"value": [1.0, "4"]}, "malformed"),
    ([1.0, "4"], "malformed"),
    (None, "malformed"),
]


@pytest.mark.parametrize(("row", "reason"), ODD)
def test_an_odd_row_is_counted_and_the_others_are_read(
    server: Server, row: Any, reason: str
) -> None:
    server.rows(row, GOOD, row)
    asked, skipped = source(server)
    assert asked.query("up") == [Sample(LABELS, 4.0)]
    assert skipped == {reason: 2}


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"", "answered 200 without data"),
        (200, b"<html>", "answered 200 without data"),
        (200, b"[]", "answered 200 without data"),
        (200, b"[" * 200_000, "answered 200 without data"),
        (200, b'{"status": "success"}', "something other than series"),
        (200, b'{"status": "success", "data": {"result": "1"}}', "something other than series"),
        (400, b'{"status": "error", "error": "parse error"}', "answered 400 without data: parse"),
        (502, b"Bad Gateway", "answered 502 without data"),
        (401, b"Unauthorized", "answered 401 without data"),
    ],
)
def test_what_is_no_answer_is_unavailable(
    server: Server, status: int, body: bytes, words: str
) -> None:
    server.status, server.body = status, body
    assert words in refusal(server)


def test_an_answer_is_read_only_up_to_a_size(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "MAX_BYTES", 2 << 20)
    server.rows(*[GOOD] * 100)
    server.body += b" " * (3 << 20)
    assert "answered more than 2 MiB" in refusal(server)


def test_an_answer_has_only_so_many_series(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MAX_ROWS", 2)
    server.rows(GOOD, GOOD, GOOD)
    assert "answered 3 series, more than 2" in refusal(server)


def test_an_answer_that_trickles_is_given_up(server: Server) -> None:
    server.body, server.pause_s = b" " * (20 << 20), 0.1
    assert "did not finish its answer in 0.5 s" in refusal(server, timeout_s=0.5)


def test_an_answer_that_stops_is_given_up(server: Server) -> None:
    server.pause_s, server.body = 1.0, b" "
    server.headers = {"Content-Length": "2"}
    assert "did not answer in 0.2 s" in refusal(server, timeout_s=0.2)


def test_the_login_goes_into_the_request_and_a_redirect_is_not_followed(server: Server) -> None:
    server.rows(GOOD)
    source(server, ("me", SECRET))[0].query("up")
    sent = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert server.seen[0].headers["Authorization"] == f"Basic {sent}"
    server.status, server.headers = 302, {"Location": f"http://127.0.0.1:{server.port}/elsewhere"}
    assert "302 without data: it redirects" in refusal(server, login=("me", SECRET))
    assert len(server.seen) == 2


def test_the_password_is_in_no_message(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    sent = base64.b64encode(f"me:{SECRET}".encode()).decode()
    server.status = 400
    echo = f"no access with {SECRET}, s3cr%3At%2Fw%25rd or Basic {sent}"
    server.body = json.dumps({"status": "error", "error": echo}).encode()
    told = []
    with caplog.at_level(logging.DEBUG):
        told.append(refusal(server, login=("me", SECRET)))
        server.http.server_close()
        away = Prometheus("http://127.0.0.1:9", 0.5, WallClock(), print, ("me", SECRET))
        with pytest.raises(UnavailableError) as raised:
            away.query("up")
        told += [str(raised.value), repr(raised.value), caplog.text]
    assert "no access with ***, *** or Basic ***" in told[0]
    for text in told:
        assert SECRET not in text
        assert sent not in text
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_the_password_is_in_no_status_event_or_metric(caplog: pytest.LogCaptureFixture) -> None:
    given = {
        "TRIMTAB_PIPELINE_IMAGE": "p", "TRIMTAB_KAFKA_IMAGE": "k",
        "TRIMTAB_PROMETHEUS_URL": f"http://me:{quote(SECRET, safe='')}@127.0.0.1:9",
    }  # fmt: skip
    config = OperatorSettings.from_environment(given)
    stage, telemetry = Stage.at_rest(), PrometheusTelemetry(WallClock())
    away = Prometheus(
        config.prometheus_url, 0.5, WallClock(), telemetry.skipped, config.prometheus_login
    )
    loop = ControlLoop(stage.cluster, away, telemetry, stage.clock, config)
    with caplog.at_level(logging.DEBUG):
        loop.tick()
    conditions = stage.status()["conditions"]
    message = next(c["message"] for c in conditions if c["type"] == "MetricsAvailable")
    assert "Prometheus at http://127.0.0.1:9 did not answer" in message
    shown = json.dumps([*stage.cluster.objects.values(), stage.cluster.events])
    exported = generate_latest(telemetry.registry).decode()
    for text in (shown, exported, caplog.text, repr(config), repr(vars(loop))):
        assert SECRET not in text
        assert quote(SECRET, safe="") not in text


def test_a_range_query_gives_the_points_of_one_series(server: Server) -> None:
    values = [[100, "1.5"], [160, "NaN"], [220.0, "3"]]
    server.rows({"metric": LABELS, "values": values})
    asked, _ = source(server)
    assert asked.range("up", 100.0, 220.0, 60.0) == [(100.0, 1.5), (220.0, 3.0)]
    (seen,) = server.seen
    assert seen.path == "/api/v1/query_range?query=up&start=100.0&end=220.0&step=60.0"
    server.rows()
    assert asked.range("up", 100.0, 220.0, 60.0) == []
    server.rows({"metric": LABELS, "values": values}, {"metric": {}, "values": values})
    with pytest.raises(UnavailableError, match="has 2 series of up"):
        asked.range("up", 100.0, 220.0, 60.0)
    server.rows({"metric": LABELS, "values": "odd"})
    with pytest.raises(UnavailableError, match="something other than points"):
        asked.range("up", 100.0, 220.0, 60.0)
