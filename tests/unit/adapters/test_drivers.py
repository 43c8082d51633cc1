"""Reading drivers directly, from real sockets: what is believed, and what holds up whom."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.adapters.served import Server
from tests.unit.job.telemetry.test_metrics import full_state

from trimtab import http
from trimtab.adapters import drivers
from trimtab.adapters.drivers import DriverEndpoints
from trimtab.job.telemetry.metrics import DriverCollector
from trimtab.ports import Sample

NAME = ("n", "clicks")


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(piece_bytes=1)
    made.http.handle_error = lambda *_: None  # type: ignore[method-assign]
    yield made
    made.close()


def read(port: int) -> list[Sample] | str:
    return DriverEndpoints(port).read({NAME: "127.0.0.1"})[NAME]


def test_a_driver_tells_what_its_exporter_exports() -> None:
    registry = CollectorRegistry()
    registry.register(DriverCollector(full_state(), lambda: 0.0))
    found = read(http.serve(0, registry, {}))
    assert not isinstance(found, str)
    told = {tuple(sorted(sample.labels.items())): sample.value for sample in found}
    assert told[("__name__", "trimtab_pipeline_info"), ("uid", "uid-clicks")] == 1
    assert told[("__name__", "trimtab_batches_total"),] == 1
    assert told[("__name__", "trimtab_executors"), ("state", "running")] == 2
    partition = (("__name__", "trimtab_partition_input_total"), ("partition", "1"), ("topic", "in"))
    assert told[partition] == 50


def test_only_finite_numbers_of_our_own_figures_count(server: Server) -> None:
    server.body = b"trimtab_run_number 2\ntrimtab_batch_id NaN\nother_run_number 3\n# HELP x y\n"
    assert read(server.port) == [Sample({"__name__": "trimtab_run_number"}, 2.0)]


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, b"trimtab_run_number{ 1", "answered something other than metrics"),
        (200, b"trimtab_\xff 1", "answered something other than metrics"),
        (200, b"trimtab_run_number one", "answered something other than metrics"),
        (200, b"# " + b"x" * (1 << 20), "answered more than 1 MiB"),
        (503, b"", "answered 503"),
    ],
)
def test_an_odd_answer_is_none(server: Server, status: int, body: bytes, why: str) -> None:
    server.status, server.body = status, body
    assert read(server.port) == why


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.status, server.headers = 302, {"Location": f"http://127.0.0.1:{server.port}/other"}
    assert read(server.port) == "answered 302"
    assert len(server.seen) == 1


def test_a_driver_that_is_not_there_says_nothing(server: Server) -> None:
    server.close()
    assert "refused" in str(read(server.port))
    server.close = lambda: None  # type: ignore[method-assign]


def test_an_answer_byte_by_byte_ends_in_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "READ_S", 0.2)
    server.body, server.pause_s = b"trimtab_run_number 2\n" * 50, 0.02
    assert read(server.port) == "did not answer in 0.2 s"


def test_one_that_hangs_holds_up_no_other(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "ROUND_S", 0.3)
    monkeypatch.setattr(drivers, "WORKERS", 2)
    endpoints, hang = DriverEndpoints(server.port), threading.Event()
    one = endpoints._one
    endpoints._one = lambda ip: one(ip) if ip == "127.0.0.1" else [*range(hang.wait(9))]  # type: ignore[method-assign,list-item]
    server.body = b"trimtab_run_number 2\n"
    asked = {("n", "slow"): "10.0.0.9"} | {("n", f"p{i}"): "127.0.0.1" for i in range(5)}
    found = endpoints.read(asked)
    hang.set()
    assert found.pop(("n", "slow")) == "was not read in 0.3 s"
    assert all(isinstance(answer, list) for answer in found.values())


def test_a_fleet_is_left_to_prometheus(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "MAX_DRIVERS", 2)
    asked = {("n", f"p{i}"): "127.0.0.1" for i in range(3)}
    found = DriverEndpoints(server.port).read(asked)
    assert set(found.values()) == {"there are 3 drivers, and at most 2 are read"}
    assert len(server.seen) == 0
