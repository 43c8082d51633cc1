"""A table of a database as the sink, while drivers and executors are killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from dev.demo import load
from dev.localcluster.network import POD_RANGE, node_address
from dev.localcluster.paths import REPO
from dev.postgres import PASSWORD, USER, Postgres
from tests.e2e.conftest import Json, Stage, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

EXAMPLE = REPO / "examples/50-postgres"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "warehouse"},
    "stringData": {"password": PASSWORD},
}


@pytest.fixture(scope="module")
def database(home: Stage) -> Iterator[Postgres]:
    """A server outside the cluster, that pods reach; `written` has a row for each write."""
    server = Postgres(node_address(0), POD_RANGE)
    server.start()
    server.run("""
        CREATE TABLE orders (order_id text PRIMARY KEY, state text, partition int, "offset" bigint);
    """)
    server.note_writes("orders", "order_id")
    yield server
    server.remove()


def orders(database: Postgres, **spec: Any) -> Json:
    """The example's pipeline, on the Kafka and the database of the tests."""
    example = yaml.safe_load((EXAMPLE / "pipeline.yaml").read_text())["spec"]
    source = {"kafka": {"cluster": "events", "topics": ["clicks"], "startingOffsets": "earliest"}}
    sink = {"jdbc": example["sink"]["jdbc"] | {"url": database.url, "username": USER}}
    return pipeline(source=source, sink=sink, transform=example["transform"], **spec)


@LONG
def test_a_table_has_each_order_once_whatever_is_killed(stage: Stage, database: Postgres) -> None:
    stage.apply(orders(database))
    stage.wait_stalled("CredentialsMissing")
    stage.apply(SECRET)
    stage.wait_ready()
    check = ("exec", "clicks-driver-0", "--", "/opt/entrypoint.sh", "check")
    assert stage.kube.call(*check).strip() == "the image fits"
    stage.start_load([(900, 60)])
    for _ in range(2):
        written = int(database.run("SELECT count(*) FROM written")[0][0])
        stage.wait_long("more orders", 60, lambda seen=written: (
            int(database.run("SELECT count(*) FROM written")[0][0]) > seen))  # fmt: skip
        uid = stage.uid("clicks-driver-0")
        stage.kube.call("delete", "pod", "clicks-driver-0", "--grace-period=0", "--force")
        stage.wait_replaced("clicks-driver-0", uid)
        stage.wait_ready()
        for executor in stage.executors()[:1]:
            stage.kube.call("delete", "pod", executor["metadata"]["name"], "--grace-period=0",
                            "--force", "--ignore-not-found")  # fmt: skip
    stage.next_step()
    stage.wait_long("load ends", 120, lambda: load.finished(stage.kube, "load"))
    acknowledged = load.result(stage.kube, "load")["acknowledged"]
    stage.wait_long("all orders are there", 120, lambda: (
        database.run("SELECT count(*) FROM orders") == [(acknowledged,)]))  # fmt: skip
    assert database.run("SELECT count(*) FROM written") == [(acknowledged,)]
    twice = "SELECT order_id FROM written GROUP BY order_id HAVING count(*) > 1"
    assert database.run(twice) == []
