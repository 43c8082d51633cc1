"""The page of a run: docs/benchmarks/regimes.md."""

from __future__ import annotations

import statistics

from bench.regimes.loop import Story


def page(story: Story, table: list[list[float]], commit: str, load: float) -> str:
    """The law's task, what it did, and how long each batch size took.

    `load` is the machine's load average.
    """
    points = ", ".join(f"{n:g} records {s:g} s" for n, s in table)
    by_limit: dict[int, list[tuple[int, float]]] = {}
    for batch in story.batches:
        by_limit.setdefault(batch.limit, []).append((batch.records, batch.seconds))
    rows = []
    for limit, seen in sorted(by_limit.items()):
        full = [(n, s) for n, s in seen if n >= 0.9 * limit] or seen
        records = statistics.median(n for n, _ in full)
        seconds = statistics.median(s for _, s in full)
        rows.append(
            f"| {limit} | {len(full)} | {records:.0f} | {seconds:.2f} |"
            f" {1000 * seconds / records:.2f} | {records / seconds:.0f} |"
        )
    final = story.final.max_offsets if story.final else 0
    told = [f"- `{d.action} {d.reason}`: {d.message}" for d in story.decisions]
    return "\n".join(
        [
            "# Finding the three regimes of batch size",
            "",
            f"`make bench-regimes` at commit {commit}: one real driver (Spark in local mode, Kafka"
            " on loopback) whose transform takes",
            f"{points}: flat, slow growth, overload, as in the tuning notes, but slower, so that"
            " Spark's own share of a batch is small.",
            "The goal is `throughput: {max: true}` on a backlog; the law sees only the driver's"
            " metrics, not the table.",
            "",
            f"It ended at **maxOffsetsPerTrigger {final}**. The machine's load average was"
            f" {load:.0f}, which affects the seconds.",
            "",
            "| limit | full batches | records | seconds | ms per record | records/s |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "Its decisions, in order:",
            "",
            *told,
            "",
        ]
    )
