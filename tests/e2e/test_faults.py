"""What dies, comes back and goes on from its checkpoint: nothing is lost, whatever is killed."""

from __future__ import annotations

import pytest
from dev.demo import load
from dev.demo.kube import condition
from tests.e2e.conftest import Json, Stage, manifests, pipeline
from tests.faults.record import Row
from tests.long import LONG

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
        # the next one may have ended before the kill, and be scraped after it; a driver that starts
        # again beside other tests takes minutes
        stage.wait_long(
            f"batches go on after {after}", 180, lambda: (stage.metric(batch) or 0) > before + 2
        )

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
    assert result["delivered"] == result["produced"] > 1_000


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


@LONG
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


HANGS = """
import time
from pathlib import Path

from pyspark.sql.functions import col, udf


def transform(df, params):
    @udf("binary")
    def work(value):
        while params["hang"] == "yes":
            time.sleep(1)
        return value

    return df.withColumn("value", work(col("value")))
"""


@LONG
def test_a_batch_that_hangs_is_seen_restarts_the_driver_and_heals(stage: Stage, fault: Row) -> None:
    """No batch ever ends: what is seen is the age of the running one."""
    code = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hangs"},
        "data": {"hangs.py": HANGS},
    }  # fmt: skip

    def hangs(how: str) -> Json:
        python = {"module": "hangs:transform", "configMap": "hangs", "params": {"hang": how}}
        return pipeline(
            transform={"python": python}, hangTimeout="60s", drainTimeout="5s",
            goal={"latency": {"percentile": 95, "target": "10s"}},
            tuning={"pinned": {"executors": 1, "trigger": "1s"}},
        )  # fmt: skip

    stage.apply(code, hangs("no"))
    stage.wait_ready()
    stage.start_load([(900.0, 20.0)])
    stage.wait_long("the goal is met", 120, lambda: stage.condition("GoalMet")["status"] == "True")
    first = stage.uid("clicks-driver-0")
    stage.apply(hangs("yes"))
    stage.wait_replaced("clicks-driver-0", first)
    missed: Json = {}

    def is_missed() -> bool:
        missed.update(stage.condition("GoalMet"))
        return str(missed["status"]) == "False"

    stage.wait_long("the goal is missed", 120, is_missed)

    def restarted() -> bool:
        pod = stage.kube.get("pod", "clicks-driver-0") or {}
        return any(c["restartCount"] for c in pod.get("status", {}).get("containerStatuses", ()))

    stage.wait_long("the driver is restarted", 240, restarted)
    stage.apply(hangs("no"))
    stage.wait_ready(300)
    stage.next_step()
    result = stage.delivered(limit_s=300, ledger=False)
    fault.lost, fault.duplicated_crash = result["lost"], result["duplicated"]
    fault.said = f"GoalMet=False/{missed['reason']}: {missed['message']}"
    assert result["lost"] == 0


def test_without_input_no_executor_runs_and_the_first_record_brings_them_back(
    stage: Stage, fault: Row
) -> None:
    stage.apply(
        pipeline(
            transform={"sql": "SELECT * FROM source"},
            limits={"executors": {"min": 0, "max": 2, "idleAfter": "10s"}},
            tuning={"initial": {"executors": 1, "trigger": "1s"}},
        )
    )
    stage.wait_ready()
    stage.start_load([(10.0, 50.0)])
    stage.wait_long("the load ends", 120, lambda: load.finished(stage.kube, "load"))
    stage.wait_long("no executor runs", 120, lambda: stage.executors() == [])

    def decisions() -> list[Json]:
        return list(stage.status().get("decisions") or [])

    assert "Idle" in {each["reason"] for each in decisions()}
    stage.start_load([(600.0, 50.0)])
    stage.wait_long("an executor runs", 120, lambda: stage.executors() != [])
    stage.wait_long(
        "the delay is told", 120, lambda: "Awake" in {each["reason"] for each in decisions()}
    )
    stage.next_step()
    result = stage.delivered()
    fault.lost, fault.duplicated_planned = result["lost"], result["duplicated"]
    fault.said = next(each["message"] for each in decisions() if each["reason"] == "Awake")
    assert (result["lost"], result["duplicated"]) == (0, 0)
