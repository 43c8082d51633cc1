"""What a driver itself says now, by the names that the queries of Prometheus have.

A rate needs two reads; what looks further back stays with Prometheus. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from trimtab.api.figure import PREFIX, Reader
from trimtab.api.figures import DRIVER
from trimtab.ports import Sample
from trimtab.reconcile.observe.gather import DriverMetrics, own_labels
from trimtab.reconcile.observe.queries import AS_THEY_STAND, MAX_SERIES
from trimtab.reconcile.observe.targets import Target

Fold = Callable[[Sequence[float]], float]

FOLDS: Mapping[str, tuple[str, Fold]] = {
    "lag_records": ("lag_records", sum),
    "lag_s": ("lag_seconds", max),
    "partitions": ("partition_input_total", len),
    "executor_load": ("executor_load", fmean),
    "executor_capacity": ("executor_capacity", fmean),
    "least_capacity": ("executor_capacity", min),
    "most_capacity": ("executor_capacity", max),
}
"""By the name of a query: the figure that it aggregates, and how."""

RATE = "input_rate"
INPUT = "partition_input_total"
LONGEST_S = 15.0
"""Seconds between two polls of the input, above which the rate between them is no longer new."""

_FOLDED = frozenset(figure.series for figure in DRIVER if figure.reader is Reader.NOW)

NOT_TOLD = (
    "does not say that it runs this pipeline: build its image on the operator's trimtab-pipeline"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What one driver said of itself at one time."""

    address: str
    values: Mapping[tuple[str, str], float]
    ends: Mapping[str, float]
    """How much has ever come into each partition."""
    rate: float | None = None
    """Records/s of input since the read before; None if that cannot be told."""

    def number(self, name: str) -> float | None:
        """A figure without labels."""
        return self.values.get((name, ""))


def said(samples: Iterable[Sample], target: Target, before: Said | None) -> Said | str:
    """What a driver says, given what it said before; or why it does not count."""
    values: dict[tuple[str, str], float] = {}
    folded: dict[str, dict[str, float]] = defaultdict(dict)
    for sample in samples:
        name = sample.labels["__name__"].removeprefix(PREFIX)
        if name in AS_THEY_STAND:
            values[name, own_labels(sample.labels)] = sample.value
        elif name in _FOLDED:
            folded[name][own_labels(sample.labels)] = sample.value
    if len(values) > MAX_SERIES:
        return f"has {len(values)} series, and at most {MAX_SERIES} are read"
    if values.get(("pipeline_info", target.uid)) != 1:
        return NOT_TOLD
    for query, (figure, fold) in FOLDS.items():
        if found := folded.get(figure):
            values[query, ""] = float(fold(list(found.values())))
    now = Said(target.address, values, folded.get(INPUT, {}))
    rate = _rate(before, now)
    if rate is not None:
        values[RATE, ""] = rate
    return Said(now.address, values, now.ends, rate)


def _rate(before: Said | None, now: Said) -> float | None:
    """Records/s between two polls of the input; None over a start of the driver or of the topic."""
    if before is None or _restarted(before, now):
        return None
    was_s, polled_s = (each.number("lag_polled_timestamp_seconds") for each in (before, now))
    if was_s is None or polled_s is None:
        return None
    if polled_s == was_s:
        return before.rate
    span_s = polled_s - was_s
    came = sum(end - before.ends[partition] for partition, end in now.ends.items())
    return came / span_s if 0 < span_s <= LONGEST_S else None


def _restarted(before: Said, now: Said) -> bool:
    """Whether a counter began anew: the driver's, or the end of a partition."""
    if before.address != now.address or before.ends.keys() != now.ends.keys():
        return True
    batches = [each.number("batches_total") or 0.0 for each in (before, now)]
    fell = any(end < before.ends[partition] for partition, end in now.ends.items())
    return fell or batches[1] < batches[0]


def over(history: DriverMetrics | None, now: Said) -> DriverMetrics:
    """What a driver says now, and of what Prometheus has seen only the figures of windows."""
    known = history.values if history else {}
    looked_back = {
        key: value
        for key, value in known.items()
        if key[0] not in AS_THEY_STAND and key[0] not in FOLDS
    }
    return DriverMetrics(looked_back | dict(now.values))
