"""The tuner with a Delta table and a table of PostgreSQL as the sink: `python -m bench.sinks`.

A real driver (Spark in local mode, Kafka on loopback) works off a backlog with the goal
`throughput: {max: true}`: with Spark's defaults, as it starts, and as the law of the operator tunes
it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from bench.regimes.loop import Typical, drive, measure, typical
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.localcluster import console
from dev.postgres import PASSWORD, Postgres
from tests.kafka import warehouse
from tests.kafka.driver import Driver

from bench import commit
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

TOPIC, PARTITIONS = "orders", 12
PRODUCED = ((60.0, 50_000.0),)
"""Seconds and records/s: three million records wait."""
LINES = 50
"""Rows that are written for each record, so that the sink has most of the work."""
START = Settings(executors=1, trigger_s=1.0, max_offsets=1_000)
UNLIMITED = Settings(executors=1, trigger_s=0.001, max_offsets=1_000_000_000)
"""What Spark does if nobody says more: no trigger, and a batch of all that waits."""
POLICY = Policy(
    target_s=None, quantile=0.95, rate=None, catch_up_s=600.0, min_executors=1, max_executors=1,
    maximum=True, cores=2, stores=True,
)  # fmt: skip
TUNE_S, DEFAULTS_S, BATCHES = 300.0, 240.0, 4

SQL = f"""
SELECT partition || '-' || offset || '-' || line AS id, sha2(value || line, 256) AS body
FROM source LATERAL VIEW explode(sequence(1, {LINES})) AS line
"""  # noqa: S608 -- the number is ours
SCHEMA = "CREATE TABLE orders (id text PRIMARY KEY, body text)"


@dataclass
class Row:
    """One sink."""

    sink: str
    defaults: str
    start_rate: float
    tuned_rate: float
    tuned: str
    decisions: list[str]
    """Records/s, and words."""


@contextmanager
def running(folder: Path, broker: KafkaBroker, settings: Settings, sink: Any) -> Iterator[Driver]:
    """A driver that works off the backlog from its beginning; a Delta table goes with it."""
    source = {"bootstrapServers": broker.bootstrap, "topics": [TOPIC]}
    driver = Driver(folder, broker.bootstrap, source=source, transform={"sql": SQL}, sink=sink)
    driver.apply(settings)
    driver.start()
    try:
        yield driver
    finally:
        driver.kill()
        shutil.rmtree(sink.get("uri", folder / "none"), ignore_errors=True)  # gigabytes


def defaults(driver: Driver) -> str:
    """What Spark's defaults make of the backlog: one batch, if it ends."""
    began_s = time.monotonic()
    while (spent_s := time.monotonic() - began_s) < DEFAULTS_S:
        seen = driver.metrics()
        if seen.get("batch_records", 0) > 0:
            seconds = seen['batch_duration_seconds{phase="total"}']
            records = seen["batch_records"]
            return f"{records / seconds:,.0f} records/s in one batch of {seconds:.0f} s"
        if driver.process.poll() is not None:
            return f"the driver ended after {spent_s:.0f} s: one batch was too much for it"
        time.sleep(1.0)
    return f"no batch ended in {DEFAULTS_S:.0f} s"


def one(name: str, folder: Path, broker: KafkaBroker, sink: Callable[[str], Any]) -> Row:
    """All contenders with one sink; `sink` makes a new table of a name."""
    with running(folder / f"{name}-defaults", broker, UNLIMITED, sink("by_default")) as driver:
        by_default = defaults(driver)
    with running(folder / f"{name}-tuned", broker, START, sink("tuned")) as driver:
        driver.until(lambda m: m.get("batches_total", 0) > 2, 300)
        at_start = _typical(driver, START)
        memory = ControllerState(driver.generation, START)
        story = drive(driver, POLICY, memory, TUNE_S)
        if not _lag(driver):
            raise click.ClickException(f"{name}: nothing waits any more, which proves nothing")
        final = story.final or START
    with running(folder / f"{name}-end", broker, final, sink("end")) as driver:
        driver.until(lambda m: m.get("batches_total", 0) > 2, 300)
        at_end = _typical(driver, final)
    decisions = [f"{d.action} {d.reason}: {d.message}" for d in story.decisions]
    told = "; ".join(START.differences(final)) or "as at the start"
    return Row(name, by_default, at_start.rate, at_end.rate, told, decisions)


def _lag(driver: Driver) -> float:
    """Records that wait."""
    return sum(v for k, v in driver.metrics().items() if k.startswith("lag_records{"))


def _typical(driver: Driver, settings: Settings) -> Typical:
    seen = measure(driver, settings, [settings.max_offsets], BATCHES, 90)
    return typical(seen, settings.trigger_s)[settings.max_offsets]


def page(rows: Sequence[Row], commit: str, load: float) -> str:
    """The page in Markdown."""
    lines = [
        "# The tuner with a Delta table and a database as the sink", "",
        f"`make bench-sinks` at commit {commit}: one real driver (Spark in local mode, Kafka on",
        f"loopback) works off three million waiting records of {PARTITIONS} partitions, each of",
        f"which becomes {LINES} rows, into a Delta table on a local disk, and into a PostgreSQL on",
        "the same machine, with the goal `throughput: {max: true}`. It begins with batches of",
        f"{START.max_offsets:,} records and a trigger of {START.trigger_s:g} s, on one executor of",
        f"two cores. The machine's load average was {load:.0f}.", "",
        "| sink | Spark's defaults | at the start | tuned | gain | settings at the end |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.sink} | {row.defaults} | {row.start_rate:,.0f} records/s"
            f" | **{row.tuned_rate:,.0f} records/s** | × {row.tuned_rate / row.start_rate:.1f}"
            f" | {row.tuned} |"
            for row in rows
        ), "",
        "Spark's defaults are no trigger and no batch limit: the first batch holds all that waits.",
        "Until it ends, the sink has none of it, and a crash begins it anew. How fast a batch is",
        f"that takes longer than {DEFAULTS_S:.0f} s, this does not tell.", "",
    ]  # fmt: skip
    for row in rows:
        lines += [f"## {row.sink}", "", *(f"- {each}" for each in row.decisions), ""]
    return "\n".join(lines)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/sinks"))
def main(out: Path) -> None:
    """Run both sinks, and write sinks.json and sinks.md."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "secrets" / warehouse.SECRET / warehouse.KEY
        file.parent.mkdir(parents=True)
        file.write_text(PASSWORD)
        os.environ["TRIMTAB_SECRETS"] = str(folder / "secrets")
        broker, database = KafkaBroker(folder / "kafka"), Postgres()
        broker.start()
        database.start()
        try:
            broker.create_topic(TOPIC, PARTITIONS)
            produce(broker.bootstrap, TOPIC, PRODUCED)
            rows = [one(name, folder, broker, sink) for name, sink in _sinks(folder, database)]
        finally:
            database.remove()
            broker.stop()
    (out / "sinks.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    text = page(rows, commit.head(), os.getloadavg()[1])
    (out / "sinks.md").write_text(text)
    console.say(text)


def _sinks(folder: Path, database: Postgres) -> Iterator[tuple[str, Callable[[str], Any]]]:
    yield "Delta", lambda name: {"kind": "delta", "uri": str(folder / "tables" / name)}

    def table(_: str) -> Any:
        database.run("DROP TABLE IF EXISTS orders")
        database.run(SCHEMA)
        told = {"kind": "jdbc", "url": database.url, "table": "orders", "keys": ["id"]}
        return told | warehouse.LOGIN

    yield "PostgreSQL", table


if __name__ == "__main__":
    main()
