"""A real Prometheus between the driver's exporter and the operator's queries."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.localcluster.binaries import binary
from dev.localcluster.paths import from_environment
from prometheus_client import CollectorRegistry
from tests.contracts.metrics import GENERATION, MetricSourceContract
from tests.unit.job.telemetry.test_metrics import full_state

from trimtab import http
from trimtab.adapters.prometheus import Prometheus
from trimtab.api.figures import DRIVER, Reader
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.telemetry.metrics import DriverCollector
from trimtab.reconcile.observe.gather import gather, queries, signals
from trimtab.tuning.snapshot import Signals

pytestmark = pytest.mark.apiserver
SCRAPE_S = 1.0
WAIT_S = 60.0


def a_driver() -> DriverState:
    driver = full_state()
    driver.heartbeat = time.time()
    assert driver.load is not None
    driver.load = driver.load.__class__(
        slots_busy=0.5, cpu=float("nan"), executors=driver.load.executors
    )
    return driver


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server that has scraped a driver at least twice."""
    registry = CollectorRegistry()
    registry.register(DriverCollector(a_driver(), time.time))
    exporter = http.serve(0, registry, {})
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    (folder / "prometheus.yml").write_text(
        f"""
global: {{scrape_interval: {SCRAPE_S:g}s, scrape_timeout: {SCRAPE_S:g}s}}
scrape_configs:
  - job_name: drivers
    static_configs:
      - {{targets: ["127.0.0.1:{exporter}"], labels: {{namespace: n, pipeline: clicks}}}}
"""
    )
    server = subprocess.Popen(
        [
            binary(from_environment(), "prometheus"), f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    source = Prometheus(f"http://127.0.0.1:{port}", 5.0)
    try:
        wait_for_two_scrapes(source)
        yield source
    finally:
        server.terminate()
        server.wait(30)


def wait_for_two_scrapes(source: Prometheus) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            if source.query(queries(SCRAPE_S)["input_rate"]):
                return
        except Exception:
            time.sleep(0.2)
        time.sleep(0.2)
    pytest.fail("Prometheus did not scrape the driver twice")


class TestPrometheus(MetricSourceContract):
    @pytest.fixture
    def source(self, prometheus: Prometheus) -> Prometheus:
        return prometheus

    @pytest.fixture
    def away(self) -> Prometheus:
        return Prometheus(f"http://127.0.0.1:{free_port()}", 1.0)


def test_every_query_is_understood_and_becomes_a_signal(prometheus: Prometheus) -> None:
    gathered = gather(prometheus, SCRAPE_S, {})
    assert gathered.failure == ""
    known = signals(gathered.metrics.get(("n", "clicks")), 0.95, time.time(), 60.0)
    assert isinstance(known, Signals)
    assert known.batch is not None
    assert (known.batch.records, known.batch.executors_min, known.settings_generation) == (40, 2, 4)
    assert (known.executors_running, known.executors_pending) == (2, 2)
    assert (known.lag_records, known.partitions, known.input_rate) == (7, 2, 0)
    assert (known.slots_busy, known.cpu_ratio, known.executor_load) == (0.5, None, 0.9)


def test_what_the_table_gives_the_tuner_is_in_its_one_query(prometheus: Prometheus) -> None:
    found = {s.labels["__name__"] for s in prometheus.query(queries(SCRAPE_S)["gauges"])}
    assert f"{GENERATION}" in found
    read = {f"trimtab_{figure.series}" for figure in DRIVER if figure.reader is Reader.TUNER}
    assert found <= read


@pytest.mark.parametrize("page", ["docs/metrics.md", "docs/tuning.md", "docs/api.md"])
def test_the_queries_of_the_docs_are_understood(prometheus: Prometheus, page: str) -> None:
    for block in re.findall(r"```promql\n(.*?)```", Path(page).read_text(), re.S):
        for line in filter(None, block.splitlines()):
            prometheus.query(line)
