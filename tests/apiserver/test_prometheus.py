"""A real Prometheus between the driver's exporter and the operator's queries."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.localcluster.controlplane import free_ports
from prometheus_client import CollectorRegistry, Gauge
from tests.apiserver.servers import serving
from tests.contracts.metrics import GENERATION, MetricSourceContract
from tests.unit.job.telemetry.test_metrics import full_state

from trimtab import http
from trimtab.adapters.clock import WallClock
from trimtab.adapters.prometheus import Prometheus
from trimtab.api.figure import Reader
from trimtab.api.figures import DRIVER
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.telemetry.metrics import DriverCollector
from trimtab.ports import MetricSource
from trimtab.reconcile.observe.gather import Gathered, gather
from trimtab.reconcile.observe.queries import MAX_SERIES, queries
from trimtab.reconcile.observe.signals import Missing, signals
from trimtab.reconcile.observe.targets import Target
from trimtab.tuning.snapshot import Signals

pytestmark = pytest.mark.apiserver
SCRAPE_S = 2.0
WAIT_S = 60.0
STALE_S = 3600.0
"""The drivers here beat once, when the first test begins."""
CLUSTER = 'eu-"1\\'
TWICE = "twice"
"""The cluster whose driver two jobs scrape."""
SKIPPED: dict[str, int] = {}
DRIVERS = {("n", name): Target(f"{name}-driver-0") for name in ("clicks", "crowd")}


def a_driver() -> DriverState:
    driver = full_state()
    driver.heartbeat = time.time()
    assert driver.load is not None
    driver.load = driver.load.__class__(
        slots_busy=0.5, cpu=float("nan"), executors=driver.load.executors
    )
    return driver


def exporter(driver: DriverState) -> int:
    registry = CollectorRegistry()
    registry.register(DriverCollector(driver, time.time))
    return http.serve(0, registry, {})


def liar() -> DriverState:
    """What a pod with the pipeline's labels might export."""
    driver = a_driver()
    driver.heartbeat, driver.settings_generation = time.time() + 3600, 99
    return driver


def crowd() -> int:
    """The port of an exporter of more series than are read from one driver."""
    registry = CollectorRegistry()
    gauge = Gauge("trimtab_effective_number", "Many", ["knob"], registry=registry)
    for number in range(MAX_SERIES + 1):
        gauge.labels(str(number)).set(number)
    return http.serve(0, registry, {})


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server that scrapes a driver, and others with its labels."""
    folder = tmp_path_factory.mktemp("prometheus")
    here = {"namespace": "n", "pipeline": "clicks", "cluster": CLUSTER}
    pods = [
        (exporter(a_driver()), here | {"pod": "clicks-driver-0"}),
        (exporter(liar()), here | {"pod": "clicks-liar-0"}),
        (exporter(liar()), here | {"pod": "clicks-driver-0", "cluster": "eu-2"}),
        (crowd(), here | {"pipeline": "crowd", "pod": "crowd-driver-0"}),
    ]
    twice = (exporter(a_driver()), here | {"pod": "clicks-driver-0", "cluster": TWICE})
    config = {
        "global": {"scrape_interval": f"{SCRAPE_S:g}s", "scrape_timeout": f"{SCRAPE_S:g}s"},
        "scrape_configs": [
            {
                "job_name": "drivers",
                "convert_classic_histograms_to_nhcb": True,
                "static_configs": [
                    {"targets": [f"127.0.0.1:{target}"], "labels": labels}
                    for target, labels in (*pods, twice)
                ],
            },
            {
                "job_name": "again",
                "static_configs": [{"targets": [f"127.0.0.1:{twice[0]}"], "labels": twice[1]}],
            },
        ],
    }
    with serving(folder, config, "--enable-feature=native-histograms") as url:
        yield Prometheus(url, 5.0, WallClock(), count)


@pytest.fixture(autouse=True)
def scraped(prometheus: Prometheus) -> None:
    """Before each test: on a busy machine a scrape may come too late, and its series end."""
    wait_for_two_scrapes(prometheus)


def count(reason: str, rows: int) -> None:
    SKIPPED[reason] = SKIPPED.get(reason, 0) + rows


def wait_for_two_scrapes(source: Prometheus) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            asked = queries(SCRAPE_S)
            if len(source.query(asked["input_rate"])) == 4 and source.query(asked["crowded"]):
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
        return Prometheus(f"http://127.0.0.1:{free_ports(1)[0]}", 1.0, WallClock(), count)

    def test_a_series_comes_with_its_labels(self, source: MetricSource) -> None:
        """Of the one driver, among those that have its labels."""
        found = [s for s in source.query(GENERATION) if s.labels["pod"] == "clicks-driver-0"]
        (sample,) = (s for s in found if s.labels["cluster"] == CLUSTER)
        assert sample.value == 4

    def test_a_histogram_is_left_out(self, source: MetricSource) -> None:
        SKIPPED.clear()
        super().test_a_histogram_is_left_out(source)
        assert SKIPPED["histogram"] >= 1


def of_the_driver(source: Prometheus) -> Gathered:
    return gather(source, DRIVERS, time.time(), SCRAPE_S, {"cluster": CLUSTER})


def test_every_query_is_understood_and_becomes_a_signal(prometheus: Prometheus) -> None:
    gathered = of_the_driver(prometheus)
    assert gathered.failure == ""
    known = signals(gathered.metrics.get(("n", "clicks")), 0.95, time.time(), STALE_S)
    assert isinstance(known, Signals)
    assert known.batch is not None
    assert (known.batch.records, known.batch.executors_min, known.settings_generation) == (40, 2, 4)
    assert (known.executors_running, known.executors_pending) == (2, 2)
    assert (known.lag_records, known.partitions, known.input_rate) == (7, 2, 0)
    assert (known.slots_busy, known.cpu_ratio, known.executor_load) == (0.5, None, 0.9)


def test_a_pod_with_the_labels_of_a_pipeline_does_not_speak_for_it(prometheus: Prometheus) -> None:
    gathered = of_the_driver(prometheus)
    assert gathered.metrics["n", "clicks"].whole("settings_generation") == 4
    assert gathered.skipped["other_pod"] > 0
    elsewhere = gather(prometheus, DRIVERS, time.time(), SCRAPE_S, {"cluster": "eu-2"})
    assert elsewhere.metrics["n", "clicks"].whole("settings_generation") == 99


def test_a_driver_that_is_scraped_twice_counts_once_with_a_matcher(prometheus: Prometheus) -> None:
    def lag(**matchers: str) -> float | None:
        known = gather(prometheus, DRIVERS, time.time(), SCRAPE_S, {"cluster": TWICE} | matchers)
        found = signals(known.metrics.get(("n", "clicks")), 0.95, time.time(), STALE_S)
        assert isinstance(found, Signals)
        return found.lag_records

    until_both_jobs_have_scraped = time.monotonic() + WAIT_S
    while lag() != 14 and time.monotonic() < until_both_jobs_have_scraped:
        time.sleep(0.2)
    assert (lag(), lag(job="drivers")) == (14, 7)


def test_a_driver_with_too_many_series_is_left_out_and_told(prometheus: Prometheus) -> None:
    rows = prometheus.query(queries(SCRAPE_S)["gauges"])
    assert {row.labels["pipeline"] for row in rows} == {"clicks"}
    crowded = of_the_driver(prometheus).metrics["n", "crowd"]
    found = signals(crowded, 0.95, time.time(), STALE_S)
    assert isinstance(found, Missing)
    assert f"{MAX_SERIES + 1} series" in found.words


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
