"""`trimtab import`: what is carried over of a job, and what is told of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.pod_template import PipelinePodTemplate
from trimtab.cli.commands import main
from trimtab.cli.moving.found import pod_memory

APPLICATION = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: clicks, namespace: streams}
spec:
  type: Python
  mode: cluster
  image: registry.example/clicks:7
  mainApplicationFile: local:///opt/app/clicks.py
  arguments: [--region, eu]
  sparkVersion: "3.5.1"
  sparkConf:
    spark.sql.shuffle.partitions: "12"
    spark.executorEnv.LEVEL: info
    spark.kubernetes.executor.secretKeyRef.TOKEN: "api:token"
    spark.kubernetes.executor.label.team: shop
    spark.speculation: "true"
  hadoopConf: {fs.s3a.endpoint: "http://store:9000"}
  dynamicAllocation: {enabled: true, minExecutors: 2, maxExecutors: 8}
  deps: {packages: ["org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.1"]}
  driver: {cores: 1, memory: 2g, serviceAccount: spark, labels: {version: "3"}}
  executor: {cores: 2, instances: 3, memory: 4g, memoryOverhead: 1g, hostNetwork: true}
"""
SCRIPT = """
import os
SERVERS = "kafka-1:9092,kafka-2:9092"
lines = (spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", SERVERS)
    .option("subscribe", "clicks, views")
    .options(startingOffsets="earliest", maxOffsetsPerTrigger=50000)
    .option("kafka.sasl.mechanism", "SCRAM-SHA-512")
    .load())
out = lines.selectExpr("key", "upper(CAST(value AS STRING)) AS value")
writer = out.writeStream.format("kafka").outputMode("append")
writer = writer.option("kafka.bootstrap.servers", os.environ["OUT"]).option("topic", "clicks-out")
writer = writer.option("checkpointLocation", "s3a://b/c")
query = writer.trigger(processingTime="10 seconds").start()
"""
GOAL = {"latency": {"target": "30s"}}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", *map(str, arguments)])


def imported(folder: Path, **files: str) -> tuple[dict[str, Any], str]:
    """The spec that is printed, and what is told."""
    paths = []
    for name, text in files.items():
        paths.append(folder / name.replace("_", "."))
        paths[-1].write_text(text)
    done = run(*paths)
    assert done.exit_code == 0, done.output
    return yaml.safe_load(done.stdout)["spec"], done.stderr


def test_an_application_and_its_script_become_one_pipeline(tmp_path: Path) -> None:
    spec, told = imported(tmp_path, app_yaml=APPLICATION, clicks_py=SCRIPT)
    assert spec["source"] == {
        "kafka": {
            "bootstrapServers": "kafka-1:9092,kafka-2:9092",
            "topics": ["clicks", "views"],
            "startingOffsets": "earliest",
        }
    }
    assert spec["sink"] == {"kafka": {"topic": "clicks-out"}, "outputMode": "append"}
    assert spec["transform"] == {
        "shufflePartitions": 12,
        "python": {"script": "/opt/app/clicks.py", "args": ["--region", "eu"]},
    }  # fmt: skip
    assert spec["resources"] == {
        "driver": {"memory": "2432Mi"}, "executor": {"cores": 2, "memory": "5Gi"},
    }  # fmt: skip
    assert spec["limits"] == {"executors": {"min": 2, "max": 8}}
    assert spec["tuning"]["initial"] == {
        "executors": 3, "maxOffsetsPerTrigger": 50000, "trigger": "10s",
    }  # fmt: skip
    assert spec["env"] == [
        {"name": "LEVEL", "value": "info"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "token"}}},
    ]
    assert spec["podTemplate"] == {
        "driver": {"labels": {"version": "3"}}, "executor": {"labels": {"team": "shop"}},
    }  # fmt: skip
    assert spec["sparkConf"] == {"spark.hadoop.fs.s3a.endpoint": "http://store:9000"}
    for line in (
        "spec.goal: ", "spec.image: registry.example/clicks:7",
        "spec.transform.python.configMap: a ConfigMap with clicks.py, unless spec.image has",
        "spec.deps", "spec.driver.serviceAccount: spark",
        "spec.executor.hostNetwork: True", "sparkConf spark.speculation=true",
        "line 8: kafka.sasl.mechanism", "line 12: kafka.bootstrap.servers = os.environ['OUT']",
        "line 13: checkpointLocation", "line 4: readStream: write Pipeline.current().read()",
        "line 11: writeStream: write Pipeline.current().write(frame)",
    ):  # fmt: skip
        assert line in told


PLACED = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: clicks}
spec:
  sparkConf:
    spark.kubernetes.node.selector.disk: ssd
    spark.kubernetes.driver.node.selector.lifecycle: on-demand
    spark.kubernetes.executor.annotation.team: shop
  driver: {annotations: {a: b}}
  executor:
    nodeSelector: {lifecycle: spot}
    tolerations: [{key: spot, operator: Exists}]
