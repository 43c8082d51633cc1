"""The formulas with the tuning notes' own numbers (seed 000)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trimtab.sizing import batches, heap, jvm, littles_law
from trimtab.sizing.collector import Collector
from trimtab.sizing.sheet import Figures, sheet

MIB = 2**20


def test_spout_parallelism() -> None:
    assert batches.slots(executors=4, cores=4) == 16


def test_batch_records_and_kilobytes() -> None:
    records = batches.batch_records(target_s=0.8, record_s=0.008, slots=16)
    assert records == 1600
    assert round(batches.batch_kb(records, 1000), -2) == 1600  # the notes round to that


def test_fetch_bytes_of_a_partition() -> None:
    assert batches.fetch_bytes(batches.batch_kb(1600, 1000), 16) == 100_000
    # from the rounded 1,600 kB, which the notes call about 100,000
    assert batches.fetch_bytes(1600, 16) == 102_400


def test_max_pending_lies_far_below_the_heap() -> None:
    pending = heap.pending_batches(ratio=2, slots=16)
    assert pending == 32
    assert heap.pending_bytes(1600, pending) == 50 * MIB
    assert heap.pending_bytes(1600, pending) / (768 * MIB) < heap.PENDING_SHARE


def test_the_state_stage_must_not_choke_the_flow() -> None:
    # eight workers of 800 ms leave the stage behind them less than 100 ms
    assert batches.longest_serial_s(0.8, 8) == pytest.approx(0.1)


def test_send_buffers_are_a_power_of_two_above_the_batch() -> None:
    assert batches.power_of_two_above(8000) == 8192
    assert batches.power_of_two_above(8192) == 16_384
    assert batches.power_of_two_above(1) == 2


def test_littles_law() -> None:
    assert littles_law.throughput(in_flight=1, seconds=0.1) == 10
    assert littles_law.in_flight(rate=10, seconds=0.1) == pytest.approx(1)
    # 1000 calls/s of 8 ms are 8 at once: one task needs 8, eight tasks one each
    assert littles_law.calls_per_task(1000, 0.008, 1) == 8
    assert littles_law.calls_per_task(1000, 0.008, 8) == 1
    assert littles_law.calls_per_task(1001, 0.008, 8) == 2


def test_the_slowest_stages_p95_becomes_the_median_of_the_flow() -> None:
    assert littles_law.quantile_at_median(13) < 0.95 < littles_law.quantile_at_median(14)
    # with the notes' 20 stages it is each stage's p96.6
    assert littles_law.quantile_at_median(20) == pytest.approx(0.966, abs=0.001)


def test_generations_of_the_heap() -> None:
    # 1000 MB of new generation and little in the old one: case b of the notes
    assert heap.old_gen_bytes(occupied_bytes=100 * MIB, new_gen_bytes=1000 * MIB) == 1500 * MIB
    assert heap.old_gen_bytes(occupied_bytes=900 * MIB, new_gen_bytes=1000 * MIB) == 1800 * MIB
    # 800 MB of new objects in a new generation of 1000 MB, in a heap of 2500 MB
    assert heap.new_gen_bytes(80 * MIB) == 1000 * MIB


def test_the_sheet_and_the_advisor_agree_on_the_notes_heap() -> None:
    lines = sheet(replace(NOTES, allocated_bytes_per_s=80 * MIB, occupied_bytes=100 * MIB))
    said = {line.name: line.value for line in lines}
    assert said["new generation"] == "1000 MiB"
    assert said["old generation"] == "1500 MiB"
    assert said["heap"] == "2500 MiB"
    advice = jvm.advise(
        jvm.Figures(
            new=heap.Collections(600, 12, 600), old=heap.Collections(0, 0, 600),
            heap_bytes=768 * MIB, slots=4, collector=Collector.SERIAL,
            allocated_bytes_per_s=80 * MIB, live_bytes=100 * MIB,
        )
    )  # fmt: skip
    assert advice is not None
    assert (advice.new_bytes, advice.heap_bytes) == (1000 * MIB, 2500 * MIB)


@pytest.mark.parametrize(
    ("gib", "says"),
    [(2.5, ""), (12, ""), (13, "many clouds"), (32, "many clouds"), (33, "everywhere")],
)  # fmt: skip
def test_heaps_that_the_notes_warn_of(gib: float, says: str) -> None:
    warning = heap.heap_warning(gib * heap.GIB)
    assert says in warning
    assert bool(warning) == bool(says)


NOTES = Figures(
    record_s=0.008, target_s=0.8, executors=4, cores=4, partitions=16, record_bytes=1000,
    heap_bytes=768 * MIB,
)  # fmt: skip


def test_the_sheet_derives_the_notes_table() -> None:
    values = {line.name: line.value for line in sheet(NOTES)}
    assert values["slots"] == "16"
    assert values["capacity"] == "2000 records/s"
    assert values["maxOffsetsPerTrigger"] == "1600"
    assert values["fetch.maxPartitionBytes"] == "100000"
    assert values["pending"] == "32 slots' worth"
    assert values["pending / heap"] == "2%"
    assert "maxInFlight" not in values  # no call was spoken of


def test_a_figure_of_nothing_is_refused_by_its_name() -> None:
    bad = Figures(
        record_s=0.0, target_s=0.8, executors=4, cores=4, partitions=16, record_bytes=1000
    )
    with pytest.raises(ValueError, match="record_s must be above 0"):
        sheet(bad)


def test_partitions_share_out_evenly() -> None:
    assert [batches.aligned_partitions(n, 4) for n in (1, 4, 5, 16, 17)] == [4, 4, 8, 16, 20]
