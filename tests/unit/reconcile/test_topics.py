"""The topics Job: new work makes a new one, a failed one is made again, none outlives topics."""

from __future__ import annotations

from typing import Any

from tests.unit.reconcile.brokers import Kafka
from tests.unit.reconcile.stage import NAMESPACE
from tests.unit.workloads.manifests import Json

from trimtab.api.common import timestamp
from trimtab.reconcile.apply.topics import RETRY_S
from trimtab.workloads.common import MANAGED_BY

TOPICS = [{"name": "a", "partitions": 2}, {"name": "b", "partitions": 2}]


def running(**spec: Any) -> Kafka:
    return Kafka.running(topics=TOPICS, **spec)


def work(kafka: Kafka) -> list[str]:
    (job,) = kafka.jobs()
    arguments: list[str] = job["spec"]["template"]["spec"]["containers"][0]["args"]
    return arguments[2:]


def fail(kafka: Kafka) -> None:
    (job,) = kafka.jobs()
    failed = {
        "type": "Failed", "status": "True", "message": "Job has reached the backoff limit",
        "lastTransitionTime": timestamp(kafka.clock.now_s),
    }  # fmt: skip
    kafka.cluster.put(job | {"status": {"failed": 7, "conditions": [failed]}})


def say(kafka: Kafka, name: str, message: str, finished_s: float) -> None:
    """A pod of the Job has ended with these words."""
    (job,) = kafka.jobs()
    owner = {"kind": "Job", "controller": True, "uid": job["metadata"]["uid"]}
    meta = {
        "name": name, "namespace": NAMESPACE, "labels": dict(MANAGED_BY), "ownerReferences": [owner]
    }  # fmt: skip
    ended = {"exitCode": 1, "message": message, "finishedAt": timestamp(finished_s)}
    status = {"containerStatuses": [{"name": "topics", "state": {"terminated": ended}}]}
    kafka.cluster.put({"kind": "Pod", "metadata": meta, "status": status})


def retained(name: str, **retention: int) -> Json:
    return {"name": name, "partitions": 2} | retention


def test_an_edited_retention_is_work_for_a_new_job() -> None:
    kafka = running()
    assert work(kafka) == ["a:2::3", "b:2::3"]
    kafka.edit("topics", [retained("a", retentionMs=60000), retained("b", retentionBytes=1 << 30)])
    kafka.tick()
    assert work(kafka) == ["a:2:60000:3", "b:2::3:1073741824"]
    assert kafka.condition("Ready")[:2] == ("False", "TopicsPending")
    kafka.kubelet()
    kafka.tick()
    assert kafka.condition("Ready")[:2] == ("True", "TopicsReady")


def test_emptied_topics_leave_no_job_and_say_what_stays() -> None:
    kafka = running()
    kafka.edit("topics", [])
    kafka.tick()
    assert kafka.jobs() == []
    assert kafka.condition("Ready")[:2] == ("True", "BrokersReady")
    ((_, message),) = (e for e in kafka.cluster.events if e[0] == "TopicsKept")
    assert "a, b" in message


def test_a_topic_that_is_removed_is_said_to_stay() -> None:
    kafka = running()
    kafka.edit("topics", TOPICS[1:])
    kafka.tick()
    assert work(kafka) == ["b:2::3"]
    ((_, message),) = (e for e in kafka.cluster.events if e[0] == "TopicsKept")
    assert ": a;" in message
    kafka.tick()
    assert len([e for e in kafka.cluster.events if e[0] == "TopicsKept"]) == 1


def test_a_failed_job_is_told_with_its_words_and_made_again() -> None:
    kafka = Kafka(topics=TOPICS)
    for _ in range(3):
        kafka.tick()
        kafka.controllers()
        for ordinal in range(3):
            kafka.report(ordinal)
    kafka.tick()
    first = kafka.jobs()[0]["metadata"]["uid"]
    say(kafka, "topics-1", "first try", kafka.clock.now_s)
    say(kafka, "topics-2", "a stack\nReplication factor: 3 larger than 2", kafka.clock.now_s + 5)
    kafka.tick()
    assert "Replication factor: 3 larger than 2" in kafka.condition("Ready")[2]
    assert kafka.condition("Ready")[:2] == ("False", "TopicsPending")
    fail(kafka)
    failed_s = kafka.clock.now_s
    while kafka.clock.now_s < failed_s + RETRY_S - 10:
        kafka.tick()
        assert kafka.condition("Stalled")[:2] == ("True", "TopicsFailed")
        assert "Replication factor: 3 larger than 2" in kafka.condition("Stalled")[2]
        assert kafka.jobs()[0]["metadata"]["uid"] == first
    kafka.start_operator()
    kafka.tick()
    kafka.tick()
    assert kafka.jobs()[0]["metadata"]["uid"] != first
    assert kafka.condition("Stalled")[0] == "False"
    kafka.kubelet()
    kafka.tick()
    assert kafka.condition("Ready")[:2] == ("True", "TopicsReady")


def test_what_a_job_could_not_do_is_told_although_it_succeeded() -> None:
    kafka = running()
    say(kafka, "topics-1", "topic a has 24 partitions, not 2: Kafka cannot remove any\n", 5.0)
    kafka.tick()
    assert "except: topic a has 24 partitions" in kafka.condition("Ready")[2]


def test_a_job_that_cannot_start_follows_an_edit_of_its_pods() -> None:
    kafka = running()
    (job,) = kafka.jobs()
    del job["status"]
    kafka.cluster.put(job)
    kafka.edit("podTemplate", {"priorityClassName": "streams"})
    kafka.settle(jobs=False)
    (again,) = kafka.jobs()
    assert again["metadata"]["name"] == job["metadata"]["name"]
    assert again["spec"]["template"]["spec"]["priorityClassName"] == "streams"


def test_a_job_that_has_ended_does_not_run_again_for_that() -> None:
    kafka = running()
    uid = kafka.jobs()[0]["metadata"]["uid"]
    kafka.edit("podTemplate", {"priorityClassName": "streams"})
    kafka.settle()
    assert kafka.jobs()[0]["metadata"]["uid"] == uid
