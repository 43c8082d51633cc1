"""Which bottleneck is named when the true one is known: the confusion table of the diagnosis.

    python -m bench.confusion [--out docs/benchmarks/diagnosis.md]

Each kind that the plant can simulate has three variants of size and shape. It is named correctly if
it is named first, before any knob moves, or last, after a trial showed what the metrics alone do
not (such as that a remote service limits the rate). If the first change cures it, there is another
bottleneck afterwards. The second table has two causes at once: the named one hides the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.simulation.run import simulate
from trimtab.simulation.scenario import Scenario

PER_EXECUTOR = 200
"""Records/s of one executor in the plain plant."""

DURATION_S = 600

Variant = Mapping[str, Any]
"""Changes to the plain case: `rate`, `partitions`, parts of `plant` and of `start`."""

FETCH = {"record_bytes": 1000, "size_bytes": 1e4}
"""A fetch of ten records, set by the user."""

CAUSES: dict[Kind, tuple[Variant, Variant, Variant]] = {
    Kind.CPU: (
        {},
        {"rate": 900, "start": {"executors": 3}, "plant": {"cpu_share": 0.8}},
        {"rate": 2500, "start": {"executors": 8, "trigger": 5}},
    ),
    Kind.CONCURRENCY: (
        {"plant": {"cpu_share": 0.05}},
        {"rate": 900, "start": {"executors": 3}, "plant": {"cpu_share": 0.4}},
        {"plant": {"remote": {"latency_s": 0.008}}},
    ),
    Kind.REMOTE_RATE: (
        {"start": {"executors": 3}, "plant": {"remote": {"latency_s": 0.001, "rate_limit": 250}}},
        {"rate": 900, "start": {"executors": 6, "maxInFlight": 4},
         "plant": {"remote": {"latency_s": 0.01, "rate_limit": 500}}},
        {"start": {"executors": 2, "trigger": 5},
         "plant": {"remote": {"latency_s": 0.005, "rate_limit": 280}}},
    ),
    Kind.MEMORY: (
        {"start": {"executors": 2}, "plant": {"memory": {"bytes_per_record": 3e6}}},
        {"rate": 500, "start": {"executors": 3, "trigger": 5},
         "plant": {"memory": {"bytes_per_record": 1e6, "gc_slope": 8}}},
        {"start": {"executors": 2}, "plant": {"memory": {"bytes_per_record": 2e6, "gc_knee": 0.2}}},
    ),
    Kind.STATE_COMMIT: (
        {"rate": 100, "plant": {"state": {"commit_s": 1.6}}},
        {"rate": 300, "start": {"executors": 4}, "plant": {"state": {"per_record_s": 0.004}}},
        {"rate": 400, "start": {"executors": 4, "trigger": 5}, "plant": {"state": {"commit_s": 4}}},
    ),
    Kind.SINK: (
        {"start": {"executors": 4}, "plant": {"sink": {0: 0.1, 600: 1.6, 2000: 5}}},
        {"rate": 500, "start": {"executors": 6, "trigger": 5},
         "plant": {"sink": {0: 0.2, 1000: 1, 2500: 4, 10000: 20}}},
        {"rate": 100, "plant": {"sink": {0: 1.2, 1000: 1.4}}},
    ),
    Kind.SKEW: (
        {"rate": 500, "start": {"executors": 6}, "plant": {"skew": 0.6}},
        {"rate": 900, "start": {"executors": 8}, "plant": {"skew": 0.3}},
        {"rate": 260, "start": {"executors": 4, "trigger": 5}, "plant": {"skew": 0.9}},
    ),
    Kind.SOURCE_PARTITIONS: (
        {"partitions": 3, "rate": 700, "start": {"executors": 3}},
        {"partitions": 1, "rate": 300, "plant": {"cpu_share": 0.1}},
        {"partitions": 5, "rate": 1200, "start": {"executors": 8, "trigger": 5}},
    ),
    Kind.BATCH_OVERHEAD: (
        {"rate": 100, "plant": {"batch": {"fixed_s": 1.3}}},
        {"rate": 60, "plant": {"batch": {"fixed_s": 0.1, "per_task_s": 0.08}}},
        {"start": {"executors": 4, "trigger": 1}, "plant": {"batch": {"fixed_s": 0.6}}},
    ),
    Kind.ADMISSION_LIMIT: (
        {"start": {"executors": 4, "maxOffsetsPerTrigger": 400}},
        {"rate": 100, "start": {"executors": 2, "trigger": 20}},
        {"rate": 700, "start": {"executors": 8, "trigger": 5, "maxOffsetsPerTrigger": 3000}},
    ),
    Kind.FETCH: (
        {"plant": {"cpu_share": 0.3, "fetch": FETCH | {"round_trip_s": 0.02}}},
        {"rate": 900, "start": {"executors": 5, "trigger": 5},
         "plant": {"cpu_share": 0.2, "fetch": FETCH | {"round_trip_s": 0.05}}},
        {"rate": 400, "start": {"executors": 2},
         "plant": {"cpu_share": 0.5, "fetch": FETCH | {"round_trip_s": 0.01}}},
    ),
    Kind.DRIVER_PLANNING: (
        {"rate": 100, "plant": {"batch": {"fixed_s": 0.1, "planning_s": 1.5}}},
        {"rate": 300, "start": {"executors": 4}, "plant": {"batch": {"planning_s": 1.2}}},
        {"rate": 100, "start": {"trigger": 5}, "plant": {"batch": {"planning_s": 4.2}}},
    ),
    Kind.LOCALITY: (
        {"rate": 300, "start": {"executors": 3, "locality.scope": "Any"},
         "plant": {"locality": {"remote_cost": 1.5}}},
        {"rate": 500, "start": {"executors": 4, "locality.scope": "Zone"},
         "plant": {"locality": {"remote_cost": 2}}},
        {"rate": 200, "start": {"executors": 2, "locality.scope": "Any", "trigger": 5},
         "plant": {"locality": {"remote_cost": 0.9}, "cpu_share": 0.3}},
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """What was named in one run."""

    truth: tuple[Kind, ...]
    first: Kind
    last: Kind
    evidence: str

    @property
    def when(self) -> str:
        """When the true cause was named."""
        if self.first in self.truth:
            return "at once"
        return "after a trial" if self.last in self.truth else "**not**"

    @property
    def right(self) -> bool:
        """Whether it was named at all."""
        return self.first in self.truth or self.last in self.truth

    @property
    def hidden(self) -> str:
        """The causes that were never named."""
        return ", ".join(k for k in self.truth if k not in {self.first, self.last})


def scenario(name: str, *variants: Variant) -> Scenario:
    """The plain case with the changes of its causes, applied in order."""
    rate: float = 300
    partitions, plant, start = 16, {}, {}  # type: int, dict[str, Any], dict[str, Any]
    for variant in variants:
        rate = variant.get("rate", rate)
        partitions = variant.get("partitions", partitions)
        plant |= variant.get("plant", {})
        start |= variant.get("start", {})
    curve = {p: PER_EXECUTOR * p for p in range(1, 21)}
    return Scenario.model_validate({
        "name": name, "duration": DURATION_S, "tick": 10, "partitions": partitions,
        "load": {"step": [[0, rate]], "noise": 0.02},
        "plant": {"capacity": curve, "batch": {"fixed_s": 0.1, "noise": 0.03}} | plant,
        "goal": {"latency": {"target": 8}}, "limits": {"executors": {"min": 1, "max": 10}},
        "start": {"executors": 1, "trigger": 2, "maxOffsetsPerTrigger": 20000} | start,
    })  # fmt: skip


def named(truth: tuple[Kind, ...], case: Scenario, seed: int = 1) -> Named:
    """Run a case and record the kinds that were named while the load was Over."""
    ticks = simulate(case, seed).ticks
    told = [t.decision.bottleneck for t in ticks if t.decision.bottleneck.kind is not Kind.NONE]
    if not told:
        return Named(truth, Kind.NONE, Kind.NONE, "the load never reached the higher bound")
    return Named(truth, told[0].kind, told[-1].kind, told[0].evidence)


def single() -> list[Named]:
    """Every cause alone, three variants each."""
    return [
        named((kind,), scenario(f"{kind}-{number}", variant))
        for kind, variants in CAUSES.items()
        for number, variant in enumerate(variants, start=1)
    ]


def pairs() -> list[Named]:
    """Two causes at once: the first variant of each, merged if both change the same part."""
    return [
        named((one, other), scenario(f"{one}+{other}", CAUSES[one][0], CAUSES[other][0]))
        for one, other in itertools.combinations(CAUSES, 2)
        if Kind.CPU not in {one, other}
    ]


def table(results: Sequence[Named]) -> str:
    """One row for each run, as Markdown; the evidence belongs to the kind named first."""
    lines = ["| cause | named first | named last | when | evidence |", "|---|---|---|---|---|"]
    for r in results:
        truth = " + ".join(r.truth)
        lines.append(f"| {truth} | {r.first} | {r.last} | {r.when} | {r.evidence} |")
    return "\n".join(lines)


def table_of_pairs(results: Sequence[Named]) -> str:
    """The same for two causes, with the one that stayed hidden."""
    rows = [
        f"| {' + '.join(r.truth)} | {r.first} | {r.last} | {r.hidden or '-'} |" for r in results
    ]
    return "\n".join(["| causes | named first | named last | hidden |", "|---|---|---|---|", *rows])


def report() -> str:
    """Both tables with their totals."""
    alone, together = single(), pairs()
    right = sum(r.right for r in alone)
    at_once = sum(r.when == "at once" for r in alone)
    one_of = sum(r.right for r in together)
    return f"""# Which bottleneck is named

Generated by `python -m bench.confusion`, whose docstring says how runs are counted. All of it is
simulated: the plant produces every kind. In a cluster, the diagnosis knows what the driver exports
([metrics](../metrics.md)).

Of {len(alone)} runs with one cause, {right} were named correctly, {at_once} of them at once.

{table(alone)}

In {one_of} of {len(together)} runs with two causes at once, one of the two was named. The other is
hidden until the first is cured.

{table_of_pairs(together)}
"""


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="Also write them to this file.")
def main(out: Path | None) -> None:
    """Print both tables."""
    text = report()
    if out:
        out.write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
