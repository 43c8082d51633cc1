"""A batch limit between those that were tried, under a goal of `max`.

Steps of the batch limit are large, up to fourfold, and the rate has one top: it rises while the
fixed cost is shared out, and falls past the knee. Once a smaller and a larger batch are known to
carry less than the present one, or a smaller one carries less and the present one costs more for
each record, the top lies between them. A golden-section search (Kiefer, 1953) comes nearer to it:
the wider of the two gaps is divided, nearer to the best limit so far.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import MAX_OFFSETS, How
from trimtab.api.reasons import BottleneckKind, Reason
from trimtab.tuning.capacity.points import TOLERANCE, Point, batch_rate, same_size
from trimtab.tuning.context import MORE, Context, Proposal
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.knobs.batch_limit import round_up
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.settings import Settings

SECTION = 0.382
"""Share of a gap, in logarithms, at which a golden section divides it."""

NARROW = 1.6
"""A gap whose ends differ by less than this factor is not divided: the rate changes little there,
and divided parts would be sizes that are learned as one."""

HOPED = 0.9
"""Assumed load of what is tried, over the present one: no model knows the top of the rate."""


class Between(Knob):
    """A limit nearer to the top of the rate, on trial."""

    name = "batch-between"
    values = (MAX_OFFSETS,)
    moves: frozenset[BottleneckKind] = frozenset()
    how: ClassVar[How] = How.QUERY

    def raise_(self, context: Context) -> Proposal | None:
        """A limit in the wider gap beside the present one, once both its ends carry less."""
        settings = context.settings
        if not context.policy.maximum or (ends := _ends(context)) is None:
            return None
        below, above = settings.max_offsets / ends[0], ends[1] / settings.max_offsets
        if max(below, above) < NARROW:
            return None
        factor = below**-SECTION if below >= above else above**SECTION
        wanted = round_up(settings.max_offsets * factor)
        lower = wanted < settings.max_offsets
        reason = Reason.BATCH_LIMIT_LOWERED if lower else Reason.BATCH_LIMIT_RAISED
        changed = replace(settings, max_offsets=wanted)
        load = HOPED * context.load.value
        return Proposal(self.name, self.how, changed, load, raises=True, reason=reason)

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """Which limits the top lies between."""
        del proposal, bottleneck
        below, above = _ends(context) or (0, 0)
        return f"the most is carried between {below} and {above} records a batch"


KNOB = Between()


def _ends(context: Context) -> tuple[int, int] | None:
    """The records of a smaller and a larger batch between which the top lies; None if unknown."""
    settings = context.settings
    alike = [
        point
        for point in context.memory.points
        if point.slots == context.slots and point.manner == settings.manner
    ]
    present = next((p for p in alike if same_size(p.records, settings.max_offsets)), None)
    if present is None:
        return None

    def less(point: Point | None) -> bool:
        """Whether it carries less than the present one, and not by noise."""
        return point is not None and _rate(point, settings) * (1 + MORE) < _rate(present, settings)

    apart = sorted((p for p in alike if p is not present), key=lambda p: p.records)
    below = next((p for p in reversed(apart) if p.records < present.records), None)
    above = next((p for p in apart if p.records > present.records), None)
    if below is None or not less(below):
        return None
    if above is None and present.each_s > (1 + TOLERANCE) * below.each_s:
        above = present
    elif not less(above):
        return None
    assert above is not None
    return below.records, above.records


def _rate(point: Point, settings: Settings) -> float:
    return batch_rate(point.records, point.duration_s, settings.trigger_s)
