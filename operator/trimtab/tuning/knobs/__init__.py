"""The knobs, cheapest change first. Each offers a raise (carry more) and a release (cost less).

`LADDER` is the one list: max-pending (calls in flight of a stage) and locality (scope) take
their places in it when the driver can move them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trimtab.api.knobs import How
from trimtab.api.reasons import BottleneckKind
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import batch_size, parallelism

Move = Callable[[Context], Proposal | None]


@dataclass(frozen=True, slots=True)
class KnobGroup:
    """One knob, or a group of settings that only make sense together."""

    name: str
    how: How
    settings: tuple[str, ...]
    moves: frozenset[BottleneckKind]
    raise_: Move
    release: Move


LADDER: tuple[KnobGroup, ...] = (
    KnobGroup(
        parallelism.NAME, How.LIVE, parallelism.SETTINGS, parallelism.MOVES,
        parallelism.raise_, parallelism.release,
    ),
    KnobGroup(
        batch_size.NAME, How.QUERY, batch_size.SETTINGS, batch_size.MOVES,
        batch_size.raise_, batch_size.release,
    ),
)  # fmt: skip


def raising(context: Context, kind: BottleneckKind) -> list[Proposal]:
    """What can move that bottleneck: what reaches the goal first, then the least disruption."""
    offers = [group.raise_(context) for group in LADDER if kind in group.moves]
    known = [offer for offer in offers if offer is not None]
    reaching = [offer for offer in known if offer.predicted <= context.band.higher]
    return reaching or sorted(known, key=lambda offer: offer.predicted)


def releasing(context: Context) -> list[Proposal]:
    """What can be given back, the most expensive first: executors cost, triggers do not."""
    offers = [group.release(context) for group in LADDER]
    return [offer for offer in offers if offer is not None]
