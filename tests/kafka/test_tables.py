"""Tables beside the stream: rows of the spec, files, and a Delta table that changes meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from dev.postgres import PASSWORD, Postgres
from tests.kafka.driver import Driver
from tests.kafka.warehouse import LOGIN
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

COUNTRIES = {"columns": ["code", "country"], "values": [["de", "Germany"], ["fr", "France"]]}
SQL = """
SELECT r.code AS key, concat_ws('/', r.code, country, rate, tier) AS value
FROM (SELECT CAST(value AS STRING) AS code FROM source) r
LEFT JOIN countries USING (code) LEFT JOIN rates USING (code) LEFT JOIN tiers USING (code)
"""
TIERS = """
SELECT code AS key, concat_ws('/', code, tier) AS value
FROM (SELECT CAST(value AS STRING) AS code FROM source) LEFT JOIN tiers USING (code)
"""
APPEND = """
import sys
from pyspark.sql import SparkSession
from trimtab.job.query.sinks.delta import DeltaSink
builder = SparkSession.builder
for name, value in DeltaSink.session_conf.items():
    builder = builder.config(name, value)
rows = [tuple(each.split("=")) for each in sys.argv[2:]]
frame = builder.getOrCreate().createDataFrame(rows, "code STRING, tier STRING")
frame.write.format("delta").mode("append").save(sys.argv[1])
"""


def append(table: Path, conf: Path, *rows: str) -> None:
    """Somebody else adds rows to the Delta table."""
    env = os.environ | {"SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", APPEND, str(table), *rows]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=120)


def send(broker: KafkaBroker, topic: str, *codes: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for code in codes:
        producer.produce(topic, value=code.encode())
    assert producer.flush(30) == 0


@LONG
def test_records_are_joined_with_what_the_tables_have_now(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    rates, tiers = tmp_path / "rates", tmp_path / "tiers"
    rates.mkdir()
    (rates / "a.csv").write_text("code,rate\nde,1.5\n")
    tables = [
        {"name": "countries", "rows": COUNTRIES},
        {
            "name": "rates",
            "files": {"format": "csv", "uri": str(rates), "schema": "code STRING, rate DOUBLE"},
        },
        {"name": "tiers", "delta": {"uri": str(tiers)}},
    ]
    driver = make_driver(transform={"sql": SQL, "tables": tables})
    driver.settings(trigger="200ms")
    driver.start()
    said = driver.termination()
    assert said["reason"] == "TransformFailed"
    assert "the table tiers of transform.tables cannot be read" in said["message"]

    append(tiers, driver.conf, "de=gold")
    send(broker, topics[0], "de", "fr", "xx")
    driver.start()
    driver.until(driver.committed(3))
    assert values(broker, topics[1]) == {"de/Germany/1.5/gold", "fr/France", "xx"}
    append(tiers, driver.conf, "fr=silver")
    send(broker, topics[0], "fr")
    driver.until(driver.committed(4))
    assert driver.terminate() == 0
    assert "fr/France/silver" in values(broker, topics[1])


def test_a_table_of_a_database_is_waited_for_and_its_rows_are_those_of_now(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    password: Path,
) -> None:  # fmt: skip
    assert password.read_text() == PASSWORD
    server = Postgres()
    server.start()
    try:
        server.run("""
            CREATE TABLE "Tiers" (code text PRIMARY KEY, tier text);
            INSERT INTO "Tiers" VALUES ('de', 'gold');
        """)
        tiers = {"name": "tiers", "jdbc": {"url": server.url, "table": "Tiers", **LOGIN}}
        driver = make_driver(transform={"sql": TIERS, "tables": [tiers]})
        driver.settings(trigger="200ms")
        send(broker, topics[0], "de", "fr")
        driver.start()
        driver.until(driver.committed(2))
        assert values(broker, topics[1]) == {"de/gold", "fr"}
        server.run("""INSERT INTO "Tiers" VALUES ('fr', 'silver')""")
        send(broker, topics[0], "fr")
        driver.until(driver.committed(3))
        server.stop(kill=True)
        send(broker, topics[0], "de")
        driver.until(lambda _: "TableUnreachable" in driver.get("/ready")[1])
        server.start()
        server.run("""UPDATE "Tiers" SET tier = 'lead'""")
        driver.until(driver.committed(4))
        assert driver.terminate() == 0
        assert values(broker, topics[1]) == {"de/gold", "fr", "fr/silver", "de/lead"}
        assert PASSWORD not in driver.log.read_text()
        kept = [path.read_text() for path in driver.directory.rglob("*") if path.is_file()
                and path.suffix in {"", ".json"}]  # fmt: skip
        assert not [text for text in kept if PASSWORD in text], "in no document, in no checkpoint"
    finally:
        server.remove()


def values(broker: KafkaBroker, topic: str) -> set[str]:
    return {(value or b"").decode() for value in read_all(broker.bootstrap, topic)}
