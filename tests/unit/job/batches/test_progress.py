from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.job.samples import T0, progress

from trimtab.job.batches.ledger import Side
from trimtab.job.batches.progress import (
    AGE_SHARES,
    ASIDE,
    SINK,
    SLICES,
    SOURCE,
    BatchReport,
    ProgressListener,
    Recounted,
    parse,
)


def test_ages_that_were_observed_stand_for_themselves() -> None:
    """In real-time mode a record is written long before its batch is committed."""
    event = progress()
    seen = event["observedMetrics"]["trimtab_source"]
    for name in ("stamps", "stamp_sum"):
        del seen[name]
    ages = [10.0 * (1 + number) for number in range(len(AGE_SHARES))]
    seen |= {"ages": ages, "age_sum": 5000.0, "stamped": 40, "ahead": 2}
    report = parse(event)
    assert report is not None
    assert report.latency is not None
    assert report.latency.quantiles == {0.5: 0.01, 0.95: 0.02, 0.99: 0.03}
    assert report.latency.slices[0] == 0.04
    assert (report.latency.total_s, report.latency.clipped) == (5.0, 2)


def test_what_was_counted_again_takes_the_place_of_what_spark_has_seen() -> None:
    """Of a batch that was computed again without some records; only of that batch."""
    heard: list[BatchReport] = []
    seen = progress()["observedMetrics"][SOURCE]
    recounted: Recounted = {
        3: {SOURCE: seen | {"records": 38}, SINK: {"records": 38}, ASIDE: {"records": 2}}
    }
    listener = ProgressListener(lambda _: None, heard.append, lambda: 1, lambda: ("",), recounted)
    event: Any = SimpleNamespace(progress=SimpleNamespace(json=json.dumps(progress())))
    listener.onQueryProgress(event)
    listener.onQueryProgress(event)
    assert heard[0].read is not None
    assert heard[0].handed_on is not None
    assert (heard[0].records, heard[0].read.records, heard[0].handed_on.records) == (40, 38, 38)
    assert heard[0].read.differs(heard[0].handed_on) == 0
    assert heard[0].latency is not None
    assert heard[1].read is not None
    assert heard[1].read.records == 40
    assert not recounted


def test_reads_times_phases_and_offsets() -> None:
    report = parse(progress())
    assert report is not None
    assert (report.batch_id, report.records) == (3, 40)
    assert report.started_at == T0
    assert report.committed_at == T0 + 1
    assert report.duration_s == 1
    assert report.phases == pytest.approx(
        {"planning": 0.03, "latest_offset": 0.03, "add_batch": 0.7, "wal": 0.1, "total": 1.0}
    )
    assert report.end_offsets == {("in", 0): 20, ("in", 1): 20}
    assert report.state is None


def test_latency_is_commit_time_minus_timestamp() -> None:
    report = parse(progress())
    assert report is not None
    assert report.latency is not None
    assert report.latency.quantiles == pytest.approx({0.5: 0.5, 0.95: 2.0, 0.99: 3.0})
    assert report.latency.slices == pytest.approx([1.0] * len(SLICES))
    assert sum(share for _, share in SLICES) == pytest.approx(1.0)
    assert report.latency.total_s == pytest.approx(40.0)
    assert report.latency.clipped == 2


def test_a_clock_ahead_of_ours_gives_zero_not_less() -> None:
    event = progress()
    event["observedMetrics"]["trimtab_source"]["stamps"] = [(T0 + 9) * 1000] * len(AGE_SHARES)
    report = parse(event)
    assert report is not None
    assert report.latency is not None
    assert set(report.latency.quantiles.values()) == {0.0}


@pytest.mark.parametrize(("latest", "binding"), [(20, False), (21, True)])
def test_the_limit_binds_when_records_were_left(latest: int, binding: bool) -> None:
    event = progress()
    event["sources"][0]["latestOffset"]["in"]["1"] = latest
    report = parse(event)
    assert report is not None
    assert report.limit_binding is binding


def test_a_trigger_without_a_batch_is_no_report() -> None:
    assert parse(progress(durationMs={"latestOffset": 5, "triggerExecution": 6})) is None


