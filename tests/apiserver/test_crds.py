"""The CRDs on a real API server: what is refused, with which words, and what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.bounds import (
    JDBC,
    KAFKA_REFUSED,
    KAFKA_TAKEN,
    LAKE,
    ON_RATE,
    PIPELINES_REFUSED,
    PIPELINES_TAKEN,
    WHEEL,
    change,
)

pytestmark = pytest.mark.apiserver


REFUSED = [
    ("spec.goal.throughput", {"recordsPerSecond": 5}, "write exactly one goal"),
    ("spec.goal.latency", None, "write exactly one goal"),
    ("spec.goal.latency.target", "0s", "write a duration above zero in whole milliseconds, like"),
    ("spec.goal.latency.target", "soon", "write a duration above zero in whole milliseconds, like"),
    ("spec.goal.latency.target", "0.4ms", "in whole milliseconds"),
    ("spec.goal.latency.target", "1500.5ms", "in whole milliseconds"),
    ("spec.goal.latency.percentile", 90, "supported values"),
    ("spec.goal", {"throughput": {}}, "write exactly one of throughput"),
    ("spec.goal", {"throughput": {"recordsPerSecond": 5, "max": True}}, "write exactly one of"),
    ("spec.transform.sql", "SELECT 1", "write exactly one transform"),
    ("spec.transform.python.module", "clicks", "write module:function"),
    ("spec.source.kafka.bootstrapServers", "kafka:9092", "write exactly one of cluster"),
    ("spec.source.kafka.topics.0", "no spaces", "Kafka refuses this topic name"),
    ("spec.source.kafka.topics.0", "..", "Kafka refuses this topic name"),
    ("spec.sink.kafka.topic", "ä", "Kafka refuses this topic name"),
    ("spec.limits.executors", {"min": 5, "max": 2}, "min must not be greater than max"),
    ("spec", ON_RATE | {"limits.topicPartitions": 8}, "topicPartitions is for one topic of a"),
    ("spec.limits.cores", 0, "should be greater than or equal to 1"),
    ("spec.tuning.pinned", {"executors": 9}, "must lie within limits.executors"),
    ("spec.tuning.bounds", {"higher": 0.5, "lower": 0.8}, "lower must be smaller than higher"),
    ("spec.resources.executor.memory", "lots", "write a size in bytes with a unit"),
    ("spec.resources.driver.cpuRequest", "some", "write a CPU quantity"),
    (
        "spec.sparkConf",
        {"spark.memory.fraction": "0.5", "spark.executor.memory": "4g"},
        "sparkConf has a reserved key, spark.executor.memory; trimtab makes the pods",
    ),
    ("spec.sparkConf", {"spark.kafka.a": "x"}, "spark.kafka.a; trimtab decides how many executors"),
    ("spec.sparkConf", {"a.b": "x"}, "a key that is none: write spark and parts"),
    ("spec.env", [{"name": "LD_X", "value": "x"}], "the name is reserved, one of SPARK_*"),
    ("spec.env", [{"name": "A", "value": "x"}] * 2, "env has one name twice"),
    ("spec.transform.shufflePartitions", 0, "should be greater than or equal to 1"),
    ("spec.tunning", {"mode": "Auto"}, 'unknown field "spec.tunning"'),
    ("spec.tuning.pinned", {"speed": 9}, 'unknown field "spec.tuning.pinned.speed"'),
    ("spec.tuning.pinned", {"locality": {"scope": "Far"}}, 'Unsupported value: "Far"'),
    ("spec.tuning.pinned", {"producer": {"maxInFlight": 6}}, "should be less than or equal to 5"),
    ("spec.checkpoint", {"uri": "s3a://b/c", "volumeClaim": {}}, "either volumeClaim or uri"),
    ("spec.checkpoint", {"uri": "s3a://b/c", "deletionPolicy": "Delete"}, "deletes nothing under"),
    ("spec.checkpoint", {"uri": "file:///tmp/checkpoint"}, "a directory that outlives pods"),
    ("spec.checkpoint", {"uri": "/tmp/checkpoint"}, "a directory that outlives pods"),
    ("spec.checkpoint", {"uri": "s3a://key:secret@b/c"}, "pass it to the pods"),
    ("spec.checkpoint", {"uri": "s3a://"}, "a directory that outlives pods"),
    ("spec.source", {"delta": {"uri": "/lake/orders", "timeColumn": "at"}}, "write the URI of a"),
    ("spec.eventLog", {"uri": "/mnt/events"}, "write the URI of a directory, like"),
    ("spec.eventLog", {"uri": "s3a://key:secret@b/c"}, "pass it to the pods"),
    (
        "spec.transform",
        {"python": {"module": "a:b", "archives": [WHEEL | {"uri": "s3a://key:secret@b/c.whl"}]}},
        "pass it to the pods",
    ),
    ("spec.listeners", ["shop.Seen,shop.Other"], "should match"),
    ("spec.listeners", ["Seen"], "should match"),
    ("spec.limits.tasks", 0, "should be greater than or equal to 1"),
    ("spec.limits.executorCores", 65, "should be less than or equal to 64"),
    (
        "spec",
        {"limits.executorCores": 2, "resources.executor.cores": 3},
        "limits.executorCores is less than resources.executor.cores",
    ),
    ("spec.limits.topicPartitions", 1001, "should be less than or equal to 1000"),
    (
        "spec",
        {"source.kafka.topics": ["clicks", "views"], "limits.topicPartitions": 24},
        "limits.topicPartitions is for one topic of a KafkaCluster or of a Strimzi Kafka",
    ),
    (
        "spec",
        {
            "source.kafka": {"bootstrapServers": "k:9092", "topics": ["clicks"]},
            "limits.topicPartitions": 24,
        },
        "limits.topicPartitions is for one topic of a KafkaCluster or of a Strimzi Kafka",
    ),
    ("spec.sink", {"jdbc": JDBC | {"url": "jdbc:mysql://w/shop"}}, "write jdbc:postgresql://host"),
    ("spec.sink", {"jdbc": JDBC | {"keys": []}}, "should have at least 1 items"),
    ("spec.sink", {"jdbc": JDBC | {"table": "a.b.c"}}, "spec.sink.jdbc.table"),
    ("spec.sink", {"delta": LAKE | {"uri": "file:///lake"}}, "a directory that all pods reach"),
    (
        "spec.transform.tables",
        [{"name": "a", "delta": {"uri": "file:///lake"}}],
        "a directory that all pods reach",
    ),
    ("spec.sink", {"files": LAKE | {"format": "orc"}}, 'Unsupported value: "orc"'),
    ("spec.sink", {"foreachBatch": {"module": "orders"}}, "write module:function, like warehouse"),
    ("metadata.name", "x" * 41, "use at most 40 characters"),
    ("metadata.name", "a.b", "begin with a letter, and use only a-z, 0-9 and -"),
    ("metadata.name", "2x", "begin with a letter, and use only a-z, 0-9 and -"),
    ("spec.podTemplate", {"labels": {"trimtab.dev/pipeline": "x"}}, "are reserved: choose another"),
    ("spec.podTemplate", {"annotations": {"spark-x": "y"}}, "are reserved: choose another"),
    ("spec.podTemplate", {"labels": {"team": "a b"}}, "spec.podTemplate.labels.team"),
    ("spec.podTemplate", {"hostNetwork": True}, 'unknown field "spec.podTemplate.hostNetwork"'),
]

TAKEN = [("metadata.name", "a" * 40), ("metadata.name", "a--b-1"), *PIPELINES_TAKEN]


@pytest.mark.parametrize(("path", "value"), TAKEN)
def test_a_bound_itself_is_taken(
    kubectl: Any, pipeline: dict[str, Any], path: str, value: Any
) -> None:
    kubectl("apply", "--dry-run=server", "-f", "-", manifest=change(pipeline, path, value))


def test_a_goal_of_the_highest_rate_is_taken(kubectl: Any, pipeline: dict[str, Any]) -> None:
    most = change(pipeline, "spec.goal", {"throughput": {"max": True}})
    kubectl("apply", "--dry-run=server", "-f", "-", manifest=most)


@pytest.mark.parametrize(("path", "value", "words"), [*REFUSED, *PIPELINES_REFUSED])
def test_bad_pipelines_are_refused_with_what_to_write_instead(
    kubectl: Any, pipeline: dict[str, Any], path: str, value: Any, words: str
) -> None:
    bad = change(pipeline, path, value)
    done = kubectl("apply", "--dry-run=server", "-f", "-", manifest=bad, check=False)
    assert done.returncode != 0
    assert words in done.stderr


ONLY_HERE = [
    ("spec.replicas", 2, "replicas must be odd"),
    ("spec.topics.0.name", "a b", "Kafka refuses this topic name"),
    ("spec.topics.0.partitions", 0, "should be greater than or equal to 1"),
    ("spec.storage.size", "big", "write a size in bytes"),
    ("metadata.name", "2x", "begin with a letter"),
    ("metadata.name", "a.b", "begin with a letter"),
]


@pytest.mark.parametrize(("path", "value"), KAFKA_TAKEN)
def test_the_bounds_of_a_kafka_cluster_are_taken(
    kubectl: Any, kafka: dict[str, Any], path: str, value: Any
) -> None:
    kubectl("apply", "--dry-run=server", "-f", "-", manifest=change(kafka, path, value))


@pytest.mark.parametrize(("path", "value", "words"), [*ONLY_HERE, *KAFKA_REFUSED])
def test_bad_kafka_clusters_are_refused(
    kubectl: Any, kafka: dict[str, Any], path: str, value: Any, words: str
) -> None:
    bad = change(kafka, path, value)
    done = kubectl("apply", "--dry-run=server", "-f", "-", manifest=bad, check=False)
    assert done.returncode != 0
    assert words in done.stderr


def test_brokers_cannot_be_added_later(kubectl: Any, namespace: str, kafka: dict[str, Any]) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", manifest=kafka)
    grown = change(kafka, "spec.replicas", 3)
    done = kubectl("apply", "-n", namespace, "-f", "-", manifest=grown, check=False)
    assert "replicas cannot change" in done.stderr


def test_a_checkpoint_cannot_become_shared_later(
    kubectl: Any, namespace: str, pipeline: dict[str, Any]
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", manifest=pipeline)
    shared = change(pipeline, "spec.checkpoint", {"volumeClaim": {"shared": True}})
    done = kubectl("apply", "-n", namespace, "-f", "-", manifest=shared, check=False)
    assert "checkpoint.volumeClaim.shared cannot change" in done.stderr
    larger = change(pipeline, "spec.checkpoint", {"volumeClaim": {"size": "2Gi"}})
    kubectl("apply", "-n", namespace, "-f", "-", manifest=larger)


def test_another_place_of_the_checkpoint_comes_with_a_new_generation(
    kubectl: Any, namespace: str, pipeline: dict[str, Any]
) -> None:
    def apply(checkpoint: dict[str, Any]) -> str:
        manifest = change(pipeline, "spec.checkpoint", checkpoint)
        return str(
            kubectl("apply", "-n", namespace, "-f", "-", manifest=manifest, check=False).stderr
        )

    kubectl("apply", "-n", namespace, "-f", "-", manifest=pipeline)
    there, elsewhere = "s3a://bucket/path", "hdfs://namenode:8020/user/trimtab/"
    assert "another place is a new checkpoint" in apply({"uri": there})
    assert apply({"uri": there, "generation": 2}) == ""
    assert "another place is a new checkpoint" in apply({"uri": elsewhere, "generation": 2})
    assert apply({"uri": elsewhere, "generation": 3}) == ""
    assert "another place is a new checkpoint" in apply({"generation": 3})
    assert apply({"generation": 4, "volumeClaim": {"shared": True}}) == ""


def test_shuffle_partitions_are_said_once(
    kubectl: Any, namespace: str, pipeline: dict[str, Any]
) -> None:
    twice = change(pipeline, "spec.transform.shufflePartitions", 4)
    kubectl("apply", "-n", namespace, "--dry-run=server", "-f", "-", manifest=twice)
    twice["spec"]["sparkConf"] = {"spark.sql.shuffle.partitions": "8"}
    done = kubectl("apply", "-n", namespace, "-f", "-", manifest=twice, check=False)
    assert "is set twice: remove" in done.stderr


def test_defaults_are_filled_in_and_status_begins_unobserved(
    kubectl: Any, namespace: str, pipeline: dict[str, Any]
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", manifest=pipeline)
    stored = json.loads(kubectl("get", "spl", "clicks", "-n", namespace, "-o", "json").stdout)
    assert stored["spec"]["tuning"]["mode"] == "Auto"
    assert stored["spec"]["checkpoint"]["deletionPolicy"] == "Retain"
    assert stored["spec"]["drainTimeout"] == "60s"
    assert stored["status"]["observedGeneration"] == -1


def test_columns_and_categories(kubectl: Any, namespace: str, pipeline: dict[str, Any]) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", manifest=pipeline)
    header = kubectl("get", "trimtab", "-n", namespace).stdout.splitlines()[0].split()
    assert header == [
        "NAME", "GOAL", "OBSERVED", "MET", "LAG", "BOTTLENECK", "EXECUTORS", "TRIGGER", "MODE",
        "READY",
        "AGE",
    ]  # fmt: skip


def test_explain_says_what_a_field_is_for(kubectl: Any) -> None:
    text = kubectl("explain", "streampipeline.spec.limits").stdout
    assert "never exceeded" in text
