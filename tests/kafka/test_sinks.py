"""What each sink holds after a batch was written twice: the crash between write and commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.loadgen.records import identity
from dev.loadgen.verify import read_messages
from dev.postgres import PASSWORD, USER, Postgres
from dev.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from tests.kafka.driver import Driver
from tests.kafka.warehouse import LOGIN
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

RECORDS, KEYS = 600, 50
SQL = f"""
SELECT partition || '-' || offset AS id,
       CAST(substring_index(substring_index(CAST(value AS STRING), '-', -1), ' ', 1) AS INT)
         % {KEYS} AS item,
       topic, partition, offset
FROM source
"""
SMALL = "SELECT partition || '-' || offset AS id, 1 AS item FROM source"
KNOBS = {"trigger": "100ms", "maxOffsetsPerTrigger": 100}

FUNCTION = """
import json
from pathlib import Path

def write(df, batch_id, params):
    ids = sorted(row.id for row in df.select("id").collect())
    with Path(params["file"]).open("a") as file:
        file.write(json.dumps([batch_id, ids]) + "\\n")

def fail(df, batch_id, params):
    raise ValueError("the warehouse is closed")
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """Each row of `items` is one item; `written` counts how often each record was written."""
    server = Postgres()
    server.start()
    server.run("""
        CREATE TABLE items (id text PRIMARY KEY, item int, topic text, partition int, "offset" int);
        CREATE TABLE latest (item int PRIMARY KEY, id text, "offset" int);
        CREATE TABLE loose (id text, item int);
    """)
    server.note_writes("items", "id")
    yield server
    server.remove()


def jdbc(database: Postgres, **said: Any) -> dict[str, Any]:
    told = {"kind": "jdbc", "url": database.url, "table": "items", "keys": ["id"]}
    return told | LOGIN | said


def replayed(
    driver: Driver, bootstrap: str, topic: str, checkpoint: Path | None = None, **env: str
) -> None:
    """Write all records; then lose the commit of the last batch, and write more."""
    driver.settings(**KNOBS)
    made = produce(bootstrap, topic, [(0.5, RECORDS * 2)])
    driver.start(**env)
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    commits = (checkpoint or driver.directory / "checkpoint" / "1") / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    for file in (commits / str(last), commits / f".{last}.crc"):
        file.unlink(missing_ok=True)
    again = produce(bootstrap, topic, [(0.5, 200)])
    driver.start(**env)
    driver.until(driver.committed(again.acknowledged))
    assert driver.terminate() == 0


def every_record_once(ids: list[str], broker: KafkaBroker, topic: str) -> None:
    counted = Counter(ids)
    assert {id_ for id_, times in counted.items() if times > 1} == set()
    assert len(counted) == broker_records(broker, topic)


def broker_records(broker: KafkaBroker, topic: str) -> int:
    """How many records the topic holds."""
    from trimtab.api.connection import KafkaConnection
    from trimtab.kafka.admin import KafkaAdmin

    admin = KafkaAdmin(KafkaConnection(broker.bootstrap), 15.0)
    ends = admin.end_offsets(admin.partitions([topic]), committed=False)
    return sum(ends.values())


def test_a_table_has_each_record_of_a_replayed_batch_once(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    database: Postgres, password: Path,
) -> None:  # fmt: skip
    driver = make_driver(transform={"sql": SQL}, sink=jdbc(database))
    replayed(driver, broker.bootstrap, topics[0])
    every_record_once([row[0] for row in database.run("SELECT id FROM written")], broker, topics[0])
    kept = database.run("SELECT count(*) FROM items")
    assert kept == [(broker_records(broker, topics[0]),)]
    stages = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'trimtab_stage_%'"
    assert database.run(stages) == [(1,)]
    assert PASSWORD not in driver.log.read_text()
    assert PASSWORD not in (driver.directory / "job.json").read_text()


