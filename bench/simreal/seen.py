"""Observations of a pipeline, real or simulated, and the two figures that are compared."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.simreal.settings import Setting

SCRAPED = {
    "trimtab_batch_id": "id",
    "trimtab_batch_committed_timestamp_seconds": "committed_s",
    "trimtab_batch_records": "records",
    "trimtab_batch_duration_seconds": "duration_s",
    "trimtab_batch_record_latency_seconds": "p95_s",
    "trimtab_batch_executors_min": "executors",
    "trimtab_records_total": "total",
}
"""The metrics from which a batch is read, and their fields."""

LABELS = {("phase", "total"), ("quantile", "0.95")}
"""Which series to use of a metric with several."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One committed batch."""

    id: int
    committed_s: float
    """Seconds since some common origin."""
    records: float
    duration_s: float
    p95_s: float
    """95th percentile of its records' latency."""
    executors: int
    """Fewest executors while it ran."""
    total: float
    """Records committed up to and including this batch."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A setting and the batches of its window."""

    setting: Setting
    batches: tuple[Batch, ...]
    lag: float
    """Lag in records when the window began."""
    machine_load: float
    """The machine's one-minute load average when the window ended."""
    restart_s: float | None = None
    """Seconds of the query's restart into the setting; None without one."""

    @property
    def rate(self) -> float:
        """Records/s processed between the first commit and the last."""
        return rate(self.batches)

    @property
    def p95_s(self) -> float:
        """Mean of the batches' 95th percentiles."""
        return statistics.fmean(b.p95_s for b in self.batches)

    def document(self) -> dict[str, Any]:
        """As plain JSON values; times are relative to the first commit."""
        origin_s, before = self.batches[0].committed_s, self.batches[0].total
        rows = [
            [b.id, round(b.committed_s - origin_s, 3), b.records, round(b.duration_s, 3),
             round(b.p95_s, 3), b.executors, b.total - before]
            for b in self.batches
        ]  # fmt: skip
        return {
            "setting": asdict(self.setting),
            "lag": self.lag,
            "machine_load": self.machine_load,
            "restart_s": self.restart_s,
            "batches": rows,
        }

    @classmethod
    def read(cls, document: dict[str, Any]) -> Measured:
        """The inverse of `document`."""
        batches = tuple(Batch(*row) for row in document["batches"])
        setting = Setting(**document["setting"])
        lag, machine_load = document["lag"], document["machine_load"]
        return cls(setting, batches, lag, machine_load, document.get("restart_s"))


def rate(batches: Sequence[Batch]) -> float:
    """Records/s processed between the first commit and the last; batches may be missing."""
    first, last = batches[0], batches[-1]
    return (last.total - first.total) / (last.committed_s - first.committed_s)


def from_prometheus(result: Sequence[dict[str, Any]]) -> list[Batch]:
    """Each batch that a scrape saw, once and in order, from the raw samples of a range.

    All series of one scrape share its timestamp, so the samples of one timestamp are one batch.
    """
    scrapes: dict[float, dict[str, float]] = {}
    for series in result:
        labels = series["metric"]
        field = SCRAPED.get(labels["__name__"])
        told = {(k, v) for k, v in labels.items() if k in {"phase", "quantile"}}
        if field is None or not told <= LABELS:
            continue
        for at_s, value in series["values"]:
            scrapes.setdefault(float(at_s), {})[field] = float(value)
    batches: dict[int, Batch] = {}
    for _, row in sorted(scrapes.items()):
        if len(row) == len(SCRAPED):
            number, executors = int(row.pop("id")), int(row.pop("executors"))
            batches[number] = Batch(id=number, executors=executors, **row)
    return [batch for _, batch in sorted(batches.items())]
