"""What a pipeline's children should be, and what prevents their creation. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.ports import Manifest
from trimtab.reconcile.decide.sized import sized
from trimtab.reconcile.observe.brokers import Words
from trimtab.reconcile.observe.observation import Observation
from trimtab.workloads import driver, pipeline
from trimtab.workloads.inputs import inputs_hash
from trimtab.workloads.names import claim_name, job_name


@dataclass(frozen=True, slots=True)
class Plan:
    """The children, or the reason and message why they cannot be created."""

    children: tuple[Manifest, ...] = ()
    job: str = ""
    """The ConfigMap with the job document."""
    inputs: str = ""
    """Hash of the inputs that only a driver restart applies."""
    obstacle: Words | None = None


def plan(seen: Observation, spec: StreamPipelineSpec) -> Plan:
    """The children of a spec with the cores in force.

    Advice on the JVMs is for the next driver: the children include it, the inputs' hash does not.
    """
    if obstacle := seen.references.missing or _checkpoint_obstacle(seen):
        return Plan(obstacle=obstacle)
    parent, config = seen.parent, seen.config
    job = pipeline.job_definition(parent, spec, config, seen.references.requirements)
    inputs = inputs_hash(spec, job, seen.references.modules)
    pods, sized_job, java_options = sized(spec, job, seen.advice.jvm)
    *children, stateful_set = pipeline.children(parent, pods, sized_job, config, java_options)
    _keep_class(children, seen.claim)
    job_map = job_name(parent["metadata"]["name"], sized_job.to_json())
    return Plan((*children, driver.with_inputs(stateful_set, inputs)), job_map, inputs)


def _keep_class(children: list[Manifest], live: Manifest | None) -> None:
    """Give the claim the storage class that it has, if the spec names none.

    An apply without it would take back the class that an earlier spec gave to a claim without a
    volume, and the API server refuses that.
    """
    name = (live or {}).get("spec", {}).get("storageClassName")
    for each in children:
        if name and each["kind"] == "PersistentVolumeClaim":
            each["spec"].setdefault("storageClassName", name)


def _checkpoint_obstacle(seen: Observation) -> Words | None:
    """Why the query cannot continue from its checkpoint; None if it can."""
    spec, name = seen.spec, seen.parent["metadata"]["name"]
    modes = (seen.claim or {}).get("spec", {}).get("accessModes") or pipeline.access_modes(spec)
    if spec.checkpoint.claim is not None and modes != pipeline.access_modes(spec):
        message = (
            f"the claim {claim_name(name)} of an older pipeline is {', '.join(modes)}, but"
            " checkpoint.volumeClaim.shared needs another access mode, which a volume cannot"
            " change: restore the field, or delete the claim"
        )
        return "CheckpointIncompatible", message
    known = (seen.identity_holder or {}).get("metadata", {}).get("annotations", {})
    return _foreign(known.get(pipeline.IDENTITY_ANNOTATION, ""), pipeline.checkpoint_identity(spec))


def _foreign(before: str, now: str) -> Words | None:
    """Why a checkpoint does not belong to the spec; both identities as the annotation has them."""
    generation, _, rest = before.partition(":")
    wanted, _, asked = now.partition(":")
    if not generation.isdigit():
        return None
    if int(wanted) < int(generation):
        message = (
            f"checkpoint.generation was {generation} and cannot be lowered to {wanted}: the query"
            " would read again what it has read since. Restore it, or raise it"
        )
        return "CheckpointIncompatible", message
    first_form = ":" not in rest
    if wanted != generation or rest == asked or first_form:
        return None
    message = (
        "the checkpoint belongs to other topics, another output mode or another number of shuffle"
        " partitions: restore them, or raise spec.checkpoint.generation to begin a new checkpoint"
    )
    return "CheckpointIncompatible", message
