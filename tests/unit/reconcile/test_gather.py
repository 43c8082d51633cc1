"""Metrics of all pipelines: few queries, one driver process each, and unknown stays unknown."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.stage import SCRAPE_S, series

from trimtab.adapters.memory import MemoryMetrics
from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.ports import Name, Sample
from trimtab.reconcile.observe.gather import Gathered, gather
from trimtab.reconcile.observe.queries import MAX_SERIES, queries
from trimtab.reconcile.observe.signals import Missing, signals
from trimtab.reconcile.observe.targets import Target
from trimtab.tuning.snapshot import Signals

NOW_S = 1_000_000.0
NAME = ("n", "clicks")


POD = Target("clicks-driver-0", frozenset({"10.0.0.1"}))


def gathered(
    *drivers: dict[str, Any], failure: str = "", targets: dict[Name, Target] | None = None
) -> tuple[Gathered, MemoryMetrics]:
    asked = queries(SCRAPE_S)
    answers = {q: [s for d in drivers for s in d.get(what, ())] for what, q in asked.items()}
    metrics = MemoryMetrics(answers, failure=failure)
    return gather(metrics, targets or {NAME: POD}, NOW_S, SCRAPE_S), metrics


def seen(*drivers: dict[str, Any], now_s: float = NOW_S) -> Signals | Missing:
    found, _ = gathered(*drivers)
    return signals(found.metrics.get(NAME), 0.95, now_s, SCRAPE_S)


@pytest.mark.parametrize("count", [1, 100])
def test_the_number_of_queries_does_not_grow_with_the_pipelines(count: int) -> None:
    names = [f"p{i}" for i in range(count)]
    targets = {("n", name): Target(f"{name}-driver-0", POD.addresses) for name in names}
    found, metrics = gathered(*(series(name, NOW_S) for name in names), targets=targets)
    assert len(found.metrics) == count
    assert found.queries == len(metrics.asked) == len(queries(SCRAPE_S))


def test_everything_that_is_exported_becomes_a_signal() -> None:
    shares = {"cpu_ratio": 0.4, "gc_ratio": 0.1, "heap_used_ratio": 0.9, "slots_busy_ratio": 0.8}
    known = seen(series("clicks", NOW_S, **shares, batch_running_executors_min=1))
    assert isinstance(known, Signals)
    assert known.batch
    assert (known.cpu_ratio, known.gc_ratio, known.heap_used) == (0.4, 0.1, 0.9)
    assert (known.slots_busy, known.running_executors_min) == (0.8, 1)
    assert (known.input_rate, known.lag_records, known.partitions) == (25.0, 200.0, 12)
    assert (known.batch.records, known.batch.duration_s, known.batch.latency_s) == (250, 2.4, 12.0)
    assert (known.batch.key, known.executors_running, known.executors_pending) == ("1/5", 1, 0)
    assert known.batch.overhead_s == pytest.approx(0.1)
    assert known.hottest_share == pytest.approx(0.1)
    assert (known.executor_load, known.executor_capacity) == (0.6, 0.4)
    assert known.capacity_spread == (0.3, 0.5)
    assert known.remote_share == pytest.approx(0.25)
    assert (known.batch.planning_s, known.batch.state_s, known.pause_s) == (None, None, {})


def test_phases_and_pauses_are_read_by_their_label() -> None:
    driver = series("clicks", NOW_S)
    labels = {k: v for k, v in driver["gauges"][0].labels.items() if k != "__name__"}
    more = [
        ("batch_duration_seconds", {"phase": "planning"}, 0.2),
        ("batch_duration_seconds", {"phase": "latest_offset"}, 0.3),
        ("batch_duration_seconds", {"phase": "state_commit"}, 1.5),
        ("pause_seconds_total", {"how": "query"}, 3.0), ("changes_total", {"how": "query"}, 2.0),
        ("pause_seconds_total", {"how": "live"}, 0.0), ("changes_total", {"how": "live"}, 0.0),
    ]  # fmt: skip
    driver["gauges"] += [
        Sample({**labels, **own, "__name__": f"trimtab_{name}"}, value) for name, own, value in more
    ]
    known = seen(driver)
    assert isinstance(known, Signals)
    assert known.batch
    assert known.batch.planning_s == pytest.approx(0.5)
    assert known.batch.state_s == pytest.approx(1.5)
    assert known.pause_s == {How.QUERY: 1.5}


def test_a_timed_batch_is_known_as_such_and_its_share_counts_in_those_after_it() -> None:
    driver = series("clicks", NOW_S, batch_timed=1, batch_running_timed=1, sink_ratio=0.75)
    labels = {k: v for k, v in driver["gauges"][0].labels.items() if k != "__name__"}
    work = labels | {"__name__": "trimtab_batch_duration_seconds", "phase": "add_batch"}
    driver["gauges"].append(Sample(work, 2.0))
    known = seen(driver)
    assert isinstance(known, Signals)
    assert known.batch
    assert (known.batch.timed, known.running_timed) == (True, True)
    assert known.batch.sink_s == pytest.approx(1.5)
    plain = seen(series("clicks", NOW_S))
    assert isinstance(plain, Signals)
    assert plain.batch
    assert (plain.batch.timed, plain.running_timed, plain.batch.sink_s) == (False, False, None)


def test_of_several_sinks_the_slowest_is_known() -> None:
    driver = series("clicks", NOW_S)
    labels = {k: v for k, v in driver["gauges"][0].labels.items() if k != "__name__"}
    for sink, seconds in (("lake", 0.4), ("alerts", 1.5)):
        name = {"__name__": "trimtab_sink_write_seconds", "sink": sink}
        driver["gauges"].append(Sample(labels | name, seconds))
    known = seen(driver)
    assert isinstance(known, Signals)
    assert known.batch
    assert known.batch.slowest_sink == "alerts"
    plain = seen(series("clicks", NOW_S))
    assert isinstance(plain, Signals)
    assert plain.batch
    assert plain.batch.slowest_sink is None


def test_of_several_sources_the_one_with_most_that_waits_is_known() -> None:
    driver = series("clicks", NOW_S)
    labels = {k: v for k, v in driver["gauges"][0].labels.items() if k != "__name__"}
    for source, waiting in (("orders", 40.0), ("payments", 900.0)):
        name = {"__name__": "trimtab_source_lag_records", "source": source}
        driver["gauges"].append(Sample(labels | name, waiting))
    known = seen(driver)
    assert isinstance(known, Signals)
    assert known.waits_in == "payments"
    plain = seen(series("clicks", NOW_S))
    assert isinstance(plain, Signals)
    assert plain.waits_in is None


def test_an_empty_answer_gives_no_signals_and_says_so() -> None:
    words = "Prometheus has no series of this pipeline's driver"
    assert seen() == Missing(Reason.NO_METRICS, words)


@pytest.mark.parametrize(("age_s", "known"), [(14.9, True), (15.1, False), (3600, False)])
def test_a_heartbeat_older_than_three_scrapes_gives_no_signals(age_s: float, known: bool) -> None:
    driver = series("clicks", NOW_S, heartbeat_timestamp_seconds=NOW_S - age_s)
    found = seen(driver)
    if known:
        assert isinstance(found, Signals)
    else:
        words = f"the driver's last heartbeat was {age_s:.0f} s ago"
        assert found == Missing(Reason.METRICS_STALE, words)


def without(driver: dict[str, Any], name: str) -> dict[str, Any]:
    """The driver's series without one gauge, as where Prometheus gave NaN for it."""
    kept = [s for s in driver["gauges"] if s.labels["__name__"] != f"trimtab_{name}"]
    return driver | {"gauges": kept}


