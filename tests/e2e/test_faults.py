"""What dies, comes back and goes on from its checkpoint: nothing is lost, whatever is killed."""

from __future__ import annotations

import pytest
from dev.demo import load
from dev.demo.kube import condition
from tests.e2e.conftest import Stage, manifests, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]


def test_nothing_is_lost_whatever_is_killed(stage: Stage) -> None:
    """Executor, driver, Kafka and operator are killed without grace under load, one by one."""
    stage.apply(pipeline(tuning={"pinned": {"executors": 2, "trigger": "2s"}}))
    stage.wait_ready()
    stage.start_load([(900.0, 60.0)])
    kube = stage.kube
    batch = f'max(trimtab_batch_id{{namespace="{kube.namespace}"}})'

    def kill(*what: str) -> None:
        kube.call("delete", "pod", *what, "--grace-period=0", "--force", "--wait=false")

    def goes_on(after: str) -> None:
        before = stage.metric(batch) or 0
        stage.wait(f"batches go on after {after}", 180, lambda: (stage.metric(batch) or 0) > before)

    goes_on("the start")
    kill("-l", "trimtab.dev/component=executor")
    goes_on("the executors were killed")
    driver = stage.uid("clicks-driver-0")
    kill("clicks-driver-0")
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    goes_on("the driver was killed")
    broker = stage.uid("events-kafka-0")
    kill("events-kafka-0")
    stage.wait_replaced("events-kafka-0", broker)
    goes_on("Kafka was killed")
    kube.call("delete", "pod", "-n", "trimtab", "-l", "app.kubernetes.io/component=operator",
              "--grace-period=0", "--force", "--wait=false")  # fmt: skip
    goes_on("the operator was killed")
    stage.next_step()
    result = stage.delivered(limit_s=300)
    assert result["lost"] == 0
    assert result["delivered"] == result["produced"] > 3_000


def test_a_pipeline_deleted_and_applied_again_goes_on_from_its_checkpoint(stage: Stage) -> None:
    made = pipeline(tuning={"pinned": {"executors": 1, "trigger": "1s"}})
    stage.apply(made)
    stage.wait_ready()
    stage.start_load([(600.0, 50.0)])
    stage.kube.call("delete", "spl", "clicks")
    stage.wait("driver gone", 180, lambda: stage.uid("clicks-driver-0") is None)
    assert stage.kube.get("pvc", "clicks-checkpoint"), "Retain keeps the checkpoint"
    stage.apply(made)
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
    assert result["delivered"] > 0


def test_a_kafka_deleted_and_applied_again_finds_its_data(stage: Stage) -> None:
    stage.start_load([(5.0, 100.0)])
    stage.wait("load ends", 180, lambda: load.finished(stage.kube, "load"))
    stage.kube.call("delete", "tkc", "events")
    stage.wait("broker gone", 180, lambda: stage.uid("events-kafka-0") is None)
    stage.apply(*manifests("kafka"))
    stage.wait("Kafka ready again", 180,
               lambda: condition(stage.kube.get("tkc", "events"), "Ready") == "True")  # fmt: skip
    stage.apply(pipeline(tuning={"pinned": {"executors": 1, "trigger": "1s"}}))
    stage.wait_ready()
    result = stage.delivered()
    assert (result["lost"], result["delivered"]) == (0, 500)
