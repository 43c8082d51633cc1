"""The page of a run: docs/benchmarks/regimes.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.regimes.loop import Size, Story, Typical, typical


def page(story: Story, by_hand: Sequence[Size], commit: str, load: float) -> str:
    """What the law did, and how long batches took at its limits and at those set by hand.

    `load` is the machine's load average.
    """
    final = story.final.max_offsets if story.final else 0
    told = [f"- `{d.action} {d.reason}`: {d.message}" for d in story.decisions]
    set_by_hand = typical(by_hand, story.final.trigger_s if story.final else 0.0)
    best = max((seen.rate for seen in set_by_hand.values()), default=0.0)
    ended = story.by_limit.get(final)
    share = f", at {ended.rate / best:.0%} of the best rate by hand" if ended and best else ""
    return "\n".join(
        [
            "# Finding the three regimes of batch size",
            "",
            f"`make bench-regimes` at commit {commit}: one real driver (Spark in local mode, Kafka"
            " on loopback) writes into a real",
            "PostgreSQL, in which a trigger compares each new row with all rows of its"
            " transaction. So batches are flat, grow slowly,",
            "and then overload the database, as in the tuning notes. The goal is"
            " `throughput: {max: true}` on a backlog; the law",
            "sees only the driver's metrics.",
            "",
            f"It ended at **maxOffsetsPerTrigger {final}**{share}. The machine's load average was"
            f" {load:.0f}, which affects the seconds.",
            "",
            "The limits that it tried:",
            "",
            *_table(story.by_limit),
            "",
            "The same driver afterwards, at limits set by hand:",
            "",
            *_table(set_by_hand),
            "",
            "Its decisions, in order:",
            "",
            *told,
            "",
        ]
    )


def _table(by_limit: Mapping[int, Typical]) -> list[str]:
    return [
        "| limit | full batches | records | seconds | ms per record | records/s |",
        "|---|---|---|---|---|---|",
        *(
            f"| {limit} | {seen.batches} | {seen.records:.0f} | {seen.seconds:.2f} |"
            f" {1000 * seen.seconds / seen.records:.2f} | {seen.rate:.0f} |"
            for limit, seen in by_limit.items()
        ),
    ]
