"""The memory that a tick begins with, and the tuning document derived from it. Pure.

The document holds the knob values that the tuner moves, and what users edit in the spec: the source
options, and the knobs that no law moves. All of them are in `status.controller` before they are in
the document.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.contract import Reflex, Settings
from trimtab.api.knobs import FIXED_KNOBS, MAX_IN_FLIGHT, KnobValues
from trimtab.ports import Manifest
from trimtab.reconcile.observe.observation import Observation
from trimtab.tuning import reflex
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.knobs import clamp, initial_settings, known_only
from trimtab.tuning.snapshot import Snapshot
from trimtab.workloads import pipeline


def remembered(seen: Observation) -> ControllerState:
    """The memory in the status, else the one in the tuning document, else the initial one.

    The generation never falls behind what the document or the driver has seen: if somebody edited
    the document, the settings of the status are written again with a higher generation. Changed
    source options or fixed knobs are a new generation too; they disturb no trial, because they
    change none of its knobs.
    """
    newest = _newest_seen(seen)
    if memory := seen.memory:
        if newest > memory.generation:
            return _above(memory, newest)
        memory = _with_calls(known_only(memory), seen)
        return replace(memory, generation=memory.generation + edited(seen))
    start = initial_settings(seen.spec, seen.policy)
    if seen.document:
        newest = max(newest, seen.document.generation)
        start = start.with_numbers(seen.document.settings.numbers())
    return ControllerState(generation=newest + 1, settings=start)


def told(memory: ControllerState, seen: Observation) -> ControllerState:
    """The memory with the spec's source options and the knobs that no law moves."""
    fixed = pipeline.fixed_knobs(seen.spec)
    knobs = KnobValues.of(fixed) if fixed else None
    return replace(memory, source=pipeline.source_options(seen.spec), knobs=knobs)


def _newest_seen(seen: Observation) -> int:
    """The highest generation that this pipeline's document has or its driver has received."""
    newest = seen.own_document.generation if seen.own_document else 0
    for name in ("settings_generation", "settings_rejected_generation"):
        newest = max(newest, (seen.metrics.whole(name) if seen.metrics else None) or 0)
    return newest


def _above(memory: ControllerState, newest: int) -> ControllerState:
    """The same memory with a generation above `newest`; an open trial continues there."""
    trial = replace(memory.trial, generation=newest + 1) if memory.trial else None
    return replace(memory, generation=newest + 1, trial=trial)


def _with_calls(memory: ControllerState, seen: Observation) -> ControllerState:
    """The memory with the limit of calls in flight as a knob, if the driver reports such calls."""
    calls = seen.metrics.whole("effective_number", MAX_IN_FLIGHT.name) if seen.metrics else None
    if calls is None or memory.settings.max_in_flight is not None or memory.trial is not None:
        return memory
    settings = replace(memory.settings, max_in_flight=calls)
    return replace(memory, settings=settings, generation=memory.generation + 1)


def edited(seen: Observation) -> bool:
    """Whether the spec's source options or fixed knobs differ from those of the last generation.

    The status holds the latter; if it does not, the document does.
    """
    if seen.memory and seen.memory.source:
        source, knobs = seen.memory.source, seen.memory.knobs
        fixed = knobs.numbers() if knobs else {}
    elif seen.document:
        source, said = seen.document.source, seen.document.settings.numbers()
        fixed = {knob.name: said[knob.name] for knob in FIXED_KNOBS if knob.name in said}
    else:
        return False
    return source != pipeline.source_options(seen.spec) or fixed != pipeline.fixed_knobs(seen.spec)


def document(
    memory: ControllerState, seen: Observation, snapshot: Snapshot | None
) -> Manifest | None:
    """settings.json = clamp(status, limits, pinned); None if a newer one exists, which is kept.

    Beside it, what the driver may do by itself.
    """
    own = seen.own_document
    if own and own.generation > memory.generation:
        return None
    settings = replace(memory, settings=clamp(seen.policy, memory.settings)).in_force
    numbers = settings.knob_values().numbers() | pipeline.fixed_knobs(seen.spec)
    wanted = Settings(
        generation=memory.generation,
        pipeline_uid=seen.parent["metadata"]["uid"],
        settings=KnobValues.of(numbers),
        source=pipeline.source_options(seen.spec),
        reason=f"generation {memory.generation}",
    )
    return pipeline.tuning_document(seen.parent, wanted, _reflex(memory, seen, snapshot))


def _reflex(memory: ControllerState, seen: Observation, snapshot: Snapshot | None) -> Reflex | None:
    """The driver's table; while nothing is seen, and while it says the same, the one that it has.

    So a quiet pipeline is written twice in the life of a table, and not with every batch.
    """
    old = seen.reflex
    if not seen.policy.reflex:
        return None
    if snapshot is None or snapshot.signals is None:
        return old if old and old.generation == memory.generation else None
    new = reflex.table(snapshot, memory, seen.parent["metadata"]["uid"])
    return old if reflex.stands(old, new, seen.now_s) else new
