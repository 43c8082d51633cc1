"""The producer tuner against a grid search: `python -m bench.producer --out docs/benchmarks`.

For each added round trip, the whole grid is measured, then the tuner runs some times from cold,
each time beside the grid's best. `--busy 2` does the same on a machine that has other work.
"""

from __future__ import annotations

from pathlib import Path

import click
from bench.producer.page import RECORD_BYTES, page
from bench.producer.place import TOPIC, brokers
from bench.producer.runs import busy, row

from bench import commit
from trimtab.api.connection import KafkaConnection
from trimtab.kafka.producer import payloads, probe
from trimtab.tuning.producer import Probe, ProducerSettings

ROUND_TRIPS_MS = (0.0, 5.0, 20.0)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/producer"))
@click.option("--goal-ms", default=200.0, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="Duration of each probe.")
@click.option("--runs", default=10, show_default=True, help="Runs of the tuner at each round trip.")
@click.option("--busy", "loops", default=0, show_default=True, help="Loops that run beside it.")
def main(out: Path, goal_ms: float, seconds: float, runs: int, loops: int) -> None:
    """Measure every round trip and write producer.md, or producer-busy.md."""
    records, rows, goal_s = payloads(RECORD_BYTES), [], goal_ms / 1000
    with busy(loops), brokers(ROUND_TRIPS_MS) as servers:
        for round_trip_ms, bootstrap in servers.items():

            def measure(settings: ProducerSettings, bootstrap: str = bootstrap) -> Probe:
                return probe(
                    KafkaConnection(bootstrap), TOPIC, settings, seconds=seconds, records=records
                )

            rows.append(row(round_trip_ms, measure, goal_s, runs))
            click.echo(f"{round_trip_ms:g} ms: {rows[-1].met(goal_s)} of {runs} runs on target")
    command = f"python -m bench.producer{f' --busy {loops}' if loops else ''}"
    out.mkdir(parents=True, exist_ok=True)
    name = "producer-busy.md" if loops else "producer.md"
    (out / name).write_text(page(rows, goal_s, commit.head(), command, loops))


if __name__ == "__main__":
    main()
