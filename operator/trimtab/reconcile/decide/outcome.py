"""One tick of one pipeline: takes an Observation, returns everything to write. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.api.history import Entry
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.ports import Manifest, Reading
from trimtab.reconcile.decide import events, history
from trimtab.reconcile.decide.cost import size_of, spent
from trimtab.reconcile.decide.events import Announcement
from trimtab.reconcile.decide.executors import missing_executors
from trimtab.reconcile.decide.leftovers import leftovers
from trimtab.reconcile.decide.memory import document, edited, remembered, told
from trimtab.reconcile.decide.plan import Plan, plan
from trimtab.reconcile.observe.brokers import Words
from trimtab.reconcile.observe.observation import Observation
from trimtab.reconcile.observe.partitions import raised
from trimtab.reconcile.observe.signals import Missing
from trimtab.reconcile.status.conditions import Situation, conditions
from trimtab.reconcile.status.gauges import gauges
from trimtab.reconcile.status.news import news
from trimtab.reconcile.status.report import status
from trimtab.tuning.advice import jvm, oversize, partitions, pods
from trimtab.tuning.controller_state import Advice, ControllerState
from trimtab.tuning.decision import Decision
from trimtab.tuning.governance import windows
from trimtab.tuning.knobs import clamp
from trimtab.tuning.law import decide
from trimtab.tuning.snapshot import ExternalConstraints, Snapshot
from trimtab.workloads import driver, pipeline


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to write, in this order; the status is the write-ahead record of the rest."""

    status: StreamPipelineStatus
    events: tuple[Announcement, ...] = ()
    decisions: tuple[Decision, ...] = ()
    """The decisions to report, for the operator's own metrics."""
    document: Manifest | None = None
    """The tuning document; None if a newer one exists."""
    children: tuple[Manifest, ...] | None = None
    """None: nothing may be created."""
    generation: int = 0
    """Generation of the settings: the children wait until the document has it."""
    restart: bool = False
    """Whether to delete the driver's pod, so that it restarts with new inputs."""
    history: tuple[Entry, ...] = ()
    """What is new in the history."""
    history_map: Manifest | None = None
    """The history with it; None: nothing is new."""
    leftovers: tuple[Manifest, ...] = ()
    """Objects of ours that nothing needs any more."""
    readings: tuple[Reading, ...] = ()
    """What the operator's metrics say of the pipeline."""
    changing: bool = False
    """Whether a change is on trial."""
    topic: Manifest | None = None
    """The KafkaTopic of the source with the partitions that it should have."""
    scaled: Manifest | None = None
    """The driver's StatefulSet scaled as it must be, if nothing else may be written."""


def outcome(seen: Observation) -> Outcome:
    """Decide on a pipeline whose spec is valid."""
    wide = pods.with_cores(seen.spec, pods.cores_in_force(seen.spec, seen.memory))
    planned = plan(seen, wide)
    snapshot, decision, memory = _decided(seen, planned)
    advice = _advice(seen, wide, snapshot, decision, memory)
    memory = replace(told(memory, seen), advice=advice, spent=spent(seen, wide, snapshot, memory))
    situation = replace(
        _situation(seen, wide, planned),
        missing_executors=missing_executors(seen, memory.in_force.executors),
        snapshot=snapshot, decision=decision, memory=memory,
    )  # fmt: skip
    new = status(seen.status, situation)
    told_now = news(seen.status.decisions, decision)
    entries = history.added(seen.history, new, situation)
    out = Outcome(
        new, events.announcements(seen, wide, new, told_now), tuple(told_now),
        history=entries, history_map=_history(seen, entries),
        leftovers=leftovers(seen, planned), changing=memory.trial is not None,
        readings=gauges(new, situation, wide.resources.executor.memory),
    )  # fmt: skip
    if planned.obstacle is not None:
        return replace(out, scaled=scaled(seen.stateful_set, suspended=seen.spec.suspend))
    return replace(
        out,
        document=document(memory, seen, snapshot),
        children=_children(seen, planned),
        generation=memory.generation,
        restart=_outdated(seen, wide, planned),
        topic=raised(seen.references.topic, memory.settings.topic_partitions),
    )


def _situation(seen: Observation, wide: StreamPipelineSpec, planned: Plan) -> Situation:
    """What the status says before anything is decided."""
    return Situation(
        generation=seen.parent["metadata"]["generation"],
        now_s=seen.now_s,
        policy=seen.policy,
        suspended=seen.spec.suspend,
        run=seen.run,
        obstacle=planned.obstacle or _refused(seen),
        waiting=_waiting(seen) or seen.references.not_ready,
        extra_drivers=seen.extra_drivers,
        driver=replace(seen.pod, failure=oversize.failure(seen.pod.failure, seen.advice.oversize)),
        inputs=planned.inputs,
        metrics=seen.metrics,
        missing=seen.missing,
        set_by=seen.set_by,
        pace_s=seen.pace_s,
        indirect=seen.indirect,
        executor=size_of(wide.resources.executor, 1),
        pricing=seen.config.pricing,
    )