def test_no_heartbeat_gives_no_signals_even_where_the_rest_is_there() -> None:
    found = seen(without(series("clicks", NOW_S), "heartbeat_timestamp_seconds"))
    assert isinstance(found, Missing)
    assert found.words


def test_a_missing_value_is_unknown_and_never_zero() -> None:
    driver = series("clicks", NOW_S) | {"lag_records": [], "input_rate_long": []}
    found = seen(driver)
    assert isinstance(found, Signals)
    assert (found.lag_records, found.input_rate_long, found.cpu_ratio) == (None, None, None)


@pytest.mark.parametrize(
    "name", ["batch_id", "batch_records", "batch_duration_seconds", "batch_executors_min"]
)
def test_half_a_batch_is_no_batch(name: str) -> None:
    found = seen(without(series("clicks", NOW_S), name))
    assert isinstance(found, Signals)
    assert found.batch is None


def labelled(driver: dict[str, Any], **labels: str) -> dict[str, Any]:
    """The driver's series with more labels, or with others."""
    return {
        what: [Sample({**s.labels, **labels}, s.value) for s in samples]
        for what, samples in driver.items()
    }


def read(*drivers: dict[str, Any]) -> tuple[int | None, float | None]:
    """Run number and lag of what counts."""
    found = seen(*drivers)
    assert isinstance(found, Signals)
    return (found.batch.run if found.batch else None), found.lag_records


def test_only_the_drivers_own_pod_speaks_for_the_pipeline() -> None:
    driver = series("clicks", NOW_S, run_number=2)
    liar = series("clicks", NOW_S + 1, instance="10.0.0.9:9400", run_number=7, lag_records=0.0)
    for drivers in ((driver, liar), (liar, driver)):
        assert read(*drivers) == (2, 200.0)
    found, _ = gathered(driver, liar)
    assert found.skipped["other_pod"] == sum(len(samples) for samples in liar.values())
    named, liar = labelled(driver, pod=POD.pod), labelled(liar, pod="clicks-liar-0")
    assert read(named, liar) == (2, 200.0)


def test_a_pod_that_says_nothing_about_itself_is_told_by_its_address() -> None:
    assert read(series("clicks", NOW_S, run_number=2)) == (2, 200.0)
    six = Target("clicks-driver-0", frozenset({"fd00::7"}))
    found, _ = gathered(series("clicks", NOW_S, instance="[fd00::7]:9400"), targets={NAME: six})
    assert NAME in found.metrics


