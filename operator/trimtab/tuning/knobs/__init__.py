"""The knobs. Each offers a raise (carry more) and a release (cost less); `LADDER` is the one list.

Which of several offers is made first is decided by the pause that each has been measured to cost on
this very pipeline, then by what it costs to run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from trimtab.api.knobs import TRIGGER, How
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
        max_pending.raise_,
    ),
    KnobGroup(
        max_pending.BACK_OFF, How.LIVE, max_pending.SETTINGS, max_pending.BACKS_OFF,
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
    room = []
    if not any(offer.knob == batch_size.NAME for offer in offers):
        room = _room_for_shorter(context, kind)
    return room + sorted(offers, key=lambda offer: (_final(offer), offer.predicted))


def _room_for_shorter(context: Context, kind: BottleneckKind) -> list[Proposal]:
    """What would let a batch fit a shorter trigger, where nothing holds the goal at this one.

    Of the triggers at which that would hold it, the longest. What it makes of the load at the
    present trigger may be little: the shorter one comes next. Its batches are smaller than those
    that were seen, so what does not wait in them is taken to be less as well; and the aim is clear
    of the bound, as of every estimate.
    """
    if context.policy.target_s is None or context.fixed(TRIGGER.name):
        return []
    able = [
        knob for knob in (max_pending, parallelism)
        if kind in {*knob.MOVES, BottleneckKind.ADMISSION_LIMIT}
    ]  # fmt: skip
    for shorter in batch_size.shorter(context):
        then = replace(
            context,
            snapshot=replace(context.snapshot, settings=shorter),
            model=replace(context.model, apart=None),
            band=replace(context.band, higher=context.clear),
        )
        offers = [knob.raise_(then) for knob in able]
        holding = [o for o in offers if o and o.predicted <= context.band.higher]
        if holding:
            return [_now(context, offer) for offer in holding]
    return []


def _now(context: Context, offer: Proposal) -> Proposal:
    """What is offered for another trigger, at the present one."""
    trigger_s, limit = context.settings.trigger_s, context.settings.max_offsets
    settings = replace(offer.settings, trigger_s=trigger_s, max_offsets=limit)
    purpose = f"room for a trigger of {TRIGGER.format(offer.settings.trigger_s)}"
    predicted = context.predicted(settings, offer.how)
    return replace(offer, settings=settings, predicted=predicted, purpose=purpose)


def _final(offer: Proposal) -> bool:
    return any(group.final for group in LADDER if group.name == offer.knob)


def releasing(context: Context) -> list[Proposal]:
    """What can be given back, the most expensive first: executors cost, triggers do not."""
    offers = [group.release(context) for group in LADDER if group.release]
    return [offer for offer in offers if offer is not None]
