"""Which Python packages belong to an extra of trimtab, with the pins of constraints.txt."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import requires

from dev.localcluster.paths import REPO
from images.lock import normal, read_pins
from packaging.requirements import Requirement


def pins() -> dict[str, str]:
    """For each package its line of constraints.txt: pin and hashes."""
    return read_pins((REPO / "constraints.txt").read_text())


def closure(*extras: str) -> list[str]:
    """The names of all packages that some extras come to, as far as this environment tells."""
    found: set[str] = set()
    todo = list(_needed("trimtab", extras))
    while todo:
        each = todo.pop()
        name = normal(each.name)
        if name not in found or each.extras:
            found.add(name)
            todo += [more for more in _needed(name, each.extras) if normal(more.name) not in found]
    return sorted(found)


def _needed(name: str, extras: Iterable[str]) -> Iterable[Requirement]:
    for text in requires(name) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": each}) for each in ("", *extras)):
            yield requirement
