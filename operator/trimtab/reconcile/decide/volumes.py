"""How the brokers' claims grow. Pure.

The claims' template of a StatefulSet cannot change, so the claims themselves are patched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trimtab.api.kinds import KINDS
from trimtab.api.quantities import format_quantity, parse_amount
from trimtab.ports import Manifest

CLAIM = "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class Volumes:
    """What there is to be done about the claims."""

    patches: tuple[Manifest, ...] = ()
    growing: str = ""
    """What is under way; empty if nothing is."""
    too_large: str = ""
    """Why the claims cannot be as the spec says; empty if they can."""


def volumes(claims: Iterable[Manifest], size: int) -> Volumes:
    """What makes the bound claims `size` bytes large."""
    patches: list[Manifest] = []
    growing: list[str] = []
    too_large: list[str] = []
    for claim in claims:
        name = claim["metadata"]["name"]
        asked, has = _asked(claim), _capacity(claim)
        if asked is None or has is None:
            continue
        if size > has and size != asked:
            patches.append(_patch(claim, size))
        elif size > has:
            growing.append(f"{name} has {format_quantity(has)}{_told(claim)}")
        elif asked > size:
            on_its_way = f" and grows to {format_quantity(asked)}" if asked > has else ""
            too_large.append(f"{name} has {format_quantity(has)}{on_its_way}")
    return Volumes(
        tuple(patches),
        f"volumes grow to {format_quantity(size)}: {'; '.join(growing)}" if growing else "",
        _unshrinkable(size, too_large) if too_large else "",
    )


def _unshrinkable(size: int, claims: list[str]) -> str:
    return (
        f"spec.storage.size is {format_quantity(size)}, but {'; '.join(claims)}, and a volume"
        " cannot shrink: write the largest of these sizes"
    )


def _asked(claim: Manifest) -> int | None:
    return _bytes((claim["spec"].get("resources") or {}).get("requests"))


def _capacity(claim: Manifest) -> int | None:
    """The size of the volume; None while there is none."""
    return _bytes((claim.get("status") or {}).get("capacity"))


def _bytes(amounts: Manifest | None) -> int | None:
    """The storage among some amounts; None if there is none, or in a unit that we do not know."""
    try:
        return int(parse_amount((amounts or {})["storage"]))
    except (KeyError, ValueError):
        return None


def _told(claim: Manifest) -> str:
    """What the cluster says of the growth."""
    conditions = (claim.get("status") or {}).get("conditions") or []
    said = [f"{c['type']}: {c.get('message', '')}".rstrip(": ") for c in conditions]
    return f" ({', '.join(said)})" if said else ""


def _patch(claim: Manifest, size: int) -> Manifest:
    """The claim with another size; only this one, and nothing else of it."""
    meta = claim["metadata"]
    storage = {"requests": {"storage": format_quantity(size)}}
    return {
        "apiVersion": KINDS[CLAIM].api_version,
        "kind": CLAIM,
        "metadata": {name: meta[name] for name in ("name", "namespace", "uid")},
        "spec": {"resources": storage},
    }
