"""The policies that the cache holds, and what they say about one pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from trimtab.api.common import faults
from trimtab.api.kinds import CLUSTER_TUNING_POLICY, TUNING_POLICY
from trimtab.api.v1alpha1.policies import ClusterTuningPolicySpec, TuningPolicySpec
from trimtab.ports import Key, Manifest, key_of
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.rules import NO_RULES, Rules, rules

MODELS: dict[str, type[TuningPolicySpec]] = {
    TUNING_POLICY.name: TuningPolicySpec,
    CLUSTER_TUNING_POLICY.name: ClusterTuningPolicySpec,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One policy object: what it says, or why that cannot be read."""

    manifest: Manifest
    layer: Layer
    """Of one that cannot be read, only what it selects, as far as that can be."""
    wrong: str = ""

    @property
    def key(self) -> Key:
        """The object."""
        return key_of(self.manifest)


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies at the beginning of a tick."""

    seen: tuple[Seen, ...] = ()

    def over(self, parent: Manifest) -> Rules:
        """What they say together about one pipeline."""
        if not self.seen:
            return NO_RULES
        meta = parent["metadata"]
        labels = meta.get("labels") or {}
        found = [each for each in self.seen if each.layer.selects(meta["namespace"], labels)]
        wrong = tuple(f"{each.layer.title}: {each.wrong}" for each in found if each.wrong)
        return rules((each.layer for each in found if not each.wrong), wrong)


def policies(cache: ObjectCache) -> Policies:
    """The policies that are not being deleted."""
    return Policies(tuple(_all(cache)))


def _all(cache: ObjectCache) -> Iterator[Seen]:
    for kind in MODELS:
        for manifest in cache.all(kind):
            if "deletionTimestamp" not in manifest["metadata"]:
                yield _read(manifest)


def _read(manifest: Manifest) -> Seen:
    kind, namespace, name = key_of(manifest)
    spec = manifest.get("spec") or {}
    try:
        return Seen(manifest, Layer(kind, namespace, name, MODELS[kind].model_validate(spec)))
    except ValidationError as error:
        selects = Layer(kind, namespace, name, _selection(kind, spec))
        return Seen(manifest, selects, faults(error)[:800])


def _selection(kind: str, spec: Manifest) -> TuningPolicySpec:
    """What a policy selects whose other parts are wrong; all in its reach, if that is wrong too."""
    only = {part: spec[part] for part in ("selector", "namespaces") if part in spec}
    try:
        return MODELS[kind].model_validate(only)
    except ValidationError:
        return MODELS[kind]()
