"""A plain Spark job moves in, with three lines changed: it goes on where its checkpoint ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from dev.kafka import KafkaBroker
from dev.loadgen.produce import Summary, produce
from dev.loadgen.verify import read_messages, verify
from tests.kafka.driver import Driver
from tests.long import LONG

from trimtab.cli.commands import main

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

READING = """
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", SERVERS)
    .option("subscribe", {source!r})
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 100)
    .load()
"""
WRITING = """
    shouted.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", SERVERS)
    .option("topic", {sink!r})
    .option("checkpointLocation", {checkpoint!r})
    .trigger(processingTime="200 milliseconds")
    .start()
"""
BEFORE = """
import sys, time
from pathlib import Path
from pyspark.sql import SparkSession, functions as F

SERVERS = {servers!r}
spark = SparkSession.builder.getOrCreate()
"""
BETWEEN = """
@F.udf("string")
def shout(value):
    return value.decode().upper()


shouted = records.select("key", shout("value").alias("value"))
"""
AFTER = """
while not Path({stop!r}).exists():
    time.sleep(0.1)
query.processAllAvailable()
query.stop()
"""
JOB = f"{BEFORE}records = ({READING})\n{BETWEEN}query = ({WRITING})\n{AFTER}"
MOVED = (
    f"from trimtab import Pipeline\n{BEFORE}records = Pipeline.current().read()\n{BETWEEN}"
    f"query = Pipeline.current().write(shouted)\n{AFTER}"
)
"""The same script with a pipeline's source and sink."""


def test_a_pipeline_goes_on_where_a_plain_job_ends(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    checkpoint, stop, script = tmp_path / "checkpoint", tmp_path / "stop", tmp_path / "shout.py"
    places = told_to(broker, topics, checkpoint, stop)
    script.write_text(JOB.format(**places))
    source = {"bootstrapServers": broker.bootstrap, "topics": [topics[0]], "commitGroup": "shout"}
    driver = make_driver(source=source, transform={"script": str(script)})
    first = produce(broker.bootstrap, topics[0], [(0.5, 1000)])
    ends(script, driver, checkpoint, stop)

    told = CliRunner().invoke(main, ["import", str(script), "--checkpoint", str(checkpoint)])
    spec = yaml.safe_load(told.stdout)["spec"]
    kafka = spec["source"]["kafka"]
    assert (kafka["bootstrapServers"], kafka["topics"]) == (broker.bootstrap, [topics[0]])
    assert spec["sink"]["kafka"] == {"bootstrapServers": broker.bootstrap, "topic": topics[1]}
    assert spec["tuning"]["initial"] == {"maxOffsetsPerTrigger": 100, "trigger": "200ms"}
    assert spec["transform"]["python"] == {"script": "shout.py"}
    assert sum(json.loads(kafka["startingOffsets"])[topics[0]].values()) == first.acknowledged
    script.write_text(MOVED.format(**places))

    second = produce(broker.bootstrap, topics[0], [(0.5, 600)])
    driver.source = {"startingOffsets": kafka["startingOffsets"]}
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=100)
    driver.start()
    driver.until(driver.committed(second.acknowledged))
    assert driver.terminate() == 0
    assert group(broker.bootstrap, "shout") == first.acknowledged + second.acknowledged
    for made in (first, second):
        _once(broker.bootstrap, topics[1], made)


COUNTED = """
query = (
    records.selectExpr("CAST(partition AS STRING) AS key").groupBy("key").count()
    .selectExpr("key", "CAST(count AS STRING) AS value")
    .writeStream.format("kafka")
    .option("kafka.bootstrap.servers", SERVERS)
    .option("topic", {sink!r})
    .option("checkpointLocation", {checkpoint!r})
    .outputMode("update")
    .trigger(processingTime="200 milliseconds")
    .start()
)
"""
COUNTS = """
SELECT key, CAST(count(*) AS STRING) AS value
FROM (SELECT CAST(partition AS STRING) AS key FROM source) GROUP BY key
"""


@LONG
def test_a_copied_checkpoint_brings_its_state(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    """A plain job counts by key; the pipeline goes on counting, where it was."""
    checkpoint, stop, script = tmp_path / "checkpoint", tmp_path / "stop", tmp_path / "count.py"
    places = told_to(broker, topics, checkpoint, stop)
    job = f"{BEFORE}records = ({READING})\n{COUNTED}{AFTER}"
    script.write_text(job.format(**places))
    # Spark's own 200 state stores take most of a minute a batch on a busy machine
    few = {"spark.sql.shuffle.partitions": "4"}
    driver = make_driver(defaults=few, transform={"sql": COUNTS}, outputMode="update")
    first = produce(broker.bootstrap, topics[0], [(0.5, 600)])
    ends(script, driver, checkpoint, stop)
    told = CliRunner().invoke(main, ["import", str(script), "--checkpoint", str(checkpoint)])
    assert "to take it over, copy the whole checkpoint" in told.stderr
    shutil.copytree(checkpoint, driver.directory / "checkpoint" / "1")

    second = produce(broker.bootstrap, topics[0], [(0.5, 600)])
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=100)
    driver.start()
    seen = driver.until(driver.committed(second.acknowledged))
    assert seen["records_total"] == second.acknowledged, "the others are counted already"
    assert driver.terminate() == 0
    counted: Counter[str] = Counter()
    for message in read_messages(broker.bootstrap, topics[1]):
        key = (message.key() or b"").decode()
        counted[key] = int(message.value() or b"")  # a key has one partition: the latest counts
    assert counted == Counter(first.partitions) + Counter(second.partitions)


def told_to(
    broker: KafkaBroker, topics: tuple[str, str], checkpoint: Path, stop: Path
) -> dict[str, str]:
    """What a script is filled in with: where it reads, writes, and looks whether to stop."""
    return {
        "servers": broker.bootstrap, "source": topics[0], "sink": topics[1],
        "checkpoint": str(checkpoint), "stop": str(stop),
    }  # fmt: skip


def ends(script: Path, driver: Driver, checkpoint: Path, stop: Path) -> None:
    """Run the plain job until it has committed some batches, and let it end."""
    env = os.environ | {"SPARK_CONF_DIR": str(driver.conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    told = script.with_suffix(".log")
    with told.open("wb") as log:
        job = subprocess.Popen([sys.executable, str(script)], env=env, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while not list(checkpoint.glob("commits/2")):
            assert time.monotonic() < deadline, told.read_text()[-2000:]
            time.sleep(0.1)
        stop.touch()
        assert job.wait(120) == 0, told.read_text()[-2000:]


def group(bootstrap: str, name: str) -> int:
    """The sum of a consumer group's offsets."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])
    return sum(each.offset for each in asked[name].result(30).topic_partitions)


def _once(bootstrap: str, topic: str, made: Summary) -> None:
    verdict = verify(bootstrap, topic, made.run, made.sequences, frozenset(made.unacknowledged))
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.delivered == made.acknowledged
