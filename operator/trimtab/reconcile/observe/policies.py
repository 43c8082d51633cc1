"""The policies that the cache holds, and what they say about one pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.ports import Manifest
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.reading import MODELS, read
from trimtab.tuning.governance.rules import NO_RULES, Rules, rules


@dataclass(frozen=True, slots=True)
class Seen:
    """One policy object: what it says, or why that cannot be read."""

    manifest: Manifest
    layer: Layer
    """Of one that cannot be read, only what it selects, as far as that can be."""
    wrong: str = ""

    def selects(self, parent: Manifest) -> bool:
        """Whether it is for a pipeline."""
        meta = parent["metadata"]
        return self.layer.selects(meta["namespace"], meta.get("labels") or {})


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies at the beginning of a tick."""

    seen: tuple[Seen, ...] = ()

    def over(self, parent: Manifest) -> Rules:
        """What they say together about one pipeline."""
        if not self.seen:
            return NO_RULES
        found = [each for each in self.seen if each.selects(parent)]
        wrong = tuple(f"{each.layer.title}: {each.wrong}" for each in found if each.wrong)
        return rules((each.layer for each in found if not each.wrong), wrong)


def policies(cache: ObjectCache) -> Policies:
    """The policies that are not being deleted."""
    return Policies(tuple(_all(cache)))


def _all(cache: ObjectCache) -> Iterator[Seen]:
    for kind in MODELS:
        for manifest in cache.all(kind):
            if "deletionTimestamp" not in manifest["metadata"]:
                yield Seen(manifest, *read(manifest))
