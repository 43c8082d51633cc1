"""The writes of one pipeline in one tick, in an order that is safe against crashes.

1. The status, with the object's resource version as a precondition: the write-ahead record. On a
   conflict, the rest is dropped.
2. The tuning document, derived from the status; after a decision, the history.
3. The other children, derived from spec and status; the driver's pod is deleted if any of its
   inputs that users control has changed.

A crash between the writes loses nothing: 2 and 3 are derived again.
"""

from __future__ import annotations

import logging

from trimtab.api.contract import SETTINGS_KEY, Settings
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.errors import ContractError
from trimtab.ports import Manifest, key_of
from trimtab.reconcile.apply.children import differs, write_child, write_children
from trimtab.reconcile.decide.outcome import Outcome
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.refusals import WRITTEN, Refusal, joined
from trimtab.reconcile.status.report import differ, merge_patch
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.names import driver_pod
from trimtab.workloads.ownership import own

log = logging.getLogger(__name__)


def write(
    parent: Manifest, old: StreamPipelineStatus, uid: str, outcome: Outcome, tick: TickContext
) -> None:
    """Write an outcome; `uid` identifies the driver's pod."""
    new = outcome.status
    if differ(new, old) and not tick.writer.status(parent, merge_patch(old, new)):
        return
    _tell(parent, outcome, tick)
    if outcome.scaled:
        tick.writer.apply(outcome.scaled, parent)
    refused = WRITTEN if outcome.children is None else _document(parent, outcome, tick)
    unkept = _remember(parent, outcome.history_map, tick)
    if outcome.children is None:
        _clean(parent, outcome, tick)
        return
    if refused == WRITTEN and not _stands(parent, outcome, tick.cache):
        return  # a conflict: a driver that starts now would find older source options
    raised = tick.writer.patch(outcome.topic, parent) if outcome.topic else WRITTEN
    refusal = write_children(parent, outcome.children, tick, joined((refused, unkept, raised)))
    tick.cache.refuse(key_of(parent), refusal)
    if outcome.restart and refusal == WRITTEN:
        namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
        log.info("%s/%s: the driver restarts with new inputs", namespace, name)
        tick.writer.delete(("Pod", namespace, driver_pod(name)), parent, uid=uid)
    _clean(parent, outcome, tick)


def _remember(parent: Manifest, history: Manifest | None, tick: TickContext) -> Refusal:
    """Write the history if it has news; what a conflict keeps out is added in the next tick."""
    if history is None:
        return WRITTEN
    live = own(tick.cache.get(*key_of(history)), parent)
    if live:
        version = {"resourceVersion": live["metadata"]["resourceVersion"]}
        history = history | {"metadata": history["metadata"] | version}
    return tick.writer.apply(history, parent)


def _clean(parent: Manifest, outcome: Outcome, tick: TickContext) -> None:
    for left in outcome.leftovers:
        tick.writer.delete(key_of(left), parent, uid=left["metadata"]["uid"])
        tick.cache.forget(key_of(left))


def _document(parent: Manifest, outcome: Outcome, tick: TickContext) -> Refusal:
    """Write the tuning document if it differs; returns why it could not."""
    wanted = outcome.document
    if wanted is None:
        return WRITTEN
    known = tick.cache.get(*key_of(wanted))
    texts = (known or {}).get("data") or {}
    same = all(texts.get(key) == text for key, text in wanted["data"].items())
    if same and not differs(wanted, parent, tick.cache):
        return WRITTEN
    if known:
        version = {"resourceVersion": known["metadata"]["resourceVersion"]}
        wanted = wanted | {"metadata": wanted["metadata"] | version}
    return write_child(parent, wanted, tick)


def _stands(parent: Manifest, outcome: Outcome, cache: ObjectCache) -> bool:
    """Whether the cached document has the generation of the settings."""
    live = cache.get(*key_of(outcome.document)) if outcome.document else None
    try:
        found = Settings.from_json(live["data"][SETTINGS_KEY]) if live else None
    except (ContractError, KeyError):
        return False
    ours = found is not None and found.pipeline_uid == parent["metadata"]["uid"]
    return ours and found is not None and found.generation == outcome.generation


def _tell(parent: Manifest, outcome: Outcome, tick: TickContext) -> None:
    """Report the same reason and message as Event, metric and log line."""
    namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
    for entry in outcome.history:
        numbers = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
        where = {"namespace": namespace, "pipeline": name}
        log.info(
            "%s/%s: decision %s", namespace, name, entry.reason, extra=where | {"decision": numbers}
        )
    for decision in outcome.decisions:
        tick.telemetry.decision(namespace, name, decision.action, decision.reason)
    for told in outcome.events:
        level = logging.WARNING if told.warning else logging.INFO
        log.log(level, "%s/%s: %s: %s", namespace, name, told.reason, told.message)
        tick.writer.event(parent, warning=told.warning, reason=told.reason, message=told.message)
