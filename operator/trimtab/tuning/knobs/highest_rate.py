"""The order of raises under a goal of `max`, where every knob has its turn.

The rate is all that counts, and what is tried first is worked at for longest. So the larger gains
come first, and of those the ones that put little in for it: a batch limit is free, calls are cheap,
executors are not. Calls that promise far less than they put in come after executors, since the
model knows what they save only as far as they still wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.settings import Settings

EXECUTORS_COUNT = 0.75
"""Executors come first where calls yield less than this share of what executors yield."""

LITTLE = 0.5
"""Share of the largest gain below which a knob gains little."""


def ordered(context: Context, offers: Sequence[Proposal]) -> list[Proposal]:
    """Offers of one kind, the one to try first in front; those that gain little come last."""
    largest = max((_gain(context, offer) for offer in offers), default=1.0)

    def order(offer: Proposal) -> tuple[bool, float]:
        gain = _gain(context, offer)
        return gain < LITTLE * largest, -gain / _put_in(context, offer.settings)

    return sorted(offers, key=order)


def _gain(context: Context, offer: Proposal) -> float:
    """The factor by which an offer raises the rate; a load says the inverse."""
    return context.load.value / offer.predicted


def _put_in(context: Context, then: Settings) -> float:
    """The factor by which slots and calls grow; executors count as more than that."""
    calls = (then.max_in_flight or 1) / (context.settings.max_in_flight or 1)
    slots = context.policy.capacity(then).slots / context.slots
    return calls * slots / (EXECUTORS_COUNT if slots > 1 else 1.0)
