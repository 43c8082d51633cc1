"""Cut a change down to what policies allow: their ranges, their largest step, their budget.

A change is cut and not refused, so that a knob that would go too far still goes as far as it may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trimtab.api.knobs import BY_NAME
from trimtab.api.ranges import Range
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal, Veto
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings


def within(policy: Policy, settings: Settings) -> Settings:
    """The settings within the ranges of the policies."""
    allowed, numbers = policy.ranges, settings.numbers()
    held = {name: allowed[name].within(numbers[name]) for name in allowed if name in numbers}
    changed = {name: value for name, value in held.items() if value != numbers[name]}
    return settings.with_numbers(changed) if changed else settings


def restrained(context: Context, proposal: Proposal) -> Proposal | Veto:
    """The change as far as policies allow it; a veto if nothing of it is left."""
    budget = _for_executors(context, proposal, _within_budget(context, proposal.settings))
    cut = _stepped(context, _within_ranges(context, budget))
    settings = _for_executors(context, proposal, cut)
    if settings == proposal.settings:
        return proposal
    if settings != context.settings:
        predicted = context.predicted(settings, proposal.how)
        return replace(proposal, settings=settings, predicted=predicted)
    if budget == context.settings:
        most, wanted = context.snapshot.constraints.budget_executors, proposal.settings.executors
        words = f"the shared budget leaves {most} executors, {wanted} are needed"
        return Veto(Reason.OVER_BUDGET, words)
    words = "; ".join(_bounds(context, proposal))
    return Veto(Reason.OUT_OF_LIMITS, f"a policy does not allow it: {words}")


def _within_budget(context: Context, settings: Settings) -> Settings:
    most = context.snapshot.constraints.budget_executors
    if most is None:
        return settings
    now = context.settings.executors
    return replace(settings, executors=min(settings.executors, max(most, now)))


def _for_executors(context: Context, proposal: Proposal, cut: Settings) -> Settings:
    """Nothing, if executors were to come and none may: what moves with them is for them."""
    now = context.settings
    return now if cut.executors == now.executors < proposal.settings.executors else cut


def _within_ranges(context: Context, settings: Settings) -> Settings:
    """Only what moves is held: what is out of its range already is clamped elsewhere."""
    held = within(context.policy, settings).numbers()
    moved = context.settings.moved(settings)
    return settings.with_numbers({name: held[name] for name in moved})


def _stepped(context: Context, settings: Settings) -> Settings:
    now, new = context.settings.numbers(), settings.numbers()
    steps = {name: each.step for name, each in context.policy.ranges.items() if each.step}
    held = {
        name: min(max(new[name], now[name] - step), now[name] + step)
        for name, step in steps.items()
        if name in new and name in now
    }
    changed = {name: value for name, value in held.items() if value != new[name]}
    return settings.with_numbers(changed) if changed else settings


def _bounds(context: Context, proposal: Proposal) -> Iterator[str]:
    now, new = context.settings.numbers(), proposal.settings.numbers()
    for name, allowed in context.policy.ranges.items():
        if new.get(name) != now.get(name) and _bounded(allowed):
            ends = ("any" if end is None else BY_NAME[name].format(end)
                    for end in (allowed.least, allowed.most))  # fmt: skip
            yield f"{name} may be {' to '.join(ends)}, {BY_NAME[name].format(new[name])} is needed"


def _bounded(allowed: Range) -> bool:
    return allowed.least is not None or allowed.most is not None