"""


def test_driver_and_executors_stay_where_each_was(tmp_path: Path) -> None:
    spec, _ = imported(tmp_path, app_yaml=PLACED)
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert spec["podTemplate"] == {
        "driver": {"annotations": {"a": "b"}, "nodeSelector": {"lifecycle": "on-demand"}},
        "executor": {
            "nodeSelector": {"lifecycle": "spot"},
            "tolerations": [{"key": "spot", "operator": "Exists"}],
            "annotations": {"team": "shop"},
        },
    }
    PipelinePodTemplate.model_validate(spec["podTemplate"])


def test_with_what_is_told_to_be_written_it_is_a_pipeline(tmp_path: Path) -> None:
    spec, _ = imported(tmp_path, app_yaml=APPLICATION, clicks_py=SCRIPT)
    spec["sink"]["kafka"]["bootstrapServers"] = "kafka-1:9092"
    StreamPipelineSpec.model_validate(spec | {"goal": GOAL})


def test_a_line_with_spark_submit(tmp_path: Path) -> None:
    line = (
        "#!/bin/sh\nset -e\n/opt/spark/bin/spark-submit --master k8s://x --name clicks \\\n"
        "  --conf spark.executor.memory=3g --num-executors 4 --conf 'spark.a.b=c d' \\\n"
        "  --packages a:b:1 local:///x.py --arg 1\n"
    )
    spec, told = imported(tmp_path, run_sh=line)
    assert spec["tuning"]["initial"]["executors"] == 4
    assert spec["resources"]["executor"]["memory"] == "3456Mi"
    assert spec["sparkConf"] == {"spark.a.b": "c d"}
    assert "--packages a:b:1: put the jars into an image" in told
    assert spec["transform"]["python"] == {"script": "/x.py", "args": ["--arg", "1"]}


@pytest.mark.parametrize(
    ("writing", "sink"),
    [
        ('.format("delta").start("s3a://lake/t")', {"delta": {"uri": "s3a://lake/t"}}),
        (
            '.format("json").option("path", "s3a://lake/t").start()',
            {"files": {"format": "json", "uri": "s3a://lake/t"}},
        ),
        (".foreachBatch(save).start()", {"foreachBatch": {"module": "sink:save"}}),
    ],
)
def test_other_sinks(tmp_path: Path, writing: str, sink: dict[str, Any]) -> None:
    reading = 'd = spark.readStream.format("kafka").load()\n'
    spec, _ = imported(tmp_path, job_py=f"{reading}d.writeStream{writing}\n")
    assert spec["sink"] == sink


def test_what_a_pipeline_has_one_of_is_told_by_line(tmp_path: Path) -> None:
    text = (
        'a = spark.readStream.format("kafka").load()\n'
        'b = spark.readStream.format("rate").load()\n'
        'a.writeStream.format("console").trigger(availableNow=True).start()\n'
        'b.writeStream.format("kafka").option("topic", "t").start()\n'
    )
    spec, told = imported(tmp_path, job_py=text)
    assert spec["runs"] == {}
    for line in (
        "line 2: another stream", "line 4: another query", "line 3: the sink console",
        "line 3: trigger(availableNow=True): runs.schedule starts it",
    ):  # fmt: skip
        assert line in told


@pytest.mark.parametrize(
    ("said", "written"),
    [("clicks", ".*clicks.*"), ("^clicks-.*", "clicks-.*"), ("^(a|b)$", "(a|b)")],
)
def test_a_pattern_of_topics_means_the_same(tmp_path: Path, said: str, written: str) -> None:
    text = f'd = spark.readStream.format("kafka").option("subscribePattern", {said!r}).load()\n'
    spec, told = imported(tmp_path, job_py=text)
    assert spec["source"]["kafka"] == {"topicPattern": written}
    assert "spec.source.kafka.topics" not in told


def checkpoint(folder: Path, planned: int, committed: int | None) -> Path:
    """A checkpoint as Spark writes it: each batch takes ten records of each partition."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "commits").mkdir()
    for batch in range(planned + 1):
        ends = {"clicks": {"0": 10 * (batch + 1), "1": 10 * (batch + 1)}}
        metadata = {"batchWatermarkMs": 0, "conf": {}}
        lines = ["v1", json.dumps(metadata), json.dumps(ends)]
        (folder / "offsets" / str(batch)).write_text("\n".join(lines))
    for batch in range(-1 if committed is None else committed + 1):
        (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def test_a_pipeline_begins_where_a_checkpoint_ends(tmp_path: Path) -> None:
    done = run("--checkpoint", checkpoint(tmp_path / "c", 10, 10), "--name", "moved")
    manifest = yaml.safe_load(done.stdout)
    assert manifest["metadata"]["name"] == "moved"
    kafka = manifest["spec"]["source"]["kafka"]
    assert kafka["topics"] == ["clicks"]
    assert json.loads(kafka["startingOffsets"]) == {"clicks": {"0": 110, "1": 110}}
    assert "batch" not in done.stderr


def test_a_batch_that_was_not_committed_is_told(tmp_path: Path) -> None:
    done = run("--checkpoint", checkpoint(tmp_path / "c", 3, 2))
    kafka = yaml.safe_load(done.stdout)["spec"]["source"]["kafka"]
    assert json.loads(kafka["startingOffsets"]) == {"clicks": {"0": 30, "1": 30}}
    assert "batch 3 of" in done.stderr
    assert "let the old job commit it" in done.stderr


def test_what_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    for name, text, words in (
        ("a.py", "def (", "cannot be read as Python"),
        ("b.yaml", "kind: Deployment", "has 0 SparkApplications and no spark-submit line"),
        ("c.sh", "spark-submit 'open", "is not closed"),
    ):
        file = tmp_path / name
        file.write_text(text)
        done = run(file)
        assert (done.exit_code, words in done.output) == (1, True), done.output
    for place, words in (
        (tmp_path, "is no checkpoint: it has no folder `offsets`"),
        (checkpoint(tmp_path / "c", 0, None), "has committed no batch"),
    ):
        assert words in run("--checkpoint", place).output
    assert run().exit_code == 2


@pytest.mark.parametrize(
    ("heap", "overhead", "pod"),
    [
        ("4g", None, "4506Mi"), ("1g", None, "1408Mi"), ("1024", None, "1408Mi"),
        ("2g", "512m", "2560Mi"), ("lots", None, None),
    ],
)  # fmt: skip
def test_a_pod_holds_the_heap_and_what_is_outside(
    heap: str, overhead: str | None, pod: str | None
) -> None:
    assert pod_memory(heap, overhead) == pod
