"""What the source leaves out, and transforms that would lose records without a word."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from tests.faults.record import Row
from tests.kafka.driver import Driver
from tests.long import LONG

from trimtab.api.connection import KafkaConnection
from trimtab.api.topics import pattern
from trimtab.kafka.admin import KafkaAdmin, Retention

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

EACH = 100
"""Records of a transaction."""


class Transactions:
    """Producers with open transactions on one topic."""

    def __init__(self, broker: KafkaBroker, topic: str) -> None:
        self._bootstrap, self._topic = broker.bootstrap, topic

    def begun(self, name: str) -> Producer:
        """A producer whose transaction holds `EACH` records, all written and none committed."""
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "transactional.id": f"{self._topic}-{name}"}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(EACH):
            producer.produce(self._topic, value=f"{name}-{number}".encode())
        producer.flush(30)
        return producer


def delivered(broker: KafkaBroker, topic: str) -> dict[str, int]:
    """How many records came out, by the transaction that they were in."""
    values = read_all(broker.bootstrap, topic)
    return Counter((value or b"").decode().partition("-")[0].lower() for value in values)


def test_only_committed_records_are_read_and_waited_for(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    fault: Row,
) -> None:
    transactions = Transactions(broker, topics[0])
    transactions.begun("committed").commit_transaction(30)
    transactions.begun("aborted").abort_transaction(30)
    still_open = transactions.begun("open")
    driver = make_driver()
    driver.settings(trigger="100ms")
    driver.start()
    driver.until(driver.committed(EACH))
    assert delivered(broker, topics[1]) == {"committed": EACH}, "open records do not lag either"

    still_open.commit_transaction(30)
    metrics = driver.until(driver.committed(2 * EACH))
    assert metrics["skipped_records_total"] >= EACH, "those of the aborted transaction"
    assert driver.terminate() == 0
    assert delivered(broker, topics[1]) == {"committed": EACH, "open": EACH}
    fault.lost = fault.duplicated_planned = 0
    fault.said = f"trimtab_skipped_records_total {metrics['skipped_records_total']:.0f}"


@LONG
def test_who_asks_for_uncommitted_records_gets_all(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    transactions = Transactions(broker, topics[0])
    transactions.begun("aborted").abort_transaction(30)
    still_open = transactions.begun("open")
    driver = make_driver()
    driver.source["isolationLevel"] = "read_uncommitted"
    driver.settings(trigger="100ms")
    driver.start()
    driver.until(driver.committed(2 * EACH))
    assert driver.terminate() == 0
    assert delivered(broker, topics[1]) == {"aborted": EACH, "open": EACH}
    still_open.abort_transaction(30)


SECOND = (
    "def transform(df, params):\n"
    "    other = df.sparkSession.readStream.format('rate').load()\n"
    "    return df.select('key', 'value').union(other.selectExpr(\n"
    "        \"CAST('k' AS BINARY) AS key\", \"CAST('v' AS BINARY) AS value\"))\n"
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (SECOND, "the transform reads another stream"),
        ("def transform(df, params):\n    return df.selectExpr('value', \"'x' AS topic\")\n",
         "the transform sets topic, which the sink would ignore"),
    ],
    ids=["second stream", "topic of its own"],
)  # fmt: skip
def test_what_would_be_lost_is_refused_at_the_first_start(
    make_driver: Callable[..., Driver], fault: Row, code: str, words: str
) -> None:
    driver = make_driver(transform={"module": "jobs_losing:transform"})
    modules = driver.directory / "modules"
    modules.mkdir()
    (modules / "jobs_losing.py").write_text(code)
    driver.settings(trigger="0s")
    driver.start()
    said = driver.termination()
    assert said["reason"] == "TransformFailed"
    assert words in said["message"]
    fault.said = f"Stalled/TransformFailed: {said['message']}"


WEEK_S = 7 * 86_400.0
"""What a broker keeps by default."""


def test_what_topics_keep_is_read(broker: KafkaBroker, topics: tuple[str, str]) -> None:
    admin, owner = KafkaAdmin(KafkaConnection(broker.bootstrap), 10.0), broker.admin()
    changes = {
        topics[0]: {"retention.ms": "-1", "retention.bytes": "1048576"},
        topics[1]: {"cleanup.policy": "compact"},
    }
    for name, config in changes.items():
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in config.items()
        ]
        topic = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        for done in owner.incremental_alter_configs([topic]).values():
            done.result(10)
    sent(broker, topics[0], ["a", "b"])
    assert admin.retention([topics[0], topics[1], "missing"]) == {
        topics[0]: Retention(None, 1 << 20),
        topics[1]: Retention(),
    }
    assert admin.first_offsets({topics[0]: 2}) == {(topics[0], 0): 0, (topics[0], 1): 0}


def sent(broker: KafkaBroker, topic: str, values: Iterable[str], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, value=value.encode(), partition=partition)
    assert producer.flush(30) == 0


def test_a_source_begins_at_the_offsets_and_at_the_time_that_are_said(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    """First by offsets; then, with another checkpoint, what came after a moment."""
    sent(broker, topics[0], [f"early-{n}" for n in range(10)])
    time.sleep(0.01)  # Kafka tells times apart by milliseconds
    moment = datetime.now(UTC).isoformat()
    sent(broker, topics[0], [f"late-{n}" for n in range(5)], partition=1)
    for start, expected in (
        (json.dumps({topics[0]: {"0": 7}}), {"early": 3, "late": 5}),
        (moment, {"early": 3, "late": 10}),
    ):
        driver = make_driver()
        driver.source["startingOffsets"] = start
        driver.settings(trigger="100ms")
        driver.start()
        driver.until(driver.committed(5))
        assert driver.terminate() == 0
        assert delivered(broker, topics[1]) == expected


def test_a_query_goes_on_by_another_address_and_tells_how_old_what_waits_is(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    tmp_path: Path,
    fault: Row,
) -> None:
    where = {"checkpointUri": (tmp_path / "kept" / "1").as_uri()}
    first = make_driver(**where)
    first.settings(trigger="0s")
    sent(broker, topics[0], [f"before-{n}" for n in range(20)])
    first.start()
    first.until(first.committed(20))
    assert first.terminate() == 0

    sent(broker, topics[0], [f"after-{n}" for n in range(20)])
    began = time.time()
    more = f"localhost:{broker.port},{broker.bootstrap}"
    source = {"bootstrapServers": more, "topics": [topics[0]]}
    slow = "SELECT key, value, java_method('java.lang.Thread', 'sleep', 2000L) FROM source"
    second = make_driver(**where, source=source, transform={"sql": slow})
    second.settings(trigger="0s")
    second.start()
    age = f'lag_seconds{{partition="0",topic="{topics[0]}"}}'
    metrics = second.until(lambda m: m.get(age, 0) > 1)
    assert metrics[age] <= time.time() - began + 1
    metrics = second.until(lambda m: m.get("retention_seconds", 0) > 0)
    assert metrics["retention_seconds"] == WEEK_S
    assert WEEK_S - 120 < metrics["retention_deadline_seconds"] < WEEK_S
    second.until(second.committed(20))
    assert second.terminate() == 0
    found = delivered(broker, topics[1])
    assert found == {"before": 20, "after": 20}
    fault.lost = fault.duplicated_planned = 0


def test_times_of_a_mirror_do_not_count_by_the_brokers_clock_and_headers_are_read(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], fault: Row
) -> None:
    """Records an hour old by their timestamps, as a mirror writes them, that have just come."""
    source = {
        "bootstrapServers": broker.bootstrap, "topics": [topics[0]], "includeHeaders": True,
    }  # fmt: skip
    sql = "SELECT concat(decode(headers[0].value, 'UTF-8'), '-', decode(value, 'UTF-8')) AS value"
    driver = make_driver(source=source, transform={"sql": f"{sql} FROM source"})
    driver.settings(trigger="100ms")
    driver.start()
    driver.until(lambda m: any(name.startswith("lag_records{") for name in m))
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    hour_ago_ms = int((time.time() - 3600) * 1000)
    waited_s, sent = None, 0
    # unknown for a batch that is committed before the driver has asked how far the topic goes
    while waited_s is None and sent < 400:
        for number in range(20):
            producer.produce(
                topics[0], value=f"{number}".encode(), timestamp=hour_ago_ms,
                headers=[("from", b"mirror")],
            )  # fmt: skip
        assert producer.flush(30) == 0
        sent += 20
        metrics = driver.until(driver.committed(sent))
        assert metrics['batch_record_latency_seconds{quantile="0.95"}'] > 3000
        waited_s = metrics.get('batch_wait_seconds{quantile="0.95"}')
    assert waited_s is not None
    assert waited_s < 60
    assert driver.terminate() == 0
    assert delivered(broker, topics[1]) == {"mirror": sent}
    fault.said = f"trimtab_batch_wait_seconds {waited_s:.1f}"


def test_topics_by_a_pattern_are_read_also_those_that_come_later(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    here, eu, us, other = (f"{topics[0]}{end}" for end in ("", "-eu", "-us", "_other"))
    for name in (eu, other):
        broker.create_topic(name)
    source = {
        "bootstrapServers": broker.bootstrap, "topics": [pattern(f"{here}(-[a-z]+)?")],
        "options": {"receive.buffer.bytes": "65536"}, "groupIdPrefix": "shop",
    }  # fmt: skip
    sink = {"kind": "kafka", "bootstrapServers": broker.bootstrap, "topic": topics[1]}
    driver = make_driver(source=source, sink=sink | {"options": {"max.request.size": "2097152"}})
    driver.settings(trigger="100ms")
    for name in (here, eu, other):
        fill(broker, name)
    driver.start()
    driver.until(driver.committed(2 * EACH))
    broker.create_topic(us, 2)
    fill(broker, us)
    driver.until(driver.committed(3 * EACH))
    driver.kill()
    fill(broker, eu)
    driver.start()
    metrics = driver.until(driver.committed(EACH))
    assert {name for name in metrics if name.startswith("lag_records{")} >= {
        f'lag_records{{partition="{number}",topic="{us}"}}' for number in (0, 1)
    }
    assert driver.terminate() == 0
    came = {name.replace("-", "."): count for name, count in ((here, 1), (eu, 2), (us, 1))}
    assert delivered(broker, topics[1]) == {name: EACH * times for name, times in came.items()}


def fill(broker: KafkaBroker, topic: str) -> None:
    """Write `EACH` records that name their topic."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(EACH):
        producer.produce(topic, value=f"{topic.replace('-', '.')}-{number}".encode())
    assert producer.flush(30) == 0


