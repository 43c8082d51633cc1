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
from dataclasses import dataclass, replace

from pydantic import ValidationError

from trimtab.api.common import get_condition
from trimtab.api.contract import SETTINGS_KEY, Settings
from trimtab.api.pipeline import StreamPipelineSpec
from trimtab.api.reasons import Reason
from trimtab.api.status import StreamPipelineStatus
from trimtab.errors import ContractError
from trimtab.ports import Cluster, Manifest, Telemetry, key_of
from trimtab.reconcile.conditions import Situation, conditions
from trimtab.reconcile.driver_state import DriverState, driver_state
from trimtab.reconcile.gather import Gathered, Missing, Seen, signals
from trimtab.reconcile.plan import Plan, differs, plan
from trimtab.reconcile.report import differ, is_news, plain, status
from trimtab.reconcile.world import World
from trimtab.reconcile.writer import Writer
from trimtab.settings import OperatorSettings
from trimtab.tuning.decision import Decision, decide
from trimtab.tuning.memory import Memory
from trimtab.tuning.snapshot import Policy, Signals, Snapshot, initial_settings
from trimtab.workloads import pipeline as workloads

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Desk:
    """What one tick works with."""

    world: World
    cluster: Cluster
    writer: Writer
    config: OperatorSettings
    telemetry: Telemetry
    now_s: float


@dataclass(frozen=True, slots=True)
class Case:
    """One pipeline in one tick: the object, its spec, and what is there of it."""

    parent: Manifest
    spec: StreamPipelineSpec
    old: StreamPipelineStatus
    planned: Plan
    driver: DriverState
    seen: Seen | None

    @property
    def name(self) -> str:
        """Namespace and name, for people."""
        return f"{self.parent['metadata']['namespace']}/{self.parent['metadata']['name']}"


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
    memory = remembered(case, desk.world)
    found = _signals(case, gathered, desk)
    snapshot, decision, after = _decide(case, memory, found, desk)
    situation = Situation(
        generation=parent["metadata"]["generation"],
        now_s=desk.now_s,
        policy=Policy.of(spec),
        suspended=spec.suspend,
        obstacle=case.planned.obstacle or _refused(parent, desk.world),
        waiting=case.planned.waiting,
        driver=case.driver,
        inputs=case.planned.inputs,
        seen=case.seen,
        missing=found if isinstance(found, Missing) else None,
        snapshot=snapshot,
        decision=decision,
    )
    new = status(old, situation, after)
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
    pod = desk.world.get("Pod", namespace, f"{workloads.driver_name(name)}-0")
    return Case(
        parent=parent,
        spec=spec,
        old=old,
        planned=plan(parent, spec, desk.world, desk.cluster, desk.config, now_s=desk.now_s),
        driver=driver_state(pod),
        seen=gathered.seen.get((namespace, name)),
    )


def remembered(case: Case, world: World) -> Memory:
    """The memory in status; without one that of the tuning document; else the start.

    The generation never falls behind what the document or the driver has seen: where somebody
    edited the document, the settings of the status are written again above it.
    """
    document = _document(case.parent, world)
    newest = _newest_seen(case, document)
    if case.old.controller:
        try:
            return _above(Memory.from_dict(case.old.controller), newest)
        except (KeyError, TypeError, ValueError):
            log.warning("%s: status.controller does not read: begun anew", case.name)
    start = initial_settings(case.spec)
    if document:
        newest = max(newest, document.generation)
        start = start.with_numbers(document.settings.numbers())
    return Memory(generation=newest + 1, settings=start)


def _newest_seen(case: Case, document: Settings | None) -> int:
    """The highest generation that this pipeline's document has or the driver was given."""
    ours = document is not None and document.pipeline_uid == case.parent["metadata"]["uid"]
    newest = document.generation if document and ours else 0
    for name in ("settings_generation", "settings_rejected_generation"):
        newest = max(newest, (case.seen.whole(name) if case.seen else None) or 0)
    return newest


def _above(memory: Memory, newest: int) -> Memory:
    """The same memory above a generation; a trial goes on there."""
    if newest <= memory.generation:
        return memory
    trial = replace(memory.trial, generation=newest + 1) if memory.trial else None
    return replace(memory, generation=newest + 1, trial=trial)


def _document(parent: Manifest, world: World) -> Settings | None:
    meta = parent["metadata"]
    live = world.get("ConfigMap", meta["namespace"], workloads.tuning_name(meta["name"]))
    try:
        return Settings.from_json(live["data"][SETTINGS_KEY]) if live else None
    except (ContractError, KeyError):
        return None


def _signals(case: Case, gathered: Gathered, desk: Desk) -> Signals | Missing:
    if gathered.failure:
        return Missing(Reason.NO_METRICS, gathered.failure)
    quantile = Policy.of(case.spec).quantile
    return signals(case.seen, quantile, desk.now_s, desk.config.scrape_s)


