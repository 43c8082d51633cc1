"""Runs that end: whether one is on, and when the next starts. Pure."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.common import moment, timestamp
from trimtab.api.schedule import following
from trimtab.api.v1alpha1.runs import RUN_ANNOTATION, RunEnd, RunPhase, Runs, RunStatus
from trimtab.reconcile.observe.observation import Observation
from trimtab.reconcile.observe.signals import Missing


def scheduled(seen: Observation) -> Observation:
    """The pipeline with its present run; between two runs it is suspended."""
    old = seen.status.run
    if seen.spec.runs is None or seen.spec.suspend:
        return replace(seen, run=old if seen.spec.runs else None)
    asked = (seen.parent["metadata"].get("annotations") or {}).get(RUN_ANNOTATION, "")[:256]
    run = step(seen.spec.runs, old, seen.now_s, asked or None, left=_left(seen))
    if run.phase is RunPhase.RUNNING:
        return replace(seen, run=run)
    return replace(seen, run=run, spec=seen.spec.model_copy(update={"suspend": True}))


def step(
    runs: Runs, old: RunStatus | None, now_s: float, asked: str | None, *, left: int | None
) -> RunStatus:
    """The run after this tick; `left` are the records that it still has to commit, if known."""
    if old is None:
        old = _waiting(runs, RunStatus(phase=RunPhase.WAITING, since="", asked=asked), now_s)
        return old if old.phase is RunPhase.WAITING else _begun(now_s, asked)
    if old.phase is not RunPhase.RUNNING:
        waiting = _waiting(runs, old, moment(old.since))
        due = waiting.next is not None and now_s >= moment(waiting.next)
        return _begun(now_s, asked) if due or (asked and asked != old.asked) else waiting
    if left == 0:
        return _waiting(runs, old.model_copy(update={"end": RunEnd.DRAINED}), now_s)
    if runs.deadline is not None and now_s >= moment(old.started) + runs.deadline:
        return _waiting(runs, old.model_copy(update={"end": RunEnd.DEADLINE_EXCEEDED}), now_s)
    return old


def _left(seen: Observation) -> int | None:
    """What the running driver has still to commit."""
    ready = seen.pod.ready and not seen.pod.terminating
    return None if isinstance(seen.signals, Missing) or not ready else seen.signals.start_backlog


def _begun(now_s: float, asked: str | None) -> RunStatus:
    now = timestamp(now_s)
    return RunStatus(phase=RunPhase.RUNNING, since=now, started=now, asked=asked)


def _waiting(runs: Runs, old: RunStatus, since_s: float) -> RunStatus:
    """Between two runs, or after the only one."""
    then = following(runs.schedule, runs.time_zone, since_s) if runs.schedule else None
    changed = {
        "phase": RunPhase.ENDED if then is None else RunPhase.WAITING,
        "since": timestamp(since_s),
        "next": None if then is None else timestamp(then),
    }
    return old.model_copy(update=changed)
