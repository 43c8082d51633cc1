"""The children of a custom resource: written where they differ, in order.

A child differs if it should be another one than was applied last, or if somebody else has changed
it. Every tick compares all children with what the watches and the full lists have reported, so a
change by others is put back in the next tick, and a quiet tick writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from trimtab.ports import Manifest, key_of
from trimtab.reconcile.apply.drift import meddled, signature
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.refusals import WRITTEN, Refusal, joined
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.common import HASH_ANNOTATION
from trimtab.workloads.ownership import own

log = logging.getLogger(__name__)


def write_children(
    parent: Manifest, children: Iterable[Manifest], tick: TickContext, before: Refusal = WRITTEN
) -> Refusal:
    """Write the children that differ; returns why some could not be written, `before` included.

    Once a name is taken nothing new is created: a driver must not run with somebody else's account,
    role or volume. What exists and is ours is still updated, so that a driver can be stopped.
    """
    refusal = before
    for child in children:
        live = tick.cache.get(*key_of(child))
        if (live or not refusal.blocks) and differs(child, parent, tick.cache):
            refusal = joined((refusal, write_child(parent, child, tick)))
    return refusal


def write_child(parent: Manifest, child: Manifest, tick: TickContext) -> Refusal:
    """Write one child, and say so if that puts back what others have changed."""
    live = own(tick.cache.get(*key_of(child)), parent)
    changed = _drift(child, live, tick.cache) if live else ()
    refusal = tick.writer.apply(child, parent)
    if changed and refusal == WRITTEN:
        kind, namespace, name = key_of(child)
        message = f"{kind} {name} was changed by others and is put back: {', '.join(changed)}"
        log.warning("%s/%s: %s", namespace, parent["metadata"]["name"], message)
        if tick.cache.is_news(key_of(child), message, tick.now_s):
            tick.writer.event(parent, warning=True, reason="DriftRepaired", message=message[:1024])
    return refusal


def differs(child: Manifest, parent: Manifest, cache: ObjectCache) -> bool:
    """Whether a child is not there, is another one, or was changed by others."""
    live = own(cache.get(*key_of(child)), parent)
    return live is None or not _applied_last(child, live) or bool(_drift(child, live, cache))


def _applied_last(child: Manifest, live: Manifest) -> bool:
    """Whether the child is what was applied last, by the hash stamped on it."""
    stamped = (live["metadata"].get("annotations") or {}).get(HASH_ANNOTATION)
    return bool(stamped == child["metadata"]["annotations"][HASH_ANNOTATION])


def _drift(child: Manifest, live: Manifest, cache: ObjectCache) -> tuple[str, ...]:
    """What others have changed of what was applied last, unless it could not be put back before."""
    changed = meddled(child, live) if _applied_last(child, live) else ()
    return () if changed and cache.tolerated(key_of(child)) == signature(live) else changed
