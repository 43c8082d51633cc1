"""One pipeline in one tick: decide, then write in the order of the design (section 3).

1. status, with the object's resource version as precondition: the write-ahead record. A conflict
   drops the decision.
2. the tuning document, derived from the status.
3. the other children, derived from spec and status; the driver's pod is deleted when what a
   person can see of it changed.

A crash between the writes loses nothing: 2 and 3 are derived again.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from pydantic import ValidationError

from trimtab.api.common import get_condition
from trimtab.api.pipeline import StreamPipelineSpec
from trimtab.api.reasons import Reason
from trimtab.api.status import JvmStatus, StreamPipelineStatus
from trimtab.ports import Manifest, key_of
from trimtab.reconcile import document, jvm, oversize, partitions, pods
from trimtab.reconcile.conditions import Situation, conditions
from trimtab.reconcile.desk import Case, Desk
from trimtab.reconcile.driver_state import driver_state
from trimtab.reconcile.gather import Gathered, Missing, signals
from trimtab.reconcile.plan import differs, plan
from trimtab.reconcile.report import Record, differ, news, plain, status
from trimtab.reconcile.world import World
from trimtab.tuning.decision import Decision
from trimtab.tuning.knobs import clamp
from trimtab.tuning.law import decide
from trimtab.tuning.memory import Memory
from trimtab.tuning.policy import Policy
from trimtab.tuning.snapshot import Signals, Snapshot, Surroundings
from trimtab.workloads import driver
from trimtab.workloads.names import driver_name, driver_pod

log = logging.getLogger(__name__)


def reconcile(parent: Manifest, gathered: Gathered, desk: Desk) -> None:
    """Bring one pipeline a step nearer to what its spec says."""
    if "deletionTimestamp" in parent["metadata"]:
        return
    old = StreamPipelineStatus.model_validate(parent.get("status") or {})
    try:
        spec = StreamPipelineSpec.model_validate(parent["spec"])
    except ValidationError as error:
        _refuse(parent, old, str(error), desk)
        return
    case = _look(parent, spec, old, gathered, desk)
    memory = document.remembered(case, desk.world)
    found = _signals(case, gathered, desk)
    around = Surroundings(topic_fixed=partitions.fixed(parent, spec, desk.world, gathered.seen))
    snapshot, decision, after = _decide(case, memory, found, around, desk)
    situation = Situation(
        generation=parent["metadata"]["generation"],
        now_s=desk.now_s,
        policy=Policy.of(spec),
        suspended=spec.suspend,
        obstacle=case.planned.obstacle or _refused(case, desk.world),
        waiting=case.planned.waiting,
        driver=replace(case.driver, failure=oversize.failure(case.driver.failure, old.oversize)),
        inputs=case.planned.inputs,
        settings_generation=after.generation,
        seen=case.seen,
        missing=found if isinstance(found, Missing) else None,
        snapshot=snapshot,
        decision=decision,
    )
    record = Record(
        after, case.source, case.fixed, desk.config.scrape_s, desk.config.tick_s, _jvm(case, found),
        partitions.advice(spec, old.partitions_advice, decision, _partitions(found)),
    )  # fmt: skip
    new = status(old, situation, record)
    if differ(new, old) and not desk.writer.status(parent, plain(new)):
        return
    _tell(case, new, decision, desk)
    if case.planned.obstacle is None:
        _write_children(case, after, desk)
    elif spec.suspend:
        _stop(parent, desk)


def _look(
    parent: Manifest, spec: StreamPipelineSpec, old: StreamPipelineStatus,
    gathered: Gathered, desk: Desk,
) -> Case:  # fmt: skip
    namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
    pod = desk.world.get("Pod", namespace, driver_pod(name))
    wide = pods.with_cores(spec, pods.cores_in_force(spec, old.controller))
    return Case(
        parent=parent,
        spec=spec,
        pods=wide,
        old=old,
        planned=plan(
            parent, wide, desk.world, desk.cluster, desk.config, now_s=desk.now_s, jvm=old.jvm
        ),
        driver=driver_state(pod),
        seen=gathered.seen.get((namespace, name)),
    )


def _signals(case: Case, gathered: Gathered, desk: Desk) -> Signals | Missing:
    if gathered.failure:
        return Missing(Reason.NO_METRICS, gathered.failure)
    quantile = Policy.of(case.spec).quantile
    return signals(case.seen, quantile, desk.now_s, desk.config.scrape_s)


def _jvm(case: Case, found: Signals | Missing) -> JvmStatus | None:
    """Advice on the JVMs, from fresh metrics of a driver that runs; else what stands."""
    fresh = case.driver.ready and not isinstance(found, Missing)
    return jvm.jvm_status(case.pods, case.old.jvm, case.seen if fresh else None, _died(case))


def _died(case: Case) -> str | None:
    """The role whose memory ran out and ended the driver."""
    return oversize.OUT_OF_MEMORY.get(case.driver.failure[0]) if case.driver.failure else None


def _partitions(found: Signals | Missing) -> int | None:
    return None if isinstance(found, Missing) else found.partitions


def _decide(
    case: Case, memory: Memory, found: Signals | Missing, around: Surroundings, desk: Desk
) -> tuple[Snapshot | None, Decision | None, Memory]:
    """Nothing is decided while the driver does not run: absent metrics are then no surprise."""
    policy = Policy.of(case.spec)
    if case.spec.suspend or not case.driver.ready or _restarting(case, desk.world):
        clamped = clamp(policy, memory.settings)
        if clamped != memory.settings:
            memory = replace(memory, settings=clamped, generation=memory.generation + 1, trial=None)
        return None, None, memory
    missing = found if isinstance(found, Missing) else None
    snapshot = Snapshot(
        now_s=desk.now_s,
        policy=policy,
        settings=memory.settings,
        signals=None if isinstance(found, Missing) else found,
        no_signals=missing.words if missing else "",
        around=around,
    )
    decision, after = decide(snapshot, memory)
    if missing and decision.reason is Reason.NO_METRICS:
        decision = replace(decision, reason=missing.reason)
    return snapshot, decision, after


def _restarting(case: Case, world: World) -> bool:
    """Whether the driver that runs is about to go: what it does is no longer what is asked for."""
    outdated = bool(case.planned.inputs) and case.driver.inputs != case.planned.inputs
    return outdated and not world.refused(key_of(case.parent))


def _refused(case: Case, world: World) -> tuple[str, str] | None:
    """What the last tick's writes were refused with: they are tried again in each tick.

    An operator that has written none yet goes by what the status says.
    """
    words = world.refused(key_of(case.parent))
    told = get_condition(case.old.conditions, "Stalled")
    if words is None and told and told.status == "True" and told.reason == "ChildRefused":
        words = told.message
    return ("ChildRefused", words) if words else None


def _write_children(case: Case, memory: Memory, desk: Desk) -> None:
    """Write what differs; a refused child does not keep those after it from being written."""
    refused = [document.write(case, memory, desk)]
    if not refused[0] and not document.stands(case, memory, desk.world):
        return  # a conflict: a driver that starts now would find older source options
    for child in case.planned.children:
        if case.planned.waiting and _first_driver(child, desk.world):
            continue
        if differs(child, desk.world):
            refused.append(desk.writer.apply(child))
    words = "; ".join(w for w in refused if w)
    desk.world.refuse(key_of(case.parent), words)
    outdated = case.driver.exists and case.driver.inputs != case.planned.inputs
    if case.driver.failure and document.edited(case, desk.world):
        outdated = True  # one that is down reads them when it starts, which may take minutes
    if _died(case) == "driver":
        # a pod keeps the memory that it was made with, and this one is down for want of it
        outdated |= 0 < case.driver.memory < pods.memory_in_force(case.pods, case.old.jvm)
    if outdated and not case.driver.terminating and not words:
        namespace, name = case.parent["metadata"]["namespace"], case.parent["metadata"]["name"]
        log.info("%s/%s: the driver restarts with new inputs", namespace, name)
        pod = ("Pod", namespace, driver_pod(name))
        desk.writer.delete(pod, uid=case.driver.uid)


def _stop(parent: Manifest, desk: Desk) -> None:
    """Suspend stops the driver also where the rest of the spec cannot be followed."""
    name = driver_name(parent["metadata"]["name"])
    live = desk.world.get("StatefulSet", parent["metadata"]["namespace"], name)
    if live and live["spec"].get("replicas", 1):
        desk.writer.apply(driver.stopped(live))


def _first_driver(child: Manifest, world: World) -> bool:
    meta = child["metadata"]
    made = world.get("StatefulSet", meta["namespace"], meta["name"])
    return child["kind"] == "StatefulSet" and made is None


def _tell(case: Case, new: StreamPipelineStatus, decision: Decision | None, desk: Desk) -> None:
    """The same reason and message as Event, metric and log line."""
    parent, old, meta = case.parent, case.old, case.parent["metadata"]
    name = f"{meta['namespace']}/{meta['name']}"
    for told in news(old.decisions, decision):
        desk.telemetry.decision(meta["namespace"], meta["name"], told.action, told.reason)
        log.info("%s: %s %s: %s", name, told.action, told.reason, told.message)
        desk.writer.event(
            parent, warning=False, reason=told.reason, message=f"{told.action}: {told.message}",
        )  # fmt: skip
    for words in jvm.news(case.pods, old.jvm, new.jvm):
        log.info("%s: advice on the JVM: %s", name, words)
        desk.writer.event(parent, warning=False, reason="JvmAdvice", message=words[:1024])
    advised = new.partitions_advice
    if advised and advised != old.partitions_advice:
        words = f"{advised.partitions} partitions of the source would help: {advised.reason}"
        log.info("%s: %s", name, words)
        desk.writer.event(parent, warning=False, reason="PartitionsAdvice", message=words[:1024])
    if new.oversize and oversize.is_news(old.oversize, new.oversize):
        words = oversize.words(new.oversize)
        log.warning("%s: %s", name, words)
        desk.writer.event(parent, warning=True, reason=Reason.PLANNED_OVERSIZE, message=words)
    if (lost := _mismatches(new) - _mismatches(old)) > 0:
        message = (
            f"{lost} more records were read but not written, or the reverse: compare"
            " trimtab_ledger_records_total and trimtab_ledger_xor of both sides"
        )
        log.warning("%s: %s", name, message)
        desk.writer.event(parent, warning=True, reason="LedgerMismatch", message=message)
    before, now = get_condition(old.conditions, "Stalled"), get_condition(new.conditions, "Stalled")
    if now and now.status == "True" and (before is None or before.reason != now.reason):
        log.warning("%s: stalled: %s: %s", name, now.reason, now.message)
        desk.writer.event(parent, warning=True, reason=now.reason, message=now.message)


def _mismatches(status: StreamPipelineStatus) -> int:
    return status.ledger.mismatches if status.ledger else 0


def _refuse(parent: Manifest, old: StreamPipelineStatus, message: str, desk: Desk) -> None:
    """A spec that the CRD let through but the models do not."""
    suspended = parent["spec"].get("suspend") is True
    situation = Situation(
        generation=parent["metadata"]["generation"],
        now_s=desk.now_s,
        policy=None,
        suspended=suspended,
        obstacle=("InvalidSpec", message[:1000]),
    )
    new = old.model_copy(
        update={
            "observed_generation": situation.generation,
            "conditions": conditions(old.conditions, situation),
        }
    )
    if new != old and not desk.writer.status(parent, plain(new)):
        return
    if suspended:
        _stop(parent, desk)
