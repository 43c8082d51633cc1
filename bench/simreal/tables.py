"""The report's tables in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.simreal.predict import P95_TARGET, RATE_TARGET, Comparison, Medians
from bench.simreal.seen import Measured

HEAD = (
    "| setting | executors | trigger, s | batch limit | load, records/s | rate, measured"
    " | predicted | error | p95, s, measured | predicted | error |"
)


def errors(comparisons: Sequence[Comparison]) -> str:
    """A Markdown table with one row per setting."""
    lines = [HEAD, "|---" * 11 + "|"]
    for c in comparisons:
        s, seen = c.seen.setting, c.seen
        latency = "| grows | grows | - |"
        if c.p95_s is not None and c.p95_error is not None:
            latency = f"| {seen.p95_s:.2f} | {c.p95_s:.2f} | {c.p95_error:+.1%} |"
        lines.append(
            f"| {s.name} | {s.executors} | {s.trigger_s:g} | {s.max_offsets} | {s.load:g}"
            f" | {seen.rate:.1f} | {c.rate:.1f} | {c.rate_error:+.1%} {latency}"
        )
    return "\n".join(lines)


def summary(found: Medians) -> str:
    """The medians in words, and whether the targets are met."""

    def share(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.1%}"

    return (
        f"median error: rate {share(found.rate)} (target {RATE_TARGET:.0%}; saturated settings"
        f" alone {share(found.rate_saturated)}), p95 {share(found.p95)} (target"
        f" {P95_TARGET:.0%}): {'met' if found.met else 'NOT met'}"
    )


def windows(measured: Sequence[Measured]) -> str:
    """The content of each window: batches that a scrape saw, their size, duration and spread."""
    lines = [
        "| setting | batches seen | records, mean | duration, s, mean | standard deviation"
        " | load average of the machine |",
        "|---" * 6 + "|",
    ]
    for m in measured:
        durations = [b.duration_s for b in m.batches]
        spread = statistics.stdev(durations)
        size = statistics.fmean(b.records for b in m.batches)
        lines.append(
            f"| {m.setting.name} | {len(durations)} | {size:.0f}"
            f" | {statistics.fmean(durations):.2f} | {spread:.2f} | {m.machine_load:.1f} |"
        )
    return "\n".join(lines)
