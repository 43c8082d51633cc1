"""One look at the pipeline: a row of the live table, and a sample of the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dev.demo.kube import Json, Kube

COLUMNS = (
    ("t, s", 6), ("load/s", 7), ("lag", 7), ("lag, s", 7), ("p95, s", 7), ("regime", 11),
    ("bottleneck", 15), ("executors", 10), ("trigger", 8), ("last reason", 0),
)  # fmt: skip

_PROMQL = '{__name__=~"trimtab_(batch_record_latency_seconds|lag_records|lag_seconds|executors|' \
    'effective_number|batch_records|batch_duration_seconds|batch_executors_min|batch_id|' \
    'pause_seconds_total|changes_total|run_number)",pipeline="clicks"}'  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """What was seen at one time; None is unknown."""

    t: float
    load: float
    lag: float | None
    lag_s: float | None
    p95: float | None
    regime: str
    bottleneck: str
    executors: int | None
    running: int | None
    trigger: float | None
    batch: int | None
    records: float | None
    duration: float | None
    executors_min: int | None
    reason: str
    decisions: tuple[Any, ...]
    pauses: dict[str, float]
    changes: dict[str, float]
    trial: bool = False
    """Whether a change is still on trial."""

    @property
    def cost(self) -> int:
        """Executors that are paid for: those asked for, and those that have not left yet."""
        return max(self.executors or 0, self.running or 0)

    def row(self) -> str:
        """The sample as a line of the table."""
        executors = f"{_text(self.running)}/{_text(self.executors)}"
        values = (
            f"{self.t:.0f}", f"{self.load:g}", _text(self.lag), _text(self.lag_s, 1),
            _text(self.p95, 1), self.regime, self.bottleneck, executors,
            _text(self.trigger, 1), self.reason,
        )  # fmt: skip
        return "".join(v.ljust(w) for v, (_, w) in zip(values, COLUMNS, strict=True))

    def plain(self) -> Json:
        """For JSON."""
        return asdict(self)


def header() -> str:
    """The table's first line."""
    return "".join(name.ljust(width) for name, width in COLUMNS)


def look(kube: Kube, t: float, load: float) -> Sample:
    """Ask the API server and Prometheus."""
    pipeline = kube.get("spl", "clicks") or {}
    status = pipeline.get("status") or {}
    series = kube.query("trimtab-prometheus", _PROMQL)

    def number(name: str, **labels: str) -> float | None:
        found = [
            float(s["value"][1])
            for s in series
            if s["metric"]["__name__"] == f"trimtab_{name}"
            and all(s["metric"].get(k) == v for k, v in labels.items())
        ]
        return found[0] if found else None

    def every(name: str, label: str) -> dict[str, float]:
        return {
            s["metric"].get(label, ""): float(s["value"][1])
            for s in series
            if s["metric"]["__name__"] == f"trimtab_{name}"
        }

    lags = [float(s["value"][1]) for s in series if s["metric"]["__name__"].endswith("lag_records")]
    ages = [float(s["value"][1]) for s in series if s["metric"]["__name__"].endswith("lag_seconds")]
    tuning: Json = next((c for c in status.get("conditions", []) if c["type"] == "Tuning"), {})
    return Sample(
        t=t,
        load=load,
        lag=sum(lags) if lags else None,
        lag_s=max(ages) if ages else None,
        p95=number("batch_record_latency_seconds", quantile="0.95"),
        regime=(status.get("controller") or {}).get("regime", "-"),
        bottleneck=(status.get("bottleneck") or {}).get("kind", "-"),
        executors=_whole(number("effective_number", knob="executors")),
        running=_whole(number("executors", state="running")),
        trigger=number("effective_number", knob="trigger"),
        batch=_whole(number("batch_id")),
        records=number("batch_records"),
        duration=number("batch_duration_seconds", phase="total"),
        executors_min=_whole(number("batch_executors_min")),
        reason=tuning.get("reason", "-"),
        decisions=tuple(status.get("decisions") or ()),
        pauses=every("pause_seconds_total", "how"),
        changes=every("changes_total", "how"),
        trial=bool((status.get("controller") or {}).get("trial")),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _text(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
