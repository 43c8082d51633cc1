"""A StreamPipeline's children: identity, job and tuning documents, checkpoint claim, driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab.api.contract import (
    CHECKPOINT_DIRECTORY,
    JOB_KEY,
    REFLEX_KEY,
    SETTINGS_KEY,
    Executors,
    Job,
    Reflex,
    Settings,
    SourceOptions,
    TransformDocument,
)
from trimtab.api.history import HISTORY_KEY, NEWEST_KEY, Entry, name_of, packed
from trimtab.api.knobs import FIXED_KNOBS
from trimtab.api.pod_user import DEFAULT_USER
from trimtab.api.quantities import format_quantity
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.ports import Manifest
from trimtab.settings import OperatorSettings
from trimtab.workloads import driver, identity, network, packages, pods
from trimtab.workloads.common import (
    COMPONENT_LABEL,
    HASH_ANNOTATION,
    MANAGED_BY,
    child,
    digest,
)
from trimtab.workloads.names import (
    claim_name,
    driver_name,
    executor_account,
    history_name,
    job_name,
    labels,
    tuning_name,
)

IDENTITY_ANNOTATION = "trimtab.dev/checkpoint-identity"
SINK_ANNOTATION = "trimtab.dev/sink"


def children(
    parent: Manifest, spec: StreamPipelineSpec, job: Job, config: OperatorSettings,
    java_options: str = "",
) -> list[Manifest]:  # fmt: skip
    """Every child except the tuning document, in the order in which they are applied.

    `java_options` are for the driver's JVM.
    """
    document = job.to_json()
    name = job_name(parent["metadata"]["name"], document)
    job_map = child(parent, "ConfigMap", name, labels(parent), {"data": {JOB_KEY: document}})
    stateful_set = driver.stateful_set(parent, spec, job, config, java_options)
    if spec.checkpoint.claim is None:
        _stamp(stateful_set, spec)
    policies = network.pipeline_policies(
        parent, config, ui=spec.shows_ui, kafka=bool(spec.origin.kafkas or spec.results.kafkas)
    )
    ui = [driver.ui_service(parent)] if spec.shows_ui else []
    budget = [] if spec.evictable else [driver.disruption_budget(parent)]
    checkpoint = checkpoint_claim(parent, spec)
    accounts = identity.accounts(parent, job.mounted, spec.service_account)
    return [*accounts, *policies, *ui, job_map, *checkpoint, *budget, stateful_set]


def job_definition(
    parent: Manifest, spec: StreamPipelineSpec, config: OperatorSettings, requirements: str = ""
) -> Job:
    """A pipeline's `job.json`, from a spec that has the address of each Kafka.

    `requirements` is the file that `transform.python.requirements` names.
    """
    meta, python, jvm = parent["metadata"], spec.transform.python, spec.transform.jvm
    return Job(
        schema_=2 if _needs_second_schema(spec) else 1,
        namespace=meta["namespace"],
        pipeline=meta["name"],
        pipeline_uid=meta["uid"],
        source=spec.origin.document(),
        transform=TransformDocument(
            sql=spec.transform.sql,
            module=python.module if python else None,
            script=python.script if python else None,
            args=(python.args or None) if python else None,
            class_=jvm.class_ if jvm else None,
            jar=jvm.jar if jvm else None,
            params=python.params if python else jvm.params if jvm else {},
            tables=spec.transform.tables or None,
            archives=(python.archives or None) if python else None,
            modules_from=python.modules_from if python else None,
            shuffle_partitions=spec.transform.shuffle_partitions,
        ),
        sink=spec.results.document(),
        dead_letters=spec.dead_letters.document() if spec.dead_letters else None,
        output_mode=spec.results.output_mode,
        execution=spec.wants,
        checkpoint_uri=_checkpoint_uri(meta, spec),
        drain_timeout_s=spec.drain_timeout,
        resume=False if spec.checkpoint.resume is False else None,
        hang_timeout_s=spec.hang_timeout,
        spark_ui=True if spec.shows_ui else None,
        event_log_uri=spec.event_log.uri if spec.event_log else None,
        listeners=spec.listeners or None,
        executors=_executors(parent, spec, config, requirements),
        spark_conf=spec.spark_conf,
    )


def _executors(
    parent: Manifest, spec: StreamPipelineSpec, config: OperatorSettings, requirements: str
) -> Executors:
    """The shape of the executors' pods."""
    name, executor = parent["metadata"]["name"], spec.resources.executor
    own = spec.pod_template.executor if spec.pod_template else None
    return Executors(
        image=spec.image or config.pipeline_image,
        cores=executor.cores,
        cpu_request=executor.cpu_request,
        memory_bytes=executor.memory,
        scratch_bytes=executor.scratch,
        service_account=executor_account(name),
        labels=MANAGED_BY | labels(parent) | {COMPONENT_LABEL: "executor"},
        env={e.name: e.value for e in spec.env if e.value is not None},
        env_from={e.name: e.value_from for e in spec.env if e.value_from} or None,
        node_selector=spec.nodes_of("executor"),
        checkpoint_claim=claim_name(name) if _shared(spec) else None,
        pod_template=pods.told(pods.pod_template(spec.pods_of("executor"), config)),
        topology_spread=tuple(own.topology_spread_constraints) or None if own else None,
        pod_user=None if config.pod_user == DEFAULT_USER else config.pod_user,
        volumes=tuple(spec.volumes) or None,
        packages=packages.asked(spec.transform, config.package_index, requirements),
    )


