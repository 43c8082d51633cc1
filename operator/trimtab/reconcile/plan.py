"""What a pipeline's children should be, and what keeps them from being made."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.common import get_condition
from trimtab.api.kafka import KafkaClusterSpec, KafkaClusterStatus
from trimtab.api.pipeline import StreamPipelineSpec
from trimtab.api.status import JvmStatus
from trimtab.ports import Cluster, Manifest
from trimtab.reconcile.pods import sized
from trimtab.reconcile.world import World
from trimtab.settings import OperatorSettings
from trimtab.workloads import driver, kafka, pipeline
from trimtab.workloads.common import HASH_ANNOTATION
from trimtab.workloads.names import claim_name


@dataclass(frozen=True, slots=True)
class Plan:
    """The children, or the (reason, message) that forbids to make them."""

    children: tuple[Manifest, ...] = ()
    inputs: str = ""
    obstacle: tuple[str, str] | None = None
    waiting: tuple[str, str] | None = None
    """(reason, message) of what must come before the driver is first made."""


def plan(
    parent: Manifest, spec: StreamPipelineSpec, world: World, cluster: Cluster,
    config: OperatorSettings, *, now_s: float, jvm: JvmStatus | None = None,
) -> Plan:  # fmt: skip
    """Resolve references, check the checkpoint, and build the children.

    Advice on the JVMs is for the next driver: it is in the children and not in the inputs.
    """
    namespace = parent["metadata"]["namespace"]
    addresses = []
    for name, given in (
        (spec.source.kafka.cluster, spec.source.kafka.bootstrap_servers),
        (spec.sink.kafka.cluster, spec.sink.kafka.bootstrap_servers),
    ):
        address = given or _bootstrap(world, namespace, name or "")
        if address is None:
            message = f"there is no KafkaCluster {name!r} in namespace {namespace!r}"
            return Plan(obstacle=("KafkaClusterNotFound", message))
        addresses.append(address)
    python, modules = spec.transform.python, None
    if python and python.config_map:
        key = ("ConfigMap", namespace, python.config_map)
        modules = world.fetched(key, now_s, cluster.get)
        if modules is None:
            message = f"there is no ConfigMap {python.config_map!r} in namespace {namespace!r}"
            return Plan(obstacle=("ModuleNotFound", message))
    if obstacle := _checkpoint_obstacle(parent, spec, world):
        return Plan(obstacle=obstacle)
    job = pipeline.job_definition(parent, spec, (addresses[0], addresses[1]), config)
    inputs = pipeline.inputs_hash(spec, job, modules)
    pods, sized_job, java_options = sized(spec, job, jvm)
    children = pipeline.children(parent, pods, sized_job, config, java_options)
    driver.with_inputs(children[-1], inputs)
    return Plan(tuple(children), inputs, waiting=_waiting(spec, world, namespace))


def _bootstrap(world: World, namespace: str, name: str) -> str | None:
    found = world.get("KafkaCluster", namespace, name)
    if found is None:
        return None
    spec = KafkaClusterSpec.model_validate(found["spec"])
    return kafka.bootstrap_servers(name, namespace, spec.replicas)


def _waiting(spec: StreamPipelineSpec, world: World, namespace: str) -> tuple[str, str] | None:
    """A driver that comes before its Kafka only fails; one that runs already just retries."""
    for name in (spec.source.kafka.cluster, spec.sink.kafka.cluster):
        found = world.get("KafkaCluster", namespace, name) if name else None
        status = KafkaClusterStatus.model_validate((found or {}).get("status") or {})
        ready = get_condition(status.conditions, "Ready")
        if found and (ready is None or ready.status != "True"):
            why = f": {ready.message}" if ready else ""
            return "KafkaClusterNotReady", f"KafkaCluster {name!r} is not ready yet{why}"
    return None


def _checkpoint_obstacle(
    parent: Manifest, spec: StreamPipelineSpec, world: World
) -> tuple[str, str] | None:
    """A checkpoint goes on only with what it began with, and a claim in its access mode."""
    meta = parent["metadata"]
    claim = world.get("PersistentVolumeClaim", meta["namespace"], claim_name(meta["name"]))
    modes = (claim or {}).get("spec", {}).get("accessModes") or pipeline.access_modes(spec)
    if spec.checkpoint.claim is not None and modes != pipeline.access_modes(spec):
        message = (
            f"the claim {claim_name(meta['name'])} of an older pipeline is {', '.join(modes)}, and"
            " checkpoint.volumeClaim.shared asks for another access mode, which a volume cannot"
            " change: put it back, or delete the claim"
        )
        return "CheckpointIncompatible", message
    kind, name = pipeline.identity_holder(meta["name"], spec)
    holder = world.get(kind, meta["namespace"], name)
    known = (holder or {}).get("metadata", {}).get("annotations", {})
    before = known.get(pipeline.IDENTITY_ANNOTATION)
    now = pipeline.checkpoint_identity(spec)
    if before and before != now and before.split(":")[0] == now.split(":")[0]:
        message = (
            "the checkpoint was made for other topics, another sink, another output mode or"
            " another number of shuffle partitions: put them back, or raise"
            " spec.checkpoint.generation to begin a new checkpoint"
        )
        return "CheckpointIncompatible", message
    return None


def differs(child: Manifest, world: World) -> bool:
    """Whether the live object is not what is wanted, by the hash that we stamped on it."""
    meta = child["metadata"]
    live = world.get(child["kind"], meta["namespace"], meta["name"])
    if live is None:
        return True
    stamped = (live["metadata"].get("annotations") or {}).get(HASH_ANNOTATION)
    return bool(stamped != meta["annotations"][HASH_ANNOTATION])
