"""Sources that grow where they are: a Delta table, and files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kafka.driver import OF_KAFKA, Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

ALL = {"sql": "SELECT timestamp, value FROM source"}


def values(files: Path) -> Counter[int]:
    lines = [line for path in files.rglob("*.json") for line in path.read_text().splitlines()]
    return Counter(json.loads(line)["value"] for line in lines)


@LONG
def test_a_delta_table_is_read_on_where_it_was_and_each_row_comes_once(
    on_its_own: Callable[..., Driver], tmp_path: Path
) -> None:
    """Two pipelines in a row: the first one fills the table of the second."""
    table, files = f"file://{tmp_path}/table", tmp_path / "files"
    fills = on_its_own(transform=ALL, sink={"kind": "delta", "uri": table})
    reads = on_its_own(
        source={"kind": "delta", "uri": table, "timeColumn": "timestamp"},
        transform=ALL,
        sink={"kind": "files", "format": "json", "uri": str(files)},
    )
    for driver in (fills, reads):
        driver.settings(trigger="200ms")
    reads.start()
    reads.until(lambda _: "SourceNotFound" in reads.get("/ready")[1])
    fills.start()
    fills.until(lambda m: m.get("records_total", 0) >= 100)
    seen = reads.until(lambda m: m.get("records_total", 0) >= 100)
    assert [name for name in seen if name.startswith(OF_KAFKA)] == [], "nobody knows"
    assert 0 < seen['batch_record_latency_seconds{quantile="0.95"}'] < 120
    assert (seen["ledger_mismatch_total"], seen["skipped_records_total"]) == (0, 0)
    assert seen['ledger_records_total{side="sink"}'] == seen["records_total"]
    assert reads.terminate() == 0
    commits = reads.directory / "checkpoint" / "1" / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    for file in (commits / str(last), commits / f".{last}.crc"):
        file.unlink(missing_ok=True)
    before = len(values(files))
    fills.until(lambda m: m.get("records_total", 0) >= before + 100)
    assert fills.terminate() == 0
    reads.start()
    reads.until(lambda _: len(values(files)) >= before + 100)
    assert reads.terminate() == 0
    found = values(files)
    assert sorted(found) == list(range(len(found)))
    assert set(found.values()) == {1}


def test_files_are_read_once_each_and_a_batch_has_so_many(
    on_its_own: Callable[..., Driver], tmp_path: Path
) -> None:
    folder, files = tmp_path / "dropped", tmp_path / "files"
    source: dict[str, Any] = {
        "kind": "files", "format": "json", "uri": f"file://{folder}", "timeColumn": "timestamp",
        "schema": "timestamp TIMESTAMP, value BIGINT", "maxFilesPerTrigger": 2,
    }  # fmt: skip

    def drop(number: int) -> None:
        lines = [
            json.dumps({"timestamp": "2026-01-01T00:00:00Z", "value": 10 * number + each})
            for each in range(10)
        ]
        (folder / f".{number}.json").write_text("\n".join(lines))
        (folder / f".{number}.json").rename(folder / f"{number}.json")

    sink = {"kind": "files", "format": "json", "uri": str(files)}
    driver = on_its_own(source=source, transform=ALL, sink=sink)
    driver.settings(trigger="200ms")
    driver.start()
    driver.until(lambda _: "there is no directory" in driver.get("/ready")[1])
    folder.mkdir()
    for number in range(5):
        drop(number)
    driver.until(lambda m: m.get("records_total", 0) >= 50)
    drop(5)
    seen = driver.until(lambda m: m.get("records_total", 0) >= 60)
    assert seen["records_total"] == 60
    assert seen["batches_total"] >= 4, "two files at most in each"
    assert driver.terminate() == 0
    assert values(files) == Counter(range(60))

    wrong = on_its_own(source=source | {"timeColumn": "at"}, transform=ALL, sink=sink)
    wrong.settings(trigger="200ms")
    wrong.start()
    end = wrong.termination()
    assert end["reason"] == "TransformFailed"
    assert "source.files.timeColumn names at, which the source does not have" in end["message"]