def test_the_name_of_the_pod_counts_more_than_its_address() -> None:
    """A shared Prometheus may give the label `instance` any value."""
    driver = labelled(series("clicks", NOW_S, run_number=2), pod=POD.pod, instance="node-a")
    other = labelled(series("clicks", NOW_S, run_number=7), pod="web-0")
    assert read(driver, other) == (2, 200.0)


def test_a_pod_that_was_replaced_does_not_speak_for_its_successor() -> None:
    old = series("clicks", NOW_S, instance="10.0.0.8:9400", run_number=1, lag_records=9.0)
    new = series("clicks", NOW_S - 8, run_number=2)
    old, new = labelled(old, pod=POD.pod), labelled(new, pod=POD.pod)
    for drivers in ((old, new), (new, old)):
        assert read(*drivers) == (2, 200.0)


def test_among_processes_of_one_pod_the_newest_that_can_be_believed_counts() -> None:
    def process(instance: str, age_s: float, run: int) -> dict[str, Any]:
        beat = {"heartbeat_timestamp_seconds": NOW_S - age_s, "run_number": run}
        return labelled(series("clicks", NOW_S, **beat), pod=POD.pod, instance=instance)

    drivers = [process("a", 9, 1), process("b", 1, 2), process("c", -3600, 3)]
    for order in (drivers, drivers[::-1]):
        assert read(*order)[0] == 2


def test_series_of_other_pods_alone_are_told() -> None:
    found, _ = gathered(series("clicks", NOW_S, instance="10.0.0.9:9400"))
    assert (found.metrics, found.strangers) == ({}, {NAME})


def test_a_pipeline_without_a_driver_has_no_metrics() -> None:
    driver = series("clicks", NOW_S)
    found, _ = gathered(driver, targets={("n", "other"): POD})
    assert found.metrics == {}
    assert found.skipped == {"no_driver": sum(len(samples) for samples in driver.values())}


@pytest.mark.parametrize(("ahead_s", "known"), [(14.9, True), (15.1, False), (86_400, False)])
def test_a_heartbeat_from_the_future_is_not_believed(ahead_s: float, known: bool) -> None:
    found = seen(series("clicks", NOW_S, heartbeat_timestamp_seconds=NOW_S + ahead_s))
    assert isinstance(found, Signals) == known
    if isinstance(found, Missing):
        assert found.reason is Reason.METRICS_STALE
        assert f"{ahead_s:.0f} s in the future" in found.words


def test_a_driver_with_too_many_series_is_told_and_the_others_are_served() -> None:
    labels = {"namespace": "n", "pipeline": "clicks", "instance": "10.0.0.1:9400"}
    crowd = {"crowded": [Sample(labels, 5e6)], "lag_records": [Sample(labels, 7.0)]}
    other = ("n", "other")
    targets = {NAME: POD, other: Target("other-driver-0", POD.addresses)}
    found, _ = gathered(crowd, series("other", NOW_S), targets=targets)
    words = signals(found.metrics[NAME], 0.95, NOW_S, SCRAPE_S)
    assert isinstance(words, Missing)
    assert words.reason is Reason.NO_METRICS
    assert "5000000 series" in words.words
    assert str(MAX_SERIES) in words.words
    assert isinstance(signals(found.metrics[other], 0.95, NOW_S, SCRAPE_S), Signals)


@pytest.mark.parametrize(
    "labels",
    [
        {"__name__": "trimtab_batch_id", "namespace": "n"},
        {"__name__": "trimtab_batch_id", "pipeline": "clicks"},
        {"namespace": "n", "pipeline": "clicks", "instance": "10.0.0.1:9400"},
        {"__name__": "up", "namespace": "n", "pipeline": "clicks", "instance": "10.0.0.1:9400"},
        {},
    ],
)
def test_a_series_without_its_labels_is_left_out(labels: dict[str, str]) -> None:
    found, _ = gathered({"gauges": [Sample(labels, 1.0)]})
    assert (found.metrics, found.skipped) == ({}, {"unlabelled": 1})


def test_a_failure_of_any_query_makes_all_unknown() -> None:
    found, _ = gathered(series("clicks", NOW_S), failure="no answer in 5 s")
    assert (found.metrics, found.failure) == ({}, "no answer in 5 s")


def test_calls_are_those_of_the_stage_that_has_the_most() -> None:
    driver = series("clicks", NOW_S)
    labels = {k: v for k, v in driver["gauges"][0].labels.items() if k != "__name__"}
    for stage, most, seconds in (("prices", 8.0, 0.01), ("names", 12.0, 0.02), ("idle", 0.0, None)):
        for name, value in (("pending_calls", most), ("batch_pending_call_seconds", seconds)):
            if value is not None:
                own = {"__name__": f"trimtab_{name}", "stage": stage}
                driver["gauges"].append(Sample(labels | own, value))
    known = seen(driver)
    assert isinstance(known, Signals)
    assert (known.pending_calls, known.pending_call_s) == (12.0, 0.02)
    without = seen(series("clicks", NOW_S))
    assert isinstance(without, Signals)
    assert (without.pending_calls, without.pending_call_s) == (None, None)
