"""The quickstart's manifests with changes, and what is built of them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from trimtab.api.connection import KafkaConnection
from trimtab.api.network import NetworkSettings
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.settings import OperatorSettings
from trimtab.workloads import pipeline
from trimtab.workloads.inputs import inputs_hash
from trimtab.workloads.kafka.children import children
from trimtab.workloads.kafka.topics import topics_job

ROOT = Path(__file__).parents[3]
CONFIG = OperatorSettings(
    "pipeline:1", "kafka:1", "http://prometheus:9090", network=NetworkSettings()
)
PLAIN = KafkaConnection("k:9092")
"""Where the tests' KafkaCluster is."""
LONGEST = "a" * 40

Json = dict[str, Any]


SIZES: dict[str, dict[str, Any]] = {
    "StreamPipeline": {
        "resources.executor.cores": 1,
        "limits.executors.max": 5,
        "transform.python.params.wait_ms": "8",
    },
    "KafkaCluster": {
        "topics": [{"name": name, "partitions": 12} for name in ("clicks", "clicks-out")]
    },
}
"""By kind, what the tests count on, whatever sizes the demo needs."""


def example(file: str, **meta: Any) -> Json:
    """A manifest of the quickstart as the API server would hold it, in the tests' sizes."""
    text = (ROOT / "examples/10-quickstart" / f"{file}.yaml").read_text()
    manifest: Json = yaml.safe_load(text)
    for path, value in SIZES.get(manifest["kind"], {}).items():
        manifest = changed(manifest, path, value)
    manifest["metadata"] |= {"namespace": "n", "uid": "uid-1", "generation": 1} | meta
    return manifest


def changed(manifest: Json, path: str, value: Any) -> Json:
    """A copy with one field of the spec set, or taken away where the value is None."""
    out = copy.deepcopy(manifest)
    *folders, last = path.split(".")
    node = out["spec"]
    for folder in folders:
        node = node.setdefault(folder, {})
    if value is None:
        node.pop(last, None)
    else:
        node[last] = value
    return out


def reached(manifest: Json) -> StreamPipelineSpec:
    """A pipeline's spec with an address for each Kafka."""
    spec = StreamPipelineSpec.model_validate(manifest["spec"])
    return spec.reaching(
        [each if each.bootstrap_servers else each.reached(PLAIN) for each in spec.origin.kafkas],
        [sink if sink.bootstrap_servers else sink.reached(PLAIN) for sink in spec.results.kafkas],
    )


def pipeline_children(manifest: Json, config: OperatorSettings = CONFIG) -> dict[str, Json]:
    """The children of a pipeline by kind; of the ConfigMaps the job."""
    spec = reached(manifest)
    job = pipeline.job_definition(manifest, spec, config)
    return {child["kind"]: child for child in pipeline.children(manifest, spec, job, config)}


def inputs(manifest: Json, config: OperatorSettings = CONFIG, modules: Json | None = None) -> str:
    """The inputs' hash of a pipeline."""
    spec = reached(manifest)
    job = pipeline.job_definition(manifest, spec, config)
    return inputs_hash(spec, job, modules)


def kafka_children(manifest: Json, config: OperatorSettings = CONFIG) -> list[Json]:
    """The children of a Kafka cluster, the topics Job included."""
    spec = KafkaClusterSpec.model_validate(manifest["spec"])
    return [
        *children(manifest, spec, config),
        topics_job(manifest, spec, config),
    ]


def pods(children: list[Json]) -> list[Json]:
    """The pod templates among some children."""
    return [c["spec"]["template"] for c in children if c["kind"] in {"StatefulSet", "Job"}]