def test_a_delta_table_has_each_record_of_a_replayed_batch_once(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    driver = make_driver(transform={"sql": SQL}, sink={"kind": "delta", "uri": str(tmp_path / "t")})
    replayed(driver, broker.bootstrap, topics[0])
    every_record_once(delta_ids(tmp_path / "t", driver.conf), broker, topics[0])


@LONG
def test_files_have_each_record_of_a_replayed_batch_once(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    files = tmp_path / "files"
    sink = {"kind": "files", "format": "json", "uri": str(files), "partitionBy": ["partition"]}
    replayed(make_driver(transform={"sql": SQL}, sink=sink), broker.bootstrap, topics[0])
    rows = [
        json.loads(line) for file in files.rglob("*.json") for line in file.read_text().splitlines()
    ]
    every_record_once([row["id"] for row in rows], broker, topics[0])


@LONG
def test_a_function_gets_a_replayed_batch_again_under_its_number(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    sink = {"kind": "foreachBatch", "module": "sinks:write", "params": {"file": str(calls)}}
    driver = make_driver(transform={"sql": SQL}, sink=sink)
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "sinks.py").write_text(FUNCTION)
    replayed(driver, broker.bootstrap, topics[0])
    said = [json.loads(line) for line in calls.read_text().splitlines()]
    twice = [number for number, times in Counter(n for n, _ in said).items() if times > 1]
    assert len(twice) == 1
    first, second = (ids for number, ids in said if number == twice[0])
    assert first == second


def test_one_task_for_each_slot_writes_from_the_next_batch_on(
    broker: KafkaBroker, make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    """The change is live, and nothing is lost by it: 6 tasks on 2 slots."""
    topic, lake = "many-partitions", tmp_path / "lake"
    broker.create_topic(topic, 6)
    sink = {"kind": "files", "format": "json", "uri": str(lake)}
    source = {"bootstrapServers": broker.bootstrap, "topics": [topic]}
    driver = make_driver(source=source, transform={"sql": SMALL}, sink=sink)
    driver.settings(trigger="1s", maxOffsetsPerTrigger=60)
    first = produce(broker.bootstrap, topic, [(0.5, 360)])
    driver.start()
    driver.until(driver.committed(first.acknowledged))
    before = {each.name for each in lake.glob("batch=*")}
    generation = driver.settings(trigger="1s", maxOffsetsPerTrigger=60, sink={"writers": "Slots"})
    driver.until(lambda m: m.get("settings_generation") == generation)
    second = produce(broker.bootstrap, topic, [(0.5, 360)])
    driver.until(driver.committed(first.acknowledged + second.acknowledged))
    assert driver.terminate() == 0
    files = {each.name: len(list(each.glob("part-*"))) for each in lake.glob("batch=*")}
    assert max(count for name, count in files.items() if name in before) == 6
    assert max(count for name, count in files.items() if name not in before) == 2
    lines = [json.loads(line) for f in lake.rglob("part-*") for line in f.read_text().splitlines()]
    every_record_once([line["id"] for line in lines], broker, topic)


@LONG
def test_several_sinks_each_have_what_they_select_after_a_replay(
    broker: KafkaBroker, make_driver: Callable[..., Driver], database: Postgres, password: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    """One query, read once; each sink keeps its own promise, and two tables are two."""
    database.run("""
        TRUNCATE items; TRUNCATE written;
        CREATE TABLE evens (id text PRIMARY KEY, item int);
        CREATE TABLE evens_written (id text);
        CREATE FUNCTION note_even() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO evens_written VALUES (NEW.id); RETURN NEW; END $$;
        CREATE TRIGGER note AFTER INSERT OR UPDATE ON evens
          FOR EACH ROW EXECUTE FUNCTION note_even();
    """)
    for name in ("to-several", "several-out"):
        broker.create_topic(name, 4)
    lake = tmp_path / "lake"
    topic = {"kind": "kafka", "bootstrapServers": broker.bootstrap, "topic": "several-out"}
    parts = [
        {"name": "all", "sink": jdbc(database, name="all")},
        {"name": "evens", "sql": "SELECT id, item FROM result WHERE item % 2 = 0",
         "sink": jdbc(database, table="evens", name="evens")},
        {"name": "lake", "sink": {"kind": "delta", "uri": str(lake)}},
        {"name": "topic", "sql": "SELECT id AS key, CAST(item AS STRING) AS value FROM result",
         "sink": topic},
    ]  # fmt: skip
    driver = make_driver(
        source={"bootstrapServers": broker.bootstrap, "topics": ["to-several"]},
        transform={"sql": SQL}, sink={"kind": "several", "sinks": parts},
    )  # fmt: skip
    replayed(driver, broker.bootstrap, "to-several")
    made = broker_records(broker, "to-several")
    written = [row[0] for row in database.run("SELECT id FROM written")]
    every_record_once(written, broker, "to-several")
    evens = Counter(row[0] for row in database.run("SELECT id FROM evens_written"))
    expected = {row[0] for row in database.run("SELECT id FROM items WHERE item % 2 = 0")}
    assert set(evens) == expected
    assert set(evens.values()) == {1}
    every_record_once(delta_ids(lake, driver.conf), broker, "to-several")
    keys = Counter(message.key() for message in read_messages(broker.bootstrap, "several-out"))
    assert len(keys) == made
    assert set(keys.values()) == {1, 2}, "a topic has the records of the replayed batch twice"


def delta_ids(table: Path | str, conf: Path) -> list[str]:
    """The ids in a Delta table, as Spark reads it."""
    program = f"""
from pyspark.sql import SparkSession
from trimtab.job.query.sinks.delta import DeltaSink
builder = SparkSession.builder
for key, value in DeltaSink.session_conf.items():
    builder = builder.config(key, value)
rows = builder.getOrCreate().read.format("delta").load({str(table)!r}).select("id").collect()
print(",".join(row.id for row in rows))
"""
    env = os.environ | {"SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=180,
        check=True,
    )  # fmt: skip
    return done.stdout.strip().splitlines()[-1].split(",")


@LONG
def test_a_table_and_its_checkpoint_may_be_in_s3(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    """The keys come from the environment, and are nowhere in what the driver says or keeps."""
    server = S3Server(tmp_path / "s3")
    server.start()
    try:
        driver = make_driver(
            transform={"sql": SQL},
            sink={"kind": "delta", "uri": "s3a://lake/orders"},
            checkpointUri="s3a://lake/checkpoints/orders",
            sparkConf=server.spark_conf,
        )
        keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        checkpoint = server.bucket / "checkpoints/orders"
        replayed(driver, broker.bootstrap, topics[0], checkpoint, **keys)
        every_record_once(delta_ids(server.bucket / "orders", driver.conf), broker, topics[0])
        places = (driver.directory, checkpoint)
        kept = [file for place in places for file in place.rglob("*") if file.is_file()]
        assert any(checkpoint in file.parents for file in kept)
        for file in kept:
            assert SECRET_KEY.encode() not in file.read_bytes(), file
    finally:
        server.stop()


DEAD = """
SELECT key, value, topic, partition, offset,
       CASE WHEN offset % 10 = 3 THEN concat('offset ', offset, ' ends in 3') END AS error
FROM source
"""


RAISES = """
from checks.last import no_three
from trimtab.transforms import try_udf


def transform(df, params):
    def checked(value, offset):
        no_three(offset)
        return value

    kept = df.select("key", "value", "topic", "partition", "offset")
    return try_udf(kept, checked, "checked", "value", "offset", returns="binary")
"""


WHEEL = {
    "checks/__init__.py": "",
    "checks/last.py": """
def no_three(offset):
    if offset % 10 == 3:
        raise ValueError(f"offset {offset} ends in 3")
""",
}


def test_rows_with_an_error_go_elsewhere_and_too_many_of_them_stall(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    letters = {"topic": dead, "maxPerBatch": 30}
    driver = make_driver(schema=2, transform={"module": "raises:transform"}, deadLetters=letters)
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "raises.py").write_text(RAISES)
    # what executors import too comes in a wheel beside it
    wheel = driver.directory / "modules" / "checks-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in WHEEL.items():
            archive.writestr(name, text)
    driver.settings(**KNOBS)
    made = produce(broker.bootstrap, topics[0], [(0.5, RECORDS * 2)])
    driver.start()
    last = driver.until(driver.committed(made.acknowledged))
    found = list(read_messages(broker.bootstrap, dead))
    assert last["dead_letters_total"] == len(found) > 0
    assert last["ledger_mismatch_total"] == 0
    assert len(found) + len(list(read_messages(broker.bootstrap, topics[1]))) == made.acknowledged
    for record in found:
        headers = {name: value.decode() for name, value in record.headers()}
        said = f"ValueError: offset {headers['trimtab.offset']} ends in 3"
        assert headers["trimtab.error"] == said
        assert headers["trimtab.topic"] == topics[0]
        assert identity(record.value())
    driver.until(lambda m: m.get("missing_records") == 0)
    assert driver.terminate() == 0

    strict = make_driver(
        schema=2, transform={"sql": DEAD}, deadLetters=letters | {"maxPerMinute": 40}
    )
    strict.settings(**KNOBS)
    strict.start()
    told = strict.termination()
    assert told["reason"] == "TooManyDeadLetters"
    assert "of a minute, more than deadLetters.maxPerMinute: 40" in told["message"]
    assert "ends in 3. Correct the transform" in told["message"]


LARGE = """
SELECT key, IF(offset = 7 AND partition = 1, repeat('x', 1100000), CAST(value AS STRING)) AS value,
       topic, partition, offset, CAST(NULL AS STRING) AS error
FROM source
"""


@LONG
def test_a_row_that_no_producer_sends_is_told_or_set_aside(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    dead = f"{topics[1]}-dead"
    broker.create_topic(dead, 1)
    made = produce(broker.bootstrap, topics[0], [(0.5, 400)])
    plain = make_driver(transform={"sql": LARGE})
    plain.settings(**KNOBS)
    plain.start()
    told = plain.termination()
    assert told["reason"] == "RecordTooLarge", told
    assert f"{topics[0]}/1 from " in told["message"]
    assert "with deadLetters, those above max.request.size (1 MiB) go there" in told["message"]

    letters = {"topic": dead, "maxPerBatch": 1}
    driver = make_driver(
        schema=2,
        transform={"sql": LARGE},
        deadLetters=letters,
        checkpointUri=json.loads((plain.directory / "job.json").read_text())["checkpointUri"],
    )
    driver.settings(**KNOBS)
    driver.start()
    driver.until(lambda m: m.get("dead_letters_total") == 1)
    driver.until(lambda m: sum(v for k, v in m.items() if k.startswith("lag_records{")) == 0)
    assert driver.terminate() == 0
    (found,) = read_messages(broker.bootstrap, dead)
    headers = {name: value.decode() for name, value in found.headers()}
    assert found.value() is None
    assert headers.pop("trimtab.error").startswith("more than 1048576 bytes")
    origin = {"trimtab.topic": topics[0], "trimtab.partition": "1", "trimtab.offset": "7"}
    assert headers == origin | {"trimtab.bytes": "1100000"}
    good = {identity(m.value()) for m in read_messages(broker.bootstrap, topics[1])}
    assert len(good) == made.acknowledged - 1


@LONG
def test_of_the_rows_of_a_key_in_a_batch_the_latest_is_kept(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    database: Postgres, password: Path,
) -> None:  # fmt: skip
    sql = SQL.replace("topic, partition, offset", "CAST(offset AS INT) AS offset")
    sink = jdbc(database, table="public.latest", keys=["item"], latest="offset")
    driver = make_driver(transform={"sql": sql}, sink=sink)
    driver.settings(**KNOBS)
    made = produce(broker.bootstrap, topics[0], [(0.5, RECORDS * 2)])
    driver.start()
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    assert database.run("SELECT count(*) FROM latest") == [(KEYS,)]


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ({"table": "nowhere"}, "SinkNotFound", 'relation "nowhere" does not exist'),
        pytest.param(
            {"table": "loose"}, "SinkFailed", "no unique index on exactly the columns", marks=LONG
        ),
        pytest.param(
            {"keys": ["nothing"]}, "SinkFailed", 'column "nothing" of relation', marks=LONG
        ),
    ],
)
def test_a_table_that_does_not_fit_is_told(
    make_driver: Callable[..., Driver], database: Postgres, password: Path,
    said: dict[str, Any], reason: str, words: str,
) -> None:  # fmt: skip
    driver = make_driver(transform={"sql": SQL}, sink=jdbc(database, **said))
    driver.settings(**KNOBS)
    driver.start()
    told = driver.termination()
    assert (told["reason"], words in told["message"]) == (reason, True), told


@LONG
def test_a_database_that_is_away_is_waited_for_and_a_new_password_is_taken(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    password: Path,
) -> None:  # fmt: skip
    server = Postgres()
    server.start()
    try:
        server.run("CREATE TABLE items (id text PRIMARY KEY, item int)")
        driver = make_driver(transform={"sql": SMALL}, sink=jdbc(server))
        driver.settings(**KNOBS)
        first = produce(broker.bootstrap, topics[0], [(0.5, 400)])
        driver.start()
        driver.until(driver.committed(first.acknowledged))
        server.stop(kill=True)
        second = produce(broker.bootstrap, topics[0], [(0.5, 400)])
        driver.until(lambda _: "SinkUnreachable" in driver.get("/ready")[1])
        server.start()
        driver.until(driver.committed(first.acknowledged + second.acknowledged))
        server.run(f"ALTER USER {USER} PASSWORD 'another'")
        third = produce(broker.bootstrap, topics[0], [(0.5, 400)])
        driver.until(lambda _: "SinkDenied" in driver.get("/ready")[1])
        password.write_text("another")
        assert driver.process.wait(60) == 0, "as for any Secret that changes"
        driver.start()
        # the driver that ends may have written some of them with the new password
        driver.until(driver.committed(0))
        assert driver.terminate() == 0
        sent = sum(made.acknowledged for made in (first, second, third))
        assert server.run("SELECT count(*) FROM items", "another") == [(sent,)]
    finally:
        server.remove()
