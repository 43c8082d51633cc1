"""Why children could not be written: told in the next tick, tried again in each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trimtab.api.common import Condition, get_condition
from trimtab.ports import Manifest
from trimtab.workloads import ownership

CHILD_REFUSED = "ChildRefused"
NAME_TAKEN = "NameTaken"
PREDECESSOR = "PredecessorRemains"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why children could not be written; no reason: they were."""

    reason: str = ""
    message: str = ""

    @property
    def heals(self) -> bool:
        """Whether it ends by itself soon."""
        return self.reason == PREDECESSOR

    @property
    def blocks(self) -> bool:
        """Whether nothing new may be created beside what has the name."""
        return self.reason in {NAME_TAKEN, PREDECESSOR}


WRITTEN = Refusal()


def taken(live: Manifest, parent: Manifest) -> Refusal:
    """Why a child cannot have its name; WRITTEN if the object of that name is ours."""
    if ownership.ours(live, parent):
        return WRITTEN
    what = f"{live['kind']} {live['metadata']['name']}"
    if ownership.of_predecessor(live, parent):
        return Refusal(
            PREDECESSOR,
            f"{what} belongs to an earlier {parent['kind']} of this name and is not deleted yet",
        )
    return Refusal(
        NAME_TAKEN,
        f"{what} exists, {ownership.holder(live)}, and is not trimtab's: rename the"
        f" {parent['kind']}, or delete that object",
    )


def joined(refusals: Iterable[Refusal]) -> Refusal:
    """The worst reason, with the messages of all refusals."""
    found = [refusal for refusal in refusals if refusal.reason]
    reasons = [refusal.reason for refusal in found]
    worst = next((r for r in (NAME_TAKEN, CHILD_REFUSED, PREDECESSOR) if r in reasons), "")
    return Refusal(worst, "; ".join(refusal.message for refusal in found))


def told(conditions: tuple[Condition, ...]) -> Refusal | None:
    """What the last tick said of an operator that has written nothing yet."""
    stalled = get_condition(conditions, "Stalled")
    if stalled and stalled.status == "True" and stalled.reason in {CHILD_REFUSED, NAME_TAKEN}:
        return Refusal(stalled.reason, stalled.message)
    return None