FAILS_ONCE = (
    "from pathlib import Path\n"
    "from pyspark.sql import functions as F\n"
    "def transform(df, params):\n"
    "    marker = Path(params['marker'])\n"
    "    def work(value):\n"
    "        if not marker.exists():\n"
    "            marker.touch()\n"
    "            raise KeyError('once')\n"
    "        return value\n"
    "    return df.select('key', F.udf(work)(F.col('value').cast('string')).alias('value'))\n"
)


def test_a_task_that_fails_and_runs_again_is_counted(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    tmp_path: Path,
    fault: Row,
) -> None:
    params = {"marker": str(tmp_path / "failed")}
    driver = make_driver(
        transform={"module": "jobs_once:transform", "params": params},
        defaults={"spark.master": "local[2,4]"},
    )
    modules = driver.directory / "modules"
    modules.mkdir()
    (modules / "jobs_once.py").write_text(FAILS_ONCE)
    sent(broker, topics[0], [f"record-{n}" for n in range(20)])
    driver.settings(trigger="0s")
    driver.start()
    driver.until(driver.committed(20))
    driver.until(lambda seen: seen["failed_tasks_total"] == 1)  # counted with the next sample
    assert driver.terminate() == 0
    found = delivered(broker, topics[1])["record"]
    fault.lost, fault.duplicated_crash = 0, found - 20
    fault.said = "trimtab_failed_tasks_total 1"
    assert found >= 20