def _needs_second_schema(spec: StreamPipelineSpec) -> bool:
    """Whether it has what drivers of the first schema do not know."""
    source, python = spec.origin.kafka, spec.transform.python
    return any(
        (
            source and (source.tls or source.authentication or source.options),
            *(sink.tls or sink.authentication or sink.options for sink in spec.results.kafkas),
            *(variable.value_from for variable in spec.env),
            source is None or source.topic_pattern or source.format,
            python and (python.script or python.requirements or python.archives),
            python and python.modules_from,
            spec.transform.jvm,
            spec.sinks,
            spec.wants,
            spec.transform.tables,
            spec.dead_letters,
            spec.volumes,
        )
    )


def _shared(spec: StreamPipelineSpec) -> bool:
    return spec.checkpoint.claim is not None and spec.checkpoint.claim.shared


def _checkpoint_uri(meta: Manifest, spec: StreamPipelineSpec) -> str:
    """Where Spark keeps the checkpoint; under a URI each pipeline has its own directory."""
    uri, root = spec.checkpoint.uri, f"file://{CHECKPOINT_DIRECTORY}"
    if uri is not None:
        root = f"{uri.rstrip('/')}/{meta['namespace']}/{meta['name']}"
    return f"{root}/g{spec.checkpoint.generation}/query"


def source_options(spec: StreamPipelineSpec) -> SourceOptions:
    """The spec's options for reading the source: part of the tuning document."""
    source = spec.origin.kafka
    if source is None:
        return SourceOptions()  # several sources have each its own, in the job document
    return SourceOptions(
        starting_offsets=source.starting_offsets,
        fail_on_data_loss=source.fail_on_data_loss,
        isolation_level=source.uncommitted,
    )


def fixed_knobs(spec: StreamPipelineSpec) -> dict[str, float]:
    """The spec's values, by name, of the knobs that no law moves: part of the tuning document."""
    said: dict[str, float] = {}
    for values in (spec.tuning.initial, spec.tuning.pinned):
        said |= values.numbers() if values else {}
    return {knob.name: said[knob.name] for knob in FIXED_KNOBS if knob.name in said}


def tuning_document(parent: Manifest, settings: Settings, reflex: Reflex | None = None) -> Manifest:
    """The ConfigMap that passes the knob values and the source options to the driver.

    With `reflex`, also what the driver may do by itself.
    """
    name = tuning_name(parent["metadata"]["name"])
    data = {SETTINGS_KEY: settings.to_json()}
    if reflex is not None:
        data[REFLEX_KEY] = reflex.to_json()
    return child(parent, "ConfigMap", name, labels(parent), {"data": data})


def history_map(parent: Manifest, entries: Sequence[Entry]) -> Manifest:
    """The ConfigMap with the history."""
    name = history_name(parent["metadata"]["name"])
    data = {NEWEST_KEY: name_of(entries[-1])}
    body = {"data": data, "binaryData": {HISTORY_KEY: packed(entries)}}
    return child(parent, "ConfigMap", name, labels(parent), body)


IDENTITY_FORM = "2"
"""The first form held addresses and the sink; it is taken for the same, and replaced."""


def checkpoint_identity(spec: StreamPipelineSpec) -> str:
    """What a checkpoint generation belongs to: topics, output mode and partitions of state.

    `generation:form:hash`. The partitions of state only if the spec sets them; the number that a
    driver chose is in the checkpoint itself, as are the ids of the Kafka cluster and of its topics.
    """
    told: list[Any] = [spec.origin.offsets_of, spec.results.output_mode]
    if spec.transform.shuffle_partitions is not None:
        told.append(spec.transform.shuffle_partitions)
    if spec.checkpoint.uri is not None:
        told.append(spec.checkpoint.uri)
    return f"{spec.checkpoint.generation}:{IDENTITY_FORM}:{digest(told)}"


def access_modes(spec: StreamPipelineSpec) -> list[str]:
    """Who may mount the checkpoint: one node, or all nodes if the executors share it."""
    return ["ReadWriteMany" if _shared(spec) else "ReadWriteOnce"]


def identity_holder(name: str, spec: StreamPipelineSpec) -> tuple[str, str]:
    """Kind and name of the child that records what the checkpoint belongs to.

    It is the claim, which outlives the pipeline, or the driver if there is no claim.
    """
    if spec.checkpoint.claim is None:
        return "StatefulSet", driver_name(name)
    return "PersistentVolumeClaim", claim_name(name)


def _stamp(holder: Manifest, spec: StreamPipelineSpec) -> None:
    """Record on a child what the checkpoint belongs to, and where its batches are written."""
    annotations, said = (
        holder["metadata"]["annotations"],
        (checkpoint_identity(spec), spec.results.words),
    )
    annotations[IDENTITY_ANNOTATION], annotations[SINK_ANNOTATION] = said
    annotations[HASH_ANNOTATION] = digest([annotations[HASH_ANNOTATION], *said])


def checkpoint_claim(parent: Manifest, spec: StreamPipelineSpec) -> list[Manifest]:
    """The checkpoint's claim, if it has one.

    With deletionPolicy Retain the claim has no owner and outlives the pipeline.
    """
    claim = spec.checkpoint.claim
    if claim is None:
        return []
    body: Manifest = {
        "accessModes": access_modes(spec),
        "resources": {"requests": {"storage": format_quantity(claim.size)}},
    }
    if claim.storage_class_name:
        body["storageClassName"] = claim.storage_class_name
    manifest = child(
        parent, "PersistentVolumeClaim", claim_name(parent["metadata"]["name"]),
        labels(parent), {"spec": body}, owned=spec.checkpoint.deletion_policy == "Delete",
    )  # fmt: skip
    _stamp(manifest, spec)
    return [manifest]
