"""A test that passes is one try of its lines of docs/reliability.md, see tests/faults/lines.py."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from tests.faults.lines import BY_TEST
from tests.faults.record import Row, record
from tests.long import skip

# a loaded machine may take seconds over an example
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

ROW = pytest.StashKey[Row]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip(items)


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Row:
    """The row of a test: it fills in what was lost, how long it was unwell, and what was said."""
    row = Row("", 1)
    request.node.stash[ROW] = row
    return row


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep a row for each line of a test that passes."""
    report = yield
    if call.when == "call" and report.passed:
        row = item.stash.get(ROW, Row("", 1))
        test = hashlib.sha256(item.nodeid.encode()).hexdigest()[:12]
        for line in BY_TEST.get(item.nodeid.partition("[")[0], ()):
            record(replace(row, fault=line), test)
    return report
