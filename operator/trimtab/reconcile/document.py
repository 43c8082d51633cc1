"""The tuning document of a pipeline: read back, and written from the status alone.

It carries the knob values, which the tuner moves, and what a person edits in the spec: the source
options, and the knobs that no law moves. All are in `status.controller` before they are in the
document.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from pydantic import ValidationError

from trimtab.api.contract import SETTINGS_KEY, Settings, SourceOptions
from trimtab.api.knobs import FIXED_KNOBS, MAX_IN_FLIGHT, KnobValues
from trimtab.errors import ContractError
from trimtab.ports import Manifest
from trimtab.reconcile.desk import Case, Desk
from trimtab.reconcile.plan import differs
from trimtab.reconcile.world import World
from trimtab.tuning.knobs import clamp, initial_settings
from trimtab.tuning.memory import Memory
from trimtab.tuning.policy import Policy
from trimtab.workloads import pipeline as workloads
from trimtab.workloads.names import tuning_name

log = logging.getLogger(__name__)


def remembered(case: Case, world: World) -> Memory:
    """The memory in status; without one that of the tuning document; else the start.

    The generation never falls behind what the document or the driver has seen: where somebody
    edited the document, the settings of the status are written again above it. Other source
    options or fixed knobs are a new generation too; they disturb no trial, since they move none of
    its knobs.
    """
    document = _read(case.parent, world)
    newest = _newest_seen(case, document)
    if case.old.controller:
        try:
            memory = Memory.from_dict(case.old.controller)
            if newest > memory.generation:
                return _above(memory, newest)
            memory = _with_calls(memory, case)
            return replace(memory, generation=memory.generation + edited(case, world))
        except (KeyError, TypeError, ValueError):
            log.warning("%s: status.controller does not read: begun anew", case.name)
    start = initial_settings(case.spec)
    if document:
        newest = max(newest, document.generation)
        start = start.with_numbers(document.settings.numbers())
    return Memory(generation=newest + 1, settings=start)


def _newest_seen(case: Case, document: Settings | None) -> int:
    """The highest generation that this pipeline's document has or the driver was given."""
    own = _own(document, case.parent)
    newest = own.generation if own else 0
    for name in ("settings_generation", "settings_rejected_generation"):
        newest = max(newest, (case.seen.whole(name) if case.seen else None) or 0)
    return newest


def _above(memory: Memory, newest: int) -> Memory:
    """The same memory above a generation; a trial goes on there."""
    trial = replace(memory.trial, generation=newest + 1) if memory.trial else None
    return replace(memory, generation=newest + 1, trial=trial)


def _with_calls(memory: Memory, case: Case) -> Memory:
    """A driver that has a stage of pending calls says so: then their limit is a knob to move."""
    calls = case.seen.whole("effective_number", MAX_IN_FLIGHT.name) if case.seen else None
    if calls is None or memory.settings.max_in_flight is not None or memory.trial is not None:
        return memory
    settings = replace(memory.settings, max_in_flight=calls)
    return replace(memory, settings=settings, generation=memory.generation + 1)


def edited(case: Case, world: World) -> bool:
    """Whether the spec asks for other source options or fixed knobs than the last generation has.

    The status tells which those are; a status that does not, leaves it to the document.
    """
    told = case.old.controller or {}
    try:
        source = SourceOptions.model_validate(told["source"])
        fixed = KnobValues.model_validate(told.get("knobs") or {}).numbers()
    except (KeyError, ValidationError):
        document = _read(case.parent, world)
        if document is None:
            return False
        source, said = document.source, document.settings.numbers()
        fixed = {knob.name: said[knob.name] for knob in FIXED_KNOBS if knob.name in said}
    return source != case.source or fixed != case.fixed


def _read(parent: Manifest, world: World) -> Settings | None:
    meta = parent["metadata"]
    live = world.get("ConfigMap", meta["namespace"], tuning_name(meta["name"]))
    try:
        return Settings.from_json(live["data"][SETTINGS_KEY]) if live else None
    except (ContractError, KeyError):
        return None


def _own(document: Settings | None, parent: Manifest) -> Settings | None:
    """The document, unless it is that of an earlier pipeline of the same name."""
    ours = document is not None and document.pipeline_uid == parent["metadata"]["uid"]
    return document if ours else None


def stands(case: Case, memory: Memory, world: World) -> bool:
    """Whether the document is the one of this memory, as far as is known."""
    own = _own(_read(case.parent, world), case.parent)
    return own is not None and own.generation == memory.generation


def write(case: Case, memory: Memory, desk: Desk) -> str:
    """settings.json = clamp(status, limits, pinned); a newer document is never overwritten.

    Returns words if it was refused.
    """
    parent, meta = case.parent, case.parent["metadata"]
    key = ("ConfigMap", meta["namespace"], tuning_name(meta["name"]))
    if desk.world.get(*key) is None and (unheard := desk.cluster.get(key)):
        desk.world.observe(unheard)  # made by another operator: not to be overwritten unseen
    own = _own(_read(parent, desk.world), parent)
    if own and own.generation > memory.generation:
        return ""
    settings = clamp(Policy.of(case.spec), memory.settings)
    document = Settings(
        generation=memory.generation,
        pipeline_uid=meta["uid"],
        settings=KnobValues.of(settings.knob_values().numbers() | case.fixed),
        source=case.source,
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
