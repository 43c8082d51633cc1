"""The page of the producer bench."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.producer.runs import (
    BATCHES,
    CANDIDATES,
    COMPRESSIONS,
    GRID,
    IN_FLIGHT,
    REPEATS,
    WANTED,
    Row,
    Run,
    p95_s,
    rate,
)

from trimtab.tuning.producer import Probe

RECORD_BYTES = 1000
MET = 0.9
"""Share of the runs that should miss nothing."""


def page(rows: Sequence[Row], goal_s: float, commit: str, command: str, loops: int) -> str:
    """The page in Markdown."""
    beside = f" with {loops} loops beside it at the lowest priority (`nice -n 19`)" if loops else ""
    head = f"""# The producer tuner against a grid search{", on a busy machine" if loops else ""}

`{command}` at commit {commit}, on 2 cores{beside}. One broker on loopback behind a TCP proxy that
delays every byte; records of {RECORD_BYTES} bytes that compress about as well as JSON; 4
partitions; goal: p95 <= {1000 * goal_s:.0f} ms from send to acknowledgement, and as many bytes/s as
that allows. The grid: {len(BATCHES)} batch sizes × {len(IN_FLIGHT)} limits in flight ×
{len(COMPRESSIONS)} compressions, {len(GRID)} points. The tuner begins with one batch of 16 KiB at a
time. After each run its choice and the {CANDIDATES} fastest points that met the goal again when
repeated are measured {REPEATS} times alternately, which gives the medians below; the grid's best is the
fastest of these that met the goal over all runs. A run meets its target with {WANTED:g} of the grid's
rate within the goal, or with the same settings; {MET:.0%} of them should.

| round trip added | grid's best, MB/s | p95, ms | tuned, MB/s | p95, ms | tuned / grid | runs on target | verdict |
|---|---|---|---|---|---|---|---|
"""  # noqa: E501
    return head + "".join(_line(r, goal_s) for r in rows) + "".join(_runs(r, goal_s) for r in rows)


def _line(row: Row, goal_s: float) -> str:
    ratios = sorted(run.ratio for run in row.runs)
    met, many = row.met(goal_s), len(row.runs)
    return (
        f"| {row.round_trip_ms:g} ms | {_medians([run.grid_again for run in row.runs])}"
        f" | {_medians([run.tuned_again for run in row.runs])}"
        f" | {statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        f" | {met} of {many} | {'met' if met >= MET * many else 'MISSED'} |\n"
    )


def _medians(runs: Sequence[Sequence[Probe]]) -> str:
    """Rate and p95 as two cells: the median over the runs, and the range."""
    rates = sorted(rate(probes) / 1e6 for probes in runs)
    late = sorted(1000 * p95_s(probes) for probes in runs)
    return (
        f"{statistics.median(rates):.1f} ({rates[0]:.1f}–{rates[-1]:.1f})"
        f" | {statistics.median(late):.0f} ({late[0]:.0f}–{late[-1]:.0f})"
    )


def _runs(row: Row, goal_s: float) -> str:
    faster = "".join(
        f" Faster, but above the goal when repeated: {settings}." for settings in row.lucky
    )
    lines = [
        f"\n## {row.round_trip_ms:g} ms\n\nThe grid's best: {row.best}.{faster}\n",
        "| run | choice | probes | MB/s | p95, ms | grid's best, MB/s | p95, ms | tuned / grid | target |",  # noqa: E501
        "|---|---|---|---|---|---|---|---|---|",
        *(_run(number, run, goal_s) for number, run in enumerate(row.runs, 1)),
    ]
    shown = [(1, row.runs[0])]
    shown += [(n, run) for n, run in enumerate(row.runs[1:], 2) if run.missed(goal_s)]
    for number, run in shown:
        steps = "\n".join(f"    {step}" for step in run.steps)
        lines.append(f"\nRun {number}, step by step:\n\n{steps}")
    return "\n".join(lines) + "\n"


def _run(number: int, run: Run, goal_s: float) -> str:
    return (
        f"| {number} | {run.chosen} | {len(run.probes)}"
        f" | {rate(run.tuned_again) / 1e6:.1f} | {1000 * p95_s(run.tuned_again):.0f}"
        f" | {rate(run.grid_again) / 1e6:.1f} | {1000 * p95_s(run.grid_again):.0f}"
        f" | {run.ratio:.2f} | {run.missed(goal_s) or 'met'} |"
    )
