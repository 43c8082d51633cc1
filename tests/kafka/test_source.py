"""What the source leaves out, and transforms that would lose records without a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from tests.faults.record import Row
from tests.kafka.driver import Driver

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
