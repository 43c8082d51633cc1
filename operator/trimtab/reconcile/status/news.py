"""Which decisions of a tick are news."""

from __future__ import annotations

from trimtab.api.reasons import Action
from trimtab.api.v1alpha1.status import DecisionRecord
from trimtab.tuning.decision import Decision


def news(old: tuple[DecisionRecord, ...], decision: Decision | None) -> list[Decision]:
    """The parts of a tick's decision to report as Event, log line and list entry, in order."""
    return [d for d in decision.told if _is_news(old, d)] if decision else []


def _is_news(old: tuple[DecisionRecord, ...], decision: Decision) -> bool:
    """Whether to report a decision: neither a hold nor the last tick's recommendation."""
    if decision.action is Action.HOLD:
        return False
    if decision.action is not Action.RECOMMEND or not old:
        return True
    return (old[-1].action, old[-1].changes) != (decision.action, list(decision.changes))