def refusal(
    parent: Manifest, old: StreamPipelineStatus, message: str, now_s: float, live: Manifest | None,
    *, gone: tuple[Manifest, ...],
) -> Outcome:  # fmt: skip
    """For a spec that the CRD accepts but the models refuse; suspending still stops the driver.

    `live` is the driver's StatefulSet, `gone` what is given up all the same.
    """
    suspended = parent["spec"].get("suspend") is True
    generation = parent["metadata"]["generation"]
    situation = Situation(
        generation=generation,
        now_s=now_s,
        policy=None,
        suspended=suspended,
        obstacle=("InvalidSpec", message[:1000]),
    )
    changed = {
        "observed_generation": generation,
        "conditions": conditions(old.conditions, situation),
    }
    return Outcome(
        old.model_copy(update=changed), scaled=scaled(live, suspended=suspended), leftovers=gone
    )


def scaled(live: Manifest | None, *, suspended: bool) -> Manifest | None:
    """The driver's StatefulSet scaled down to what it may have; None if it has no more."""
    most = 0 if suspended else 1
    return driver.scaled(live, most) if live and live["spec"].get("replicas", 1) > most else None


def _history(seen: Observation, new: tuple[Entry, ...]) -> Manifest | None:
    """The history with what is new; None if nothing is."""
    known = history.entries(seen.history) if new else ()
    return pipeline.history_map(seen.parent, (*known, *new)) if new else None


def _decided(
    seen: Observation, planned: Plan
) -> tuple[Snapshot | None, Decision | None, ControllerState]:
    """The decision; none while the driver is not running, when missing metrics are expected."""
    policy, memory = seen.policy, remembered(seen)
    constraints = _constraints(seen, memory)
    # a raise that is refused is put back although the driver that asked for it is down
    decides = seen.pod.ready or (memory.trial is not None and constraints.executors_refused)
    if seen.spec.suspend or not decides or _restarting(seen, planned):
        clamped = clamp(policy, memory.settings)
        if clamped != memory.settings:
            memory = replace(memory, settings=clamped, generation=memory.generation + 1, trial=None)
        return None, None, memory
    missing = seen.missing
    snapshot = Snapshot(
        now_s=seen.now_s,
        policy=policy,
        settings=memory.settings,
        signals=None if isinstance(seen.signals, Missing) else seen.signals,
        no_signals=missing.words if missing else "",
        constraints=constraints,
    )
    decision, after = decide(snapshot, memory)
    if missing and decision.reason is Reason.NO_METRICS:
        decision = replace(decision, reason=missing.reason)
    return snapshot, decision, after


def _constraints(seen: Observation, memory: ControllerState) -> ExternalConstraints:
    missing = missing_executors(seen, memory.in_force.executors)
    return ExternalConstraints(
        topic_fixed=seen.topic_fixed,
        executors_missing=missing.message if missing else "",
        executors_refused=missing.refused if missing else False,
        closed=windows.OPEN if _expiring(seen) else windows.closed(seen.rules, seen.now_s),
        approved=seen.approved,
        others_changing=seen.allowance.others_changing,
        budget_executors=seen.allowance.executors,
    )


def _expiring(seen: Observation) -> bool:
    return not isinstance(seen.signals, Missing) and seen.signals.expiring


def _restarting(seen: Observation, planned: Plan) -> bool:
    """Whether the running driver is about to be replaced because its inputs are out of date."""
    outdated = bool(planned.inputs) and seen.pod.inputs != planned.inputs
    return outdated and not seen.refused


def _refused(seen: Observation) -> Words | None:
    refused = seen.refused
    return (refused.reason, refused.message) if refused and not refused.heals else None


def _waiting(seen: Observation) -> Words | None:
    refused = seen.refused
    return (refused.reason, refused.message) if refused and refused.heals else None


def _advice(
    seen: Observation,
    wide: StreamPipelineSpec,
    snapshot: Snapshot | None,
    decision: Decision | None,
    after: ControllerState,
) -> Advice:
    """The advice that stands after this tick."""
    old = seen.advice
    now = None if isinstance(seen.signals, Missing) else seen.signals.partitions
    running = snapshot.signals if snapshot else None
    return Advice(
        jvm=jvm.jvm_status(wide, old.jvm, seen.jvms, _died(seen)),
        partitions=partitions.advice(seen.spec, old.partitions, decision, now),
        oversize=oversize.standing(old.oversize, running, after.settings),
    )


def _died(seen: Observation) -> str | None:
    """The role that ran out of memory and thereby ended the driver; None otherwise."""
    failure = seen.pod.failure
    return oversize.OUT_OF_MEMORY.get(failure[0]) if failure else None


def _children(seen: Observation, planned: Plan) -> tuple[Manifest, ...]:
    """The children; the driver is not created before its Kafka is ready."""
    if seen.references.not_ready is None or seen.stateful_set is not None:
        return planned.children
    return tuple(child for child in planned.children if child["kind"] != "StatefulSet")


def _outdated(seen: Observation, wide: StreamPipelineSpec, planned: Plan) -> bool:
    """Whether the driver's pod was created with inputs that have changed since."""
    pod = seen.pod
    if not pod.exists or pod.terminating:
        return False
    if pod.inputs != planned.inputs:
        return True
    if pod.failure and (edited(seen) or pod.job not in {"", planned.job}):
        return True  # a driver that is down reads them when it starts, which may take minutes
    # a pod keeps the memory limit it was created with, and this one is down for lack of memory
    wanted = pods.memory_in_force(wide, seen.advice.jvm)
    return _died(seen) == "driver" and 0 < pod.memory < wanted
