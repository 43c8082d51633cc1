"""Whose an object of a child's name is. Pure.

A child is ours by the uid of its controller. A checkpoint's claim that outlived its pipeline has no
owner: its labels say that it is ours. Nothing else is taken over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from trimtab.api.common import GROUP
from trimtab.ports import Manifest
from trimtab.workloads.common import MANAGED_BY, MANAGED_BY_LABEL, PIPELINE_LABEL


def controller(manifest: Manifest) -> Manifest | None:
    """The owner reference to the controller of an object; None if it has none."""
    owners = manifest["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def by_owner(manifests: Iterable[Manifest]) -> dict[str, list[Manifest]]:
    """The objects by the uid of their controller."""
    found: dict[str, list[Manifest]] = defaultdict(list)
    for manifest in manifests:
        if (owner := controller(manifest)) is not None:
            found[owner["uid"]].append(manifest)
    return found


def ours(live: Manifest, parent: Manifest) -> bool:
    """Whether an object belongs to this custom resource, or is a claim that it may take over."""
    owner = controller(live)
    if owner is not None:
        return bool(owner["uid"] == parent["metadata"]["uid"])
    return parent["kind"] == "StreamPipeline" and _retained_claim(live, parent)


def of_predecessor(live: Manifest, parent: Manifest) -> bool:
    """Whether an object belongs to an earlier custom resource of this name, which is gone."""
    owner = controller(live)
    if owner is None or ours(live, parent):
        return False
    group = owner["apiVersion"].partition("/")[0]
    named = (group, owner["kind"], owner["name"])
    return bool(named == (GROUP, parent["kind"], parent["metadata"]["name"]))


def holder(live: Manifest) -> str:
    """Whose a foreign object is, in words, as far as it says so itself."""
    owner = controller(live)
    if owner is not None:
        return f"belongs to {owner['kind']} {owner['name']}"
    labels = live["metadata"].get("labels") or {}
    if MANAGED_BY_LABEL in labels and not MANAGED_BY.items() <= labels.items():
        return f"is managed by {labels[MANAGED_BY_LABEL]}"
    return "has no owner"


def own(live: Manifest | None, parent: Manifest) -> Manifest | None:
    """The object if it is ours, else None."""
    return live if live is not None and ours(live, parent) else None


def _retained_claim(live: Manifest, parent: Manifest) -> bool:
    meta = live["metadata"]
    labels = MANAGED_BY | {PIPELINE_LABEL: parent["metadata"]["name"]}
    return (
        live["kind"] == "PersistentVolumeClaim"
        and not meta.get("ownerReferences")
        and labels.items() <= (meta.get("labels") or {}).items()
    )
