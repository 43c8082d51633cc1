"""sink.writers: whether each task writes, or one for each slot, changed live.

Every task that writes a table or files costs a file, or a connection, however few records it has.
With more tasks than slots the results can be shuffled to one writer per slot first. The gain
depends on the store, and the shuffle costs something, so only the trial shows it
(docs/decisions/0045-one-writer-for-each-slot.md).
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import SINK_WRITERS, WRITERS
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.knobs.sending import writing_less
from trimtab.tuning.trials.comparison import Comparison, lighter_or_faster

SLOTS = WRITERS.index("Slots")


class Writers(Knob):
    """One writer for each slot in place of each task."""

    name = "writers"
    values = (SINK_WRITERS,)
    moves = frozenset({Kind.SINK})

    def raise_(self, context: Context) -> Proposal | None:
        """One for each slot, if there are more tasks than slots and their writing takes time."""
        hoped, settings = writing_less(context), context.settings
        if hoped is None or not context.policy.stores or settings.writers == SLOTS:
            return None
        if context.capacity.tasks <= context.slots:
            return None
        changed = replace(settings, writers=SLOTS)
        return hoped.offer(self.name, self.how, changed, Reason.WRITERS_CHANGED, raises=True)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """A faster sink raises the rate while there is a backlog, else it lowers the load."""
        return lighter_or_faster(seen)


KNOB = Writers()
