"""Advice on the JVMs of a pipeline, from its metrics and the standing advice.

Advice in force removes its own reason, because the targets are then met. So advised memory and
collector stand until a user sets as much, pins the role, or more is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import JvmAdvice, JvmStatus
from trimtab.sizing.heap import MIB
from trimtab.sizing.jvm import ALL_MET, STEP, Advice, Figures, advise
from trimtab.sizing.overhead import pod_bytes
from trimtab.tuning.advice.pods import LIMITS, largest_new, most_memory, own_memory, when, words

BAND = 1.25
"""Standing advice on memory is replaced if the new one is larger by this factor."""


def jvm_status(
    spec: StreamPipelineSpec,
    old: JvmStatus | None,
    seen: Mapping[str, Figures],
    died: str | None = None,
) -> JvmStatus | None:
    """The advice for both roles; None if there is none.

    `seen` is what fresh metrics say about the JVMs, by role; `died` is the role that has just run
    out of memory.
    """
    before = old or JvmStatus()
    driver = _role(spec, "driver", before.driver, seen.get("driver"))
    executor = _role(spec, "executor", before.executor, seen.get("executor"))
    if died == "driver":
        driver = _after_death(spec, died, driver)
    elif died == "executor":
        executor = _after_death(spec, died, executor)
    return JvmStatus(driver=driver, executor=executor) if driver or executor else None


def news(spec: StreamPipelineSpec, old: JvmStatus | None, new: JvmStatus | None) -> list[str]:
    """The advice to report: changed advice for a role, but not its removal."""
    before, now = old or JvmStatus(), new or JvmStatus()
    pairs = (("driver", before.driver, now.driver), ("executor", before.executor, now.executor))
    return [
        f"{role}: {words(told)}; {when(spec, role, told)}"
        for role, was, told in pairs
        if told and told != was
    ]


def _role(
    spec: StreamPipelineSpec, role: str, old: JvmAdvice | None, seen: Figures | None
) -> JvmAdvice | None:
    """Advise, clamp the advice to the limits, and merge it with the standing advice."""
    standing = _standing(spec, role, old)
    if seen is None:
        return standing
    figures = _sized(spec, role, seen, standing)
    found = advise(figures, standing=standing is not None)
    if found is None:
        return standing if standing and (standing.memory or standing.collector) else None
    return _merged(standing, _clamped(spec, role, found, figures, standing))


def _sized(
    spec: StreamPipelineSpec, role: str, seen: Figures, standing: JvmAdvice | None
) -> Figures:
    """The figures of a role with the slots and size of its pods."""
    overhead = standing.overhead if standing else None
    return replace(
        seen,
        slots=1 if role == "driver" else spec.resources.executor.cores,
        pod_bytes=None if overhead is None else seen.heap_bytes + overhead,
    )


def _merged(standing: JvmAdvice | None, given: JvmAdvice) -> JvmAdvice:
    """The standing advice, until clearly more memory or another collector is needed."""
    if standing is None:
        return given
    if not (standing.memory or standing.collector) and _calm(standing) != _calm(given):
        return given
    larger = bool(given.memory) and (given.memory or 0) > BAND * (standing.memory or 0)
    other = given.collector not in {None, standing.collector}
    if not larger and not other:
        return standing
    newest = given if larger else standing
    return given.model_copy(
        update={
            "memory": newest.memory,
            "new_generation": newest.new_generation,
            "collector": given.collector or standing.collector,
            "overhead": newest.overhead,
        }
    )


def _after_death(spec: StreamPipelineSpec, role: str, standing: JvmAdvice | None) -> JvmAdvice:
    """Twice the memory in the spec, within the limits; only once: more is the user's decision."""
    wanted, most = round(STEP * own_memory(spec, role)), most_memory(spec, role)
    memory = wanted if most is None else max(own_memory(spec, role), min(wanted, most))
    if standing and (standing.memory or 0) >= memory:
        return standing
    reason = f"a JVM of this role ran out of {own_memory(spec, role) // MIB} MiB"
    if memory < wanted:
        reason += f"; {LIMITS[role]} has room for {memory // MIB} MiB of {wanted // MIB} MiB each"
    changed = {"memory": memory, "new_generation": None, "reason": reason}
    return standing.model_copy(update=changed) if standing else JvmAdvice.model_validate(changed)


def _calm(advice: JvmAdvice) -> bool:
    """Whether no missed target is the reason."""
    return advice.reason.startswith(ALL_MET)


def _standing(spec: StreamPipelineSpec, role: str, old: JvmAdvice | None) -> JvmAdvice | None:
    """The part of the old advice that still stands: a user may have set as much since."""
    if old is None or old.memory is None or old.memory > own_memory(spec, role):
        return old
    rest = old.model_copy(update={"memory": None, "new_generation": None, "overhead": None})
    return rest if rest.collector else None


def _clamped(
    spec: StreamPipelineSpec, role: str, found: Advice, seen: Figures, standing: JvmAdvice | None
) -> JvmAdvice:
    """The advice within the pod's limits, and what prevents following it in full."""
    reason, memory = found.reason, None
    overhead = found.overhead_bytes or (standing.overhead if standing else None)
    if found.heap_bytes is not None or found.overhead_bytes is not None:
        heap, most = found.heap_bytes or seen.heap_bytes, most_memory(spec, role)
        memory = pod_bytes(heap) if overhead is None else round(heap) + overhead
        if most is not None and memory > most:
            reason += f"; {LIMITS[role]} allows {most // MIB} MiB of {memory // MIB} MiB each"
            memory = most if most > own_memory(spec, role) else None
            # the heap shrinks, since a pod that exceeds its limit is killed; but never below its
            # current size
            if overhead is not None and most - overhead < seen.heap_bytes:
                overhead = None
    new = found.new_bytes
    if memory is None:
        new = None
    elif new is not None:
        new = min(new, largest_new(memory, overhead))
    return JvmAdvice(
        memory=memory,
        new_generation=None if new is None else new // MIB * MIB,
        collector=found.collector,
        overhead=overhead if memory is not None else None,
        reason=reason[:1024],
    )