def _decide(
    case: Case, memory: Memory, found: Signals | Missing, desk: Desk
) -> tuple[Snapshot | None, Decision | None, Memory]:
    """Nothing is decided while the driver does not run: absent metrics are then no surprise."""
    policy = Policy.of(case.spec)
    if case.spec.suspend or not case.driver.ready:
        clamped = policy.clamp(memory.settings)
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
    )
    decision, after = decide(snapshot, memory)
    if missing and decision.reason is Reason.NO_METRICS:
        decision = replace(decision, reason=missing.reason)
    return snapshot, decision, after


def _refused(parent: Manifest, world: World) -> tuple[str, str] | None:
    """What the last tick's writes were refused with: they are tried again in each tick."""
    words = world.refused(key_of(parent))
    return ("ChildRefused", words) if words else None


def _write_children(case: Case, memory: Memory, desk: Desk) -> None:
    """Write what differs; a refused child does not keep those after it from being written."""
    refused = [_write_tuning(case, memory, desk)]
    for child in case.planned.children:
        if case.planned.waiting and _first_driver(child, desk.world):
            continue
        if differs(child, desk.world):
            refused.append(desk.writer.apply(child))
    words = "; ".join(w for w in refused if w)
    desk.world.refuse(key_of(case.parent), words)
    outdated = case.driver.exists and case.driver.inputs != case.planned.inputs
    if outdated and not case.driver.terminating and not words:
        namespace, name = case.parent["metadata"]["namespace"], case.parent["metadata"]["name"]
        log.info("%s/%s: the driver restarts with new inputs", namespace, name)
        pod = ("Pod", namespace, f"{workloads.driver_name(name)}-0")
        desk.writer.delete(pod, uid=case.driver.uid)


def _stop(parent: Manifest, desk: Desk) -> None:
    """Suspend stops the driver also where the rest of the spec cannot be followed."""
    name = workloads.driver_name(parent["metadata"]["name"])
    live = desk.world.get("StatefulSet", parent["metadata"]["namespace"], name)
    if live and live["spec"].get("replicas", 1):
        desk.writer.apply(workloads.stopped(live))


def _first_driver(child: Manifest, world: World) -> bool:
    meta = child["metadata"]
    made = world.get("StatefulSet", meta["namespace"], meta["name"])
    return child["kind"] == "StatefulSet" and made is None


def _write_tuning(case: Case, memory: Memory, desk: Desk) -> str:
    """settings.json = clamp(status, limits, pinned); a newer document is never overwritten.

    Returns words if it was refused.
    """
    parent, meta = case.parent, case.parent["metadata"]
    key = ("ConfigMap", meta["namespace"], workloads.tuning_name(meta["name"]))
    if desk.world.get(*key) is None and (unheard := desk.cluster.get(key)):
        desk.world.observe(unheard)  # made by another operator: not to be overwritten unseen
    live = _document(parent, desk.world)
    if live and live.pipeline_uid == meta["uid"] and live.generation > memory.generation:
        return ""
    settings = Policy.of(case.spec).clamp(memory.settings)
    document = Settings(
        generation=memory.generation,
        pipeline_uid=meta["uid"],
        settings=settings.knob_values(),
        reason=f"generation {memory.generation}",
    )
    wanted = workloads.tuning_document(parent, document)
    known = desk.world.get(*key)
    text = ((known or {}).get("data") or {}).get(SETTINGS_KEY)
    if differs(wanted, desk.world) or text != wanted["data"][SETTINGS_KEY]:
        if known:
            wanted["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"]
        return desk.writer.apply(wanted)
    return ""


def _tell(case: Case, new: StreamPipelineStatus, decision: Decision | None, desk: Desk) -> None:
    """The same reason and message as Event, metric and log line."""
    parent, old, meta = case.parent, case.old, case.parent["metadata"]
    name = f"{meta['namespace']}/{meta['name']}"
    if decision and is_news(old.decisions, decision):
        desk.telemetry.decision(meta["namespace"], meta["name"], decision.action, decision.reason)
        log.info("%s: %s %s: %s", name, decision.action, decision.reason, decision.message)
        desk.writer.event(
            parent, warning=False, reason=decision.reason,
            message=f"{decision.action}: {decision.message}",
        )  # fmt: skip
    before, now = get_condition(old.conditions, "Stalled"), get_condition(new.conditions, "Stalled")
    if now and now.status == "True" and (before is None or before.reason != now.reason):
        log.warning("%s: stalled: %s: %s", name, now.reason, now.message)
        desk.writer.event(parent, warning=True, reason=now.reason, message=now.message)


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