def test_without_records_there_is_no_latency() -> None:
    event = progress(numInputRows=0)
    event["observedMetrics"] = {"trimtab_source": {"records": 0, "stamps": None}}
    report = parse(event)
    assert report is not None
    assert report.latency is None
    assert report.handed_on is None
    assert report.read == Side(0)


def test_adds_up_the_state_of_all_operators() -> None:
    operator = {"numRowsTotal": 5, "memoryUsedBytes": 100, "commitTimeMs": 20}
    report = parse(progress(stateOperators=[operator, operator]))
    assert report is not None
    assert report.state is not None
    assert (report.state.rows, report.state.bytes, report.state.commit_s) == (10, 200, 0.04)
    assert report.phases["state_commit"] == 0.04


@pytest.mark.parametrize(
    ("slots", "tasks", "commit_ms", "seconds"),
    [
        (1, 4, 400, 0.4),
        (2, 4, 400, 0.2),
        (8, 4, 400, 0.1),  # no more than there are tasks
        (0, 4, 400, 0.4),
        (1, 4, 4000, 0.7),  # a part of addBatch
    ],
)
def test_the_commit_of_state_takes_the_batch_less_than_the_sum_of_its_tasks(
    slots: int, tasks: int, commit_ms: int, seconds: float
) -> None:
    operator = {
        "numRowsTotal": 5, "memoryUsedBytes": 100, "commitTimeMs": commit_ms,
        "numShufflePartitions": tasks, "customMetrics": {"rocksdbSstFileSize": 30},
    }  # fmt: skip
    report = parse(progress(stateOperators=[operator]), slots)
    assert report is not None
    assert report.state is not None
    assert report.state.commit_s == pytest.approx(seconds)
    assert report.state.bytes == 130


def test_offsets_without_a_record_and_late_rows_are_counted() -> None:
    source = progress()["sources"][0] | {
        "startOffset": {"in": {"0": 100, "1": 10}},
        "endOffset": {"in": {"0": 150, "1": 20, "2": 5}},
    }  # fmt: skip
    state = {"numRowsTotal": 1, "memoryUsedBytes": 1, "numRowsDroppedByWatermark": 3}
    found = parse(
        progress(sources=[source], observedMetrics={}, numInputRows=55, stateOperators=[state])
    )
    assert found is not None
    assert (found.planned, found.skipped, found.late) == (60, 5, 3)
    first = parse(
        progress(
            sources=[source | {"startOffset": None}],
            observedMetrics={},
            numInputRows=55,
        )
    )
    assert first is not None
    assert (first.planned, first.skipped) == (None, 0)


def test_records_without_a_time_do_not_count_as_old() -> None:
    event = progress()
    event["observedMetrics"]["trimtab_source"] |= {"stamped": 1, "stamp_sum": (T0 + 0.5) * 1000}
    found = parse(event)
    assert found is not None
    assert found.latency is not None
    assert found.latency.total_s == pytest.approx(found.committed_at - T0 - 0.5)
    event["observedMetrics"]["trimtab_source"] |= {"stamped": 0, "stamps": None}
    none = parse(event)
    assert none is not None
    assert none.latency is None


def test_the_slowest_records_show_in_the_histogram() -> None:
    assert sum(share for _, share in SLICES) == pytest.approx(1)
    assert max(quantile for quantile, _ in SLICES) == 1.0
    assert all(share < 0.01 for quantile, share in SLICES if quantile > 0.99)


def test_a_record_that_is_read_twice_counts_once() -> None:
    """A query that joins two topics uses the source twice, and Spark counts the rows of both."""
    report = parse(progress(numInputRows=80))
    assert report is not None
    assert (report.records, report.skipped) == (40, 0)


def test_records_that_the_query_never_sees_are_read_too() -> None:
    event = progress(numInputRows=43)
    event["observedMetrics"]["trimtab_undecodable"] = {"records": 3, "kept": []}
    report = parse(event)
    assert report is not None
    assert (report.records, report.read) == (43, Side(40))


def test_a_source_without_topics_has_no_offsets_of_them() -> None:
    event = progress()
    event["sources"] = [{"startOffset": 3, "endOffset": 5, "latestOffset": 6}]
    report = parse(event)
    assert report is not None
    assert (report.end_offsets, report.planned, report.skipped) == ({}, None, 0)
    assert report.limit_binding is False
    assert (report.records, report.read) == (40, Side(40))
    assert report.latency is not None
