"""The locality scope follows the load by bounds of its own, whenever nothing else moves.

That includes ticks in which something else would move and may not, such as a release of what is
pinned: the scope is about where tasks run, not about how much runs.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.reasons import Action, Reason
from trimtab.tuning import regime
from trimtab.tuning.acting import act
from trimtab.tuning.context import Context
from trimtab.tuning.decision import NOTHING, Step
from trimtab.tuning.knobs import locality


def follow(context: Context, step: Step, *, over: bool) -> Step:
    """A change of the scope in place of a decision to hold, if one is due; else the same step.

    Within the bounds nothing else is wanted, so there it is also recommended, or told why it may
    not be made. The scope does not narrow while the load is `over` the other bounds: tasks would
    wait for near executors just when all of them are needed.
    """
    decision, memory = step
    if decision.action is not Action.HOLD:
        return step
    offer = locality.drift(context)
    if offer and over and offer.reason is Reason.SCOPE_NARROWED:
        offer = None
    wider = None if offer is None else offer.reason is Reason.SCOPE_WIDENED
    counted = regime.step_scope(context.memory, context.snapshot, wider=wider)
    if offer and regime.scope_due(counted, context.policy):
        changed = act(replace(context, memory=counted), [offer], NOTHING)
        if changed[0].moves or decision.reason is Reason.WITHIN_BOUNDS:
            return changed
    return decision, replace(memory, scope_evidence=counted.scope_evidence)
