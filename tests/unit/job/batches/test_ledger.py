"""The ledger's arithmetic: what a count misses the XOR shows, and what that misses the sum does."""

from __future__ import annotations

import pytest
from tests.unit.job.samples import progress
from tests.unit.job.telemetry.test_metrics import exported

from trimtab.job.batches.ledger import Side
from trimtab.job.batches.progress import parse
from trimtab.job.telemetry.driver_state import DriverState

READ = Side(3, total=6, xor=1 ^ 2 ^ 3)


@pytest.mark.parametrize(
    ("handed_on", "differs"),
    [
        (READ, 0),
        (Side(2, total=3, xor=1 ^ 2), 1),  # one lost
        (Side(5, total=12, xor=1 ^ 2), 2),  # one three times
        (Side(3, total=7, xor=1 ^ 2 ^ 4), 1),  # one lost, another one added
        (Side(3, total=9, xor=1 ^ 2 ^ 3), 1),  # the XOR is the same, the sum is not
        (Side(3), 0),  # its records have lost their identity: the count is all there is
        (Side(0), 3),
    ],
)
def test_what_differs(handed_on: Side, differs: int) -> None:
    assert READ.differs(handed_on) == differs
    assert handed_on.differs(READ) == differs


def driver(*sinks: dict[str, int]) -> DriverState:
    made = DriverState()
    made.totals.ledger_mismatch = 0
    for sink in sinks:
        event = progress()
        event["observedMetrics"]["trimtab_source"] |= {"records": 40, "xor": -7, "total": 2**47}
        event["observedMetrics"]["trimtab_sink"] = sink
        report = parse(event)
        assert report is not None
        made.totals.add(report)
    return made


def test_both_sides_add_up_over_the_batches() -> None:
    same = {"records": 40, "xor": -7, "total": 2**47}
    samples = exported(driver(same, same, same))
    assert samples["ledger_mismatch_total"] == 0
    assert samples['ledger_records_total{side="sink"}'] == 120
    assert samples['ledger_xor{side="source"}'] == samples['ledger_xor{side="sink"}'] == 2**48 - 7
    assert samples['ledger_sum{side="source"}'] == 2**47  # the lower 48 bits of three times that
    assert samples['ledger_sum{side="sink"}'] == 2**47


def test_as_many_records_but_others_are_a_mismatch() -> None:
    assert exported(driver({"records": 40, "xor": 9, "total": 2**47}))["ledger_mismatch_total"] == 1


def test_without_an_identity_there_is_no_xor() -> None:
    samples = exported(driver({"records": 40}))
    assert samples["ledger_mismatch_total"] == 0
    assert 'ledger_xor{side="sink"}' not in samples
