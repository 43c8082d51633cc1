"""One pipeline in one tick: observe, decide, write."""

from __future__ import annotations

from pydantic import ValidationError

from trimtab.api.common import faults
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.ports import Manifest
from trimtab.reconcile.apply.apply import write
from trimtab.reconcile.decide.leftovers import given_up
from trimtab.reconcile.decide.outcome import outcome, refusal
from trimtab.reconcile.observe.gather import Gathered
from trimtab.reconcile.observe.observation import observe
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.names import driver_name
from trimtab.workloads.ownership import own


def reconcile(parent: Manifest, gathered: Gathered, tick: TickContext) -> None:
    """Bring one pipeline one step closer to its spec."""
    meta = parent["metadata"]
    if "deletionTimestamp" in meta:
        return
    old = StreamPipelineStatus.model_validate(parent.get("status") or {})
    try:
        spec = StreamPipelineSpec.model_validate(parent["spec"])
    except ValidationError as error:
        live = tick.cache.get("StatefulSet", meta["namespace"], driver_name(meta["name"]))
        gone = given_up(tick.owned.get(meta["uid"], ()), tick.config, None)
        refused = refusal(parent, old, faults(error), tick.now_s, own(live, parent), gone=gone)
        write(parent, old, "", refused, tick)
        return
    seen = observe(parent, spec, old, gathered, tick)
    write(parent, old, seen.pod.uid, outcome(seen), tick)
