"""The metrics of a role's JVMs, in the form that the advice on them needs."""

from __future__ import annotations

from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.reconcile.observe.queries import EXECUTOR_MEMORY
from trimtab.sizing.collector import Collector, usual_collector
from trimtab.sizing.heap import Collections
from trimtab.sizing.jvm import Figures
from trimtab.sizing.overhead import pod_bytes

ROLES = ("driver", "executor")


def jvms(seen: DriverMetrics | None) -> dict[str, Figures]:
    """The figures by role, per task slot; roles without figures are omitted."""
    found = {role: _figures(seen, role) for role in ROLES} if seen else {}
    return {role: figures for role, figures in found.items() if figures is not None}


def _figures(seen: DriverMetrics, role: str) -> Figures | None:
    heap, over_s = seen.number("jvm_heap_limit_bytes", role), seen.number("jvm_seconds", role)
    if heap is None or not over_s:
        return None
    new, old = (_collections(seen, role, generation, over_s) for generation in ("new", "old"))
    told = next((c for c in Collector if seen.number("jvm_collector", f"{role}/{c}")), None)
    allocated = seen.number("jvm_allocated", role)
    return Figures(
        new=new,
        old=old,
        heap_bytes=heap,
        slots=1,
        collector=told or usual_collector(pod_bytes(heap)),
        live_bytes=seen.number("jvm_heap_live_bytes", role),
        allocated_bytes_per_s=None if allocated is None else allocated / over_s,
        new_bytes=seen.number("jvm_new_generation_bytes", role),
        heap_peak_bytes=seen.number("jvm_heap_peak_bytes", role),
        pod_used_bytes=seen.number(EXECUTOR_MEMORY) if role == "executor" else None,
    )


def _collections(seen: DriverMetrics, role: str, generation: str, over_s: float) -> Collections:
    of = f"{role}/{generation}"
    count, seconds = seen.number("jvm_collections", of), seen.number("jvm_collection_s", of)
    return Collections(count or 0.0, seconds or 0.0, over_s)
