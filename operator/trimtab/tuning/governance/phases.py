"""What policies decide before the control law looks at the load."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.quantities import counted
from trimtab.api.reasons import Action, Reason
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision, Step, hold
from trimtab.tuning.snapshot import Snapshot


def conflict(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    """While the policies cannot all be followed, nothing changes."""
    words = snapshot.policy.conflict
    if not words:
        return None
    message = f"nothing is changed until the policies are mended: {words}"
    return hold(memory, Reason.POLICY_CONFLICT, message), memory


def over_budget(snapshot: Snapshot, memory: ControllerState) -> Step | None:
    """A pipeline gives back what the shared budget no longer leaves it."""
    most, now = snapshot.constraints.budget_executors, memory.settings.executors
    if most is None or now <= most or memory.asleep:
        return None
    settings = replace(memory.settings, executors=most)
    changes = memory.settings.differences(settings)
    message = f"the shared budget leaves {counted(most, 'executor')}: {', '.join(changes)}"
    decision = Decision(Action.CHANGE, Reason.OVER_BUDGET, message, settings, changes)
    return decision, memory.enforced(settings)
