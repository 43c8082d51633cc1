"""One pipeline in one tick: observe, decide, write."""

from __future__ import annotations

from pydantic import ValidationError

from trimtab.api.common import faults
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.ports import Manifest
from trimtab.reconcile.apply.apply import write
from trimtab.reconcile.decide.leftovers import given_up
from trimtab.reconcile.decide.outcome import Outcome, outcome, refusal
from trimtab.reconcile.decide.runs import scheduled
from trimtab.reconcile.observe.gather import Gathered
from trimtab.reconcile.observe.observation import Observation, observe
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.names import driver_name
from trimtab.workloads.ownership import own


def look(parent: Manifest, gathered: Gathered, tick: TickContext) -> Observation | None:
    """Observe one pipeline; None if there is nothing to decide, because its spec is wrong."""
    meta = parent["metadata"]
    if "deletionTimestamp" in meta:
        return None
    old = StreamPipelineStatus.model_validate(parent.get("status") or {})
    try:
        spec = StreamPipelineSpec.model_validate(parent["spec"])
    except ValidationError as error:
        live = tick.cache.get("StatefulSet", meta["namespace"], driver_name(meta["name"]))
        gone = given_up(tick.owned.get(meta["uid"], ()), tick.config, None)
        refused = refusal(parent, old, faults(error), tick.now_s, own(live, parent), gone=gone)
        write(parent, old, "", refused, tick)
        return None
    return scheduled(observe(parent, spec, old, gathered, tick))


def act(seen: Observation, tick: TickContext) -> Outcome:
    """Bring one pipeline one step closer to its spec; returns what was decided."""
    decided = outcome(seen)
    tick.telemetry.pipeline(seen.name, decided.readings)
    write(seen.parent, seen.status, seen.pod.uid, decided, tick)
    return decided
