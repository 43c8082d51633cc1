"""Whether a pipeline lacks executors, and why. Pure."""

from __future__ import annotations

from dataclasses import replace

from trimtab.reconcile.observe.executor_pods import Cause
from trimtab.reconcile.observe.observation import Observation
from trimtab.reconcile.observe.signals import Missing


def missing_executors(seen: Observation, wanted: int) -> Cause | None:
    """The known cause why fewer than `wanted` executors run; None if they run, or just start."""
    found = seen.missing_executors
    if found is None or seen.spec.suspend:
        return None
    running = None if isinstance(seen.signals, Missing) else seen.signals.executors_running
    if running is None:
        return found
    if running >= wanted:
        return None
    return replace(found, message=f"{running} of {wanted} executors run: {found.message}")
