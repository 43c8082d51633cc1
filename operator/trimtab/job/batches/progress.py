"""Spark's progress event of one batch as a frozen report, and the listener that hears it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from trimtab.job.batches.ledger import Side, side, together
from trimtab.job.query.offset_log import Offsets, parse_offsets

SOURCE = "trimtab_source"
SINK = "trimtab_sink"
ASIDE = "trimtab_undecodable"
"""Records that were read, and that the query never sees."""


Recounted = dict[int, Mapping[str, Mapping[str, Any]]]
"""By batch: what was observed under each name when it was computed again; Spark does not see it."""


def observation(source: str) -> str:
    """The observation of one of several sources; a single one has no name."""
    return f"{SOURCE}_{source}" if source else SOURCE


QUANTILES = (0.5, 0.95, 0.99)
SLICES = (
    *(((i + 0.5) / 20, 0.05) for i in range(19)),
    (0.97, 0.04), (0.995, 0.009), (1.0, 0.001),
)  # fmt: skip
"""The parts of a batch that the histogram knows: a quantile inside each, and its share of the
records. The slow end is cut finer, or a few slow records would not show at all."""
AGE_SHARES = (*QUANTILES, *(quantile for quantile, _ in SLICES))
"""The latency quantiles that are observed: three for the control loop, the others for the
histogram."""

PHASES = {
    "queryPlanning": "planning",
    "latestOffset": "latest_offset",
    "getBatch": "latest_offset",
    "addBatch": "add_batch",
    "walCommit": "wal",
    "commitOffsets": "wal",
    "triggerExecution": "total",
}


@dataclass(frozen=True, slots=True)
class Latency:
    """Age of a batch's records at its commit, in seconds, never below 0."""

    quantiles: Mapping[float, float]
    slices: tuple[float, ...]
    """As in `SLICES`."""
    total_s: float
    clipped: int


@dataclass(frozen=True, slots=True)
class StateSize:
    """The state of all stateful operators after a batch."""

    rows: int
    bytes: int
    """Memory of the state stores; with RocksDB also their files."""
    commit_s: float
    """Part of the batch's duration, given that committing tasks share the slots."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One committed batch, as Spark reports it; times in seconds since 1970."""

    run_id: str
    batch_id: int
    records: int
    started_at: float
    committed_at: float
    phases: Mapping[str, float]
    end_offsets: Offsets
    limit_binding: bool
    latency: Latency | None
    read: Side | None
    handed_on: Side | None
    bytes: int | None
    """Size of the records' keys and values."""
    state: StateSize | None
    planned: int | None = None
    """Offsets from the batch's begin to its end; more than its records where Kafka has gaps."""
    late: int = 0
    """Rows that came after the watermark and were dropped."""

    @property
    def skipped(self) -> int:
        """Offsets without a record that was read: transactions, compaction, or a loss."""
        return 0 if self.planned is None else max(0, self.planned - self.records)

    @property
    def duration_s(self) -> float:
        """From the trigger to the commit."""
        return self.committed_at - self.started_at


def parse(
    progress: Mapping[str, Any], slots: int = 1, names: Sequence[str] = ("",)
) -> BatchReport | None:
    """The report of a progress event; None if the trigger ran no batch.

    `slots` is how many tasks could run at once, `names` are those of the sources, in Spark's order.
    """
    durations = progress.get("durationMs") or {}
    if "addBatch" not in durations:
        return None
    started = datetime.fromisoformat(progress["timestamp"]).timestamp()
    committed = started + durations["triggerExecution"] / 1000
    once = list(dict.fromkeys(names))  # the event has a source that is read twice once, or twice
    order = names if len(progress["sources"]) == len(names) else once
    sources = [_named(each, name) for each, name in zip(progress["sources"], order, strict=False)]
    observed = progress.get("observedMetrics") or {}
    seen = [observed.get(observation(name)) or {} for name in once]
    state = _state(progress.get("stateOperators") or [], slots, durations["addBatch"] / 1000)
    read, aside = together(map(side, seen)), (observed.get(ASIDE) or {}).get("records", 0)
    return BatchReport(
        run_id=progress["runId"],
        batch_id=progress["batchId"],
        # a query that uses the source twice, as to join two topics, reads each record twice
        records=read.records + aside if read else progress["numInputRows"],
        started_at=started,
        committed_at=committed,
        phases=_phases(durations, state),
        end_offsets={k: v for s in sources for k, v in s["endOffset"].items()},
        limit_binding=any(_cut_short(s) for s in sources),
        latency=_slowest([_latency(each, committed) for each in seen]),
        read=read,
        handed_on=side(observed.get(SINK) or {}),
        bytes=_sum(each.get("bytes") for each in seen),
        state=state,
        planned=_planned(sources),
        late=sum(o.get("numRowsDroppedByWatermark", 0) for o in progress.get("stateOperators", ())),
    )


