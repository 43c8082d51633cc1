"""The writes of one pipeline in one tick, in an order that is safe against crashes.

1. The status, with the object's resource version as a precondition: the write-ahead record. On a
   conflict, the rest is dropped.
2. The tuning document, derived from the status.
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
from trimtab.reconcile.decide.outcome import Outcome
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.status.report import differ, merge_patch
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.common import HASH_ANNOTATION
from trimtab.workloads.names import driver_pod

log = logging.getLogger(__name__)


def write(
    parent: Manifest, old: StreamPipelineStatus, uid: str, outcome: Outcome, tick: TickContext
) -> None:
    """Write an outcome; `uid` identifies the driver's pod."""
    new = outcome.status
    if differ(new, old) and not tick.writer.status(parent, merge_patch(old, new)):
        return
    _tell(parent, outcome, tick)
    if outcome.stopped:
        tick.writer.apply(outcome.stopped)
    if outcome.children is None:
        return
    refused = _document(outcome, tick)
    if not refused and not _stands(parent, outcome.document, outcome.generation, tick.cache):
        return  # a conflict: a driver that starts now would find older source options
    words = [refused, *(tick.writer.apply(c) for c in outcome.children if differs(c, tick.cache))]
    refusals = "; ".join(w for w in words if w)
    tick.cache.refuse(key_of(parent), refusals)
    if outcome.restart and not refusals:
        namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
        log.info("%s/%s: the driver restarts with new inputs", namespace, name)
        tick.writer.delete(("Pod", namespace, driver_pod(name)), uid=uid)


def differs(child: Manifest, cache: ObjectCache) -> bool:
    """Whether the live object differs from the desired one, by the hash stamped on it."""
    live = cache.get(*key_of(child))
    if live is None:
        return True
    stamped = (live["metadata"].get("annotations") or {}).get(HASH_ANNOTATION)
    return bool(stamped != child["metadata"]["annotations"][HASH_ANNOTATION])


def _document(outcome: Outcome, tick: TickContext) -> str:
    """Write the tuning document if it differs; returns the reason if it was refused."""
    wanted = outcome.document
    if wanted is None:
        return ""
    known = tick.cache.get(*key_of(wanted))
    text = ((known or {}).get("data") or {}).get(SETTINGS_KEY)
    if not differs(wanted, tick.cache) and text == wanted["data"][SETTINGS_KEY]:
        return ""
    if known:
        version = {"resourceVersion": known["metadata"]["resourceVersion"]}
        wanted = wanted | {"metadata": wanted["metadata"] | version}
    return tick.writer.apply(wanted)


def _stands(
    parent: Manifest, document: Manifest | None, generation: int, cache: ObjectCache
) -> bool:
    """Whether the cached document has this generation."""
    live = cache.get(*key_of(document)) if document else None
    try:
        found = Settings.from_json(live["data"][SETTINGS_KEY]) if live else None
    except (ContractError, KeyError):
        return False
    ours = found is not None and found.pipeline_uid == parent["metadata"]["uid"]
    return ours and found is not None and found.generation == generation


def _tell(parent: Manifest, outcome: Outcome, tick: TickContext) -> None:
    """Report the same reason and message as Event, metric and log line."""
    namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
    for decision in outcome.decisions:
        tick.telemetry.decision(namespace, name, decision.action, decision.reason)
    for told in outcome.events:
        level = logging.WARNING if told.warning else logging.INFO
        log.log(level, "%s/%s: %s: %s", namespace, name, told.reason, told.message)
        tick.writer.event(parent, warning=told.warning, reason=told.reason, message=told.message)
