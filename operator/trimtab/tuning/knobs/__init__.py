"""The knobs. Each offers a raise (carry more) and a release (cost less); `LADDER` is the one list.

Which of several offers is made first is decided by the pause that each has been measured to cost on
this very pipeline, then by what it costs to run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trimtab.api.knobs import How
from trimtab.api.reasons import BottleneckKind
from trimtab.tuning.context import MORE, Context, Proposal
from trimtab.tuning.knobs import (
    batch_size,
    cores,
    locality,
    max_pending,
    parallelism,
    sending,
    split,
    topic,
)

Move = Callable[[Context], Proposal | None]


@dataclass(frozen=True, slots=True)
class KnobGroup:
    """One knob, or a group of settings that only make sense together."""

    name: str
    how: How
    settings: tuple[str, ...]
    moves: frozenset[BottleneckKind]
    raise_: Move
    release: Move | None = None
    """None: it costs nothing that could be given back, or cannot be."""
    final: bool = False
    """Its change cannot be put back: every other knob comes first."""


LADDER: tuple[KnobGroup, ...] = (
    KnobGroup(
        parallelism.NAME, How.LIVE, parallelism.SETTINGS, parallelism.MOVES,
        parallelism.raise_, parallelism.release,
    ),
    KnobGroup(
        batch_size.NAME, How.QUERY, batch_size.SETTINGS, batch_size.MOVES,
        batch_size.raise_, batch_size.release,
    ),
    KnobGroup(
        split.NAME, How.QUERY, split.SETTINGS, split.MOVES, split.raise_, split.release,
    ),
    KnobGroup(
        max_pending.NAME, How.LIVE, max_pending.SETTINGS, max_pending.MOVES,
        max_pending.raise_, max_pending.release,
    ),
    KnobGroup(
        max_pending.NAME, How.LIVE, max_pending.SETTINGS, max_pending.BACKS_OFF,
        max_pending.back_off,
    ),
    KnobGroup(
        locality.NAME, How.LIVE, locality.SETTINGS, locality.MOVES,
        locality.raise_, locality.release,
    ),
    *(
        KnobGroup(
            name, How.LIVE, sending.SETTINGS[step], sending.MOVES, sending.RAISES[step],
        )
        for step, name in sending.NAMES.items()
    ),
    KnobGroup(cores.NAME, How.DRIVER, cores.SETTINGS, cores.MOVES, cores.raise_),
    KnobGroup(topic.NAME, How.LIVE, topic.SETTINGS, topic.MOVES, topic.raise_, final=True),
)  # fmt: skip
"""The most expensive to run first: executors cost cores, the others do not."""


def raising(context: Context, kind: BottleneckKind) -> list[Proposal]:
    """What can move that bottleneck: what reaches the goal first, then the least disruption.

    A goal of `max` asks every knob in turn, those that move the bottleneck first. What cannot be
    put back comes last, and only where it moves the bottleneck.
    """
    able = [group for group in LADDER if kind in group.moves]
    if context.policy.maximum:
        able += [group for group in LADDER if group not in able and not group.final]
        able.sort(key=lambda group: group.final)
    offers = [offer for group in able if (offer := group.raise_(context))]
    if context.policy.maximum:
        return [offer for offer in offers if offer.predicted <= (1 - MORE) * context.load.value]
    reaching = [offer for offer in offers if offer.predicted <= context.band.higher]
    if reaching:
        return sorted(
            reaching, key=lambda o: (_final(o), context.pause_s(o.how), o.settings.executors)
        )
    return sorted(offers, key=lambda offer: (_final(offer), offer.predicted))


def _final(offer: Proposal) -> bool:
    return any(group.final for group in LADDER if group.name == offer.knob)


def releasing(context: Context) -> list[Proposal]:
    """What can be given back, the most expensive first: executors cost, triggers do not."""
    offers = [group.release(context) for group in LADDER if group.release]
    return [offer for offer in offers if offer is not None]