def _named(source: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A source of the event, its offsets by the names that its topics have here."""
    found = {field: _offsets(source.get(field), name) for field in _OFFSETS}
    return {**source, **found}


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _slowest(latencies: Sequence[Latency | None]) -> Latency | None:
    """The latency of all sources: at each quantile that of the slowest one."""
    known = [each for each in latencies if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    return Latency(
        quantiles={q: max(each.quantiles[q] for each in known) for q in known[0].quantiles},
        slices=tuple(max(ages) for ages in zip(*(each.slices for each in known), strict=True)),
        total_s=sum(each.total_s for each in known),
        clipped=sum(each.clipped for each in known),
    )


def _planned(sources: Sequence[Mapping[str, Any]]) -> int | None:
    """Offsets from the begin to the end of all partitions; None if a begin is not known."""
    planned = 0
    for source in sources:
        begin, end = source["startOffset"], source["endOffset"]
        if not begin:
            return None  # the first batch ever begins where the source says
        # a partition that is new begins at its first record, which Spark does not tell
        planned += sum(offset - begin[key] for key, offset in end.items() if key in begin)
    return planned


def _phases(durations: Mapping[str, int], state: StateSize | None) -> dict[str, float]:
    phases: dict[str, float] = {}
    for key, name in PHASES.items():
        if key in durations:
            phases[name] = phases.get(name, 0.0) + durations[key] / 1000
    if state is not None:
        phases["state_commit"] = state.commit_s
    return phases


def _cut_short(source: Mapping[str, Any]) -> bool:
    taken, latest = source["endOffset"], source["latestOffset"]
    return bool(taken) and any(offset > taken.get(key, 0) for key, offset in latest.items())


_OFFSETS = ("startOffset", "endOffset", "latestOffset")


def _offsets(said: object, name: str) -> Offsets:
    """The offsets of topics; empty if the source has others, or none."""
    return parse_offsets(said, name) if isinstance(said, dict) else {}


def _latency(seen: Mapping[str, Any], committed: float) -> Latency | None:
    if ages := seen.get("ages"):
        return _of_ages([age / 1000 for age in ages], seen["age_sum"] / 1000, seen["ahead"])
    stamps = seen.get("stamps")
    if not stamps:
        return None  # no records, or none with a time
    ages = [max(0.0, committed - stamp / 1000) for stamp in stamps]
    stamped = seen.get("stamped", seen["records"])
    total_s = stamped * committed - seen["stamp_sum"] / 1000
    return _of_ages(ages, max(0.0, total_s), seen["ahead"])


def _of_ages(ages: Sequence[float], total_s: float, clipped: int) -> Latency:
    """The latency by the ages at `AGE_SHARES`, in seconds."""
    return Latency(
        quantiles=dict(zip(QUANTILES, ages, strict=False)),
        slices=tuple(ages[len(QUANTILES) :]),
        total_s=total_s,
        clipped=clipped,
    )


def _state(operators: list[Mapping[str, Any]], slots: int, add_batch_s: float) -> StateSize | None:
    if not operators:
        return None
    commit_s = sum(_commit_s(operator, slots) for operator in operators)
    return StateSize(
        rows=sum(o["numRowsTotal"] for o in operators),
        bytes=sum(o["memoryUsedBytes"] + _file_bytes(o) for o in operators),
        commit_s=min(commit_s, add_batch_s),  # it is part of it
    )


def _file_bytes(operator: Mapping[str, Any]) -> int:
    return int((operator.get("customMetrics") or {}).get("rocksdbSstFileSize", 0))


def _commit_s(operator: Mapping[str, Any], slots: int) -> float:
    """Spark adds up all tasks, but tasks that run in parallel take up the time only once."""
    at_once: int = max(1, min(slots, operator.get("numShufflePartitions", 1)))
    commit_ms: int = operator.get("commitTimeMs", 0)
    return commit_ms / 1000 / at_once


class ProgressListener(StreamingQueryListener):
    """Reports each committed batch; `started` is called while a query starts."""

    def __init__(
        self,
        started: Callable[[str], None],
        finished: Callable[[BatchReport], None],
        slots: Callable[[], int],
        names: Callable[[], Sequence[str]] = lambda: ("",),
        recounted: Recounted | None = None,
    ) -> None:
        """The callbacks run on Spark's threads and must be quick.

        `slots` returns how many tasks can run at once; it is called for stateful queries only.
        `names` returns those of the sources of the query, in Spark's order. What is `recounted`
        takes the place of what Spark has observed.
        """
        super().__init__()
        self._started = started
        self._finished = finished
        self._slots, self._names = slots, names
        self._recounted: Recounted = {} if recounted is None else recounted

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 -- Spark's name
        """A query begins; Spark waits for this call to return."""
        self._started(str(event.runId))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """A trigger has ended."""
        progress = json.loads(event.progress.json)
        if seen := self._recounted.pop(progress["batchId"], None):
            progress["observedMetrics"] = seen
        slots = self._slots() if progress.get("stateOperators") else 1
        report = parse(progress, slots, self._names())
        if report is not None:
            self._finished(report)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing to do: the heartbeat shows that the driver lives."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Nothing to do: the runner asks the query itself."""
