"""The knobs. Each offers a raise (more capacity) and a release (less cost); `LADDER` lists them.

Of several offers that reach the goal, the cheapest to run goes first, then the one with the
shortest measured pause on this pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trimtab.api.knobs import MAX_OFFSETS, TRIGGER
from trimtab.api.reasons import BottleneckKind
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.tuning.context import MORE, Context, Proposal
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.governance import restraint
from trimtab.tuning.knobs import (
    batch_size,
    beginning,
    between,
    cores,
    highest_rate,
    locality,
    max_in_flight,
    parallelism,
    peak,
    sending,
    split,
    topic,
    writers,
)
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

LADDER: tuple[Knob, ...] = (
    parallelism.KNOB,
    batch_size.KNOB,
    between.KNOB,
    split.KNOB,
    max_in_flight.KNOB,
    max_in_flight.BACK_OFF,
    locality.KNOB,
    *sending.KNOBS,
    writers.KNOB,
    cores.KNOB,
    topic.KNOB,
    peak.KNOB,
)
"""The most expensive to run first: executors cost cores, the other knobs do not."""


def named(name: str) -> Knob:
    """The knob with a name stored in a trial or a verdict."""
    return next(knob for knob in LADDER if knob.name == name)


def known_only(state: ControllerState) -> ControllerState:
    """The state without the trial and verdicts of knobs that only another version knows."""
    names = {knob.name for knob in LADDER}
    trial = state.trial if state.trial and state.trial.knob in names else None
    verdicts = tuple(verdict for verdict in state.verdicts if verdict.knob in names)
    return replace(state, trial=trial, verdicts=verdicts)


def clamp(policy: Policy, settings: Settings) -> Settings:
    """The settings with limits and pinned values enforced; limits win over pins."""
    clamped = restraint.within(policy, settings.with_numbers(policy.pinned))
    for knob in LADDER:
        clamped = knob.clamp(policy, clamped)
    return clamped


def initial_settings(spec: StreamPipelineSpec, policy: Policy) -> Settings:
    """The settings a pipeline starts with: tuning.initial, else the knobs' defaults.

    Clamped, and without what can be ruled out before any batch.
    """
    start = Settings(
        executors=spec.limits.executors.min,
        trigger_s=TRIGGER.default,
        max_offsets=int(MAX_OFFSETS.default),
    )
    if spec.tuning.initial:
        start = start.with_numbers(spec.tuning.initial.numbers())
    if spec.wants is None:  # in real-time mode no record waits for it
        start = beginning.begun(policy, start)
    return clamp(policy, start)


def raising(context: Context, kind: BottleneckKind) -> list[Proposal]:
    """Offers to carry more: those that relieve the bottleneck, then those of other knobs.

    Those that reach the goal, the cheapest first; if none of the first kind does, its best. Others
    that reach it go before executors if they need none. A goal of `max` asks every knob in turn. A
    knob that cannot be reverted comes last of its kind, and only if it relieves the bottleneck.
    """
    if context.policy.maximum:
        return _in_turn(context, kind)
    able = [knob for knob in LADDER if kind in knob.moves]
    others = _others(able)
    offers = _offers(context, able)
    first = _reaching(context, offers)
    if not first:
        shorten = [knob for knob in reversed(LADDER) if knob.shortens_batches]
        room = batch_size.room_for_shorter(context, kind, shorten, offers)
        first = room + sorted(offers, key=lambda offer: (_final(offer), offer.predicted))
    left = _offers(context, _fallbacks(kind, others))
    reaching = _reaching(context, left)
    rest = sorted((o for o in left if o not in reaching), key=lambda offer: offer.predicted)
    free = [] if any(map(context.free, first)) else [o for o in reaching if context.free(o)]
    return free + first + [offer for offer in reaching if offer not in free] + rest


def _in_turn(context: Context, kind: BottleneckKind) -> list[Proposal]:
    """What raises the rate under a goal of `max`: every knob that has something to offer.

    Knobs that take the batch limit with them relieve it too.
    """
    limit = kind is BottleneckKind.ADMISSION_LIMIT
    able = [knob for knob in LADDER if kind in knob.moves or (limit and MAX_OFFSETS in knob.values)]
    first = highest_rate.ordered(context, _offers(context, able))
    offers = sorted(first + _offers(context, _others(able)), key=_final)
    return [offer for offer in offers if offer.predicted <= (1 - MORE) * context.load.value]


def _others(able: Sequence[Knob]) -> list[Knob]:
    """The knobs that do not move the bottleneck, and can be reverted."""
    return [knob for knob in LADDER if knob not in able and not knob.final]


def _offers(context: Context, knobs: Iterable[Knob]) -> list[Proposal]:
    return [offer for knob in knobs if (offer := knob.raise_(context))]


def _fallbacks(kind: BottleneckKind, others: Iterable[Knob]) -> list[Knob]:
    """Knobs for a bottleneck named wrongly. A service that answers no more is left alone."""
    if kind is BottleneckKind.REMOTE_RATE:
        return []
    return [knob for knob in others if knob.fallback]


def _reaching(context: Context, offers: Iterable[Proposal]) -> list[Proposal]:
    """Offers that reach the goal: the cheapest to run first, then the least disruptive."""
    reaching = [offer for offer in offers if offer.predicted <= context.band.higher]

    def order(offer: Proposal) -> tuple[bool, int, float]:
        return _final(offer), offer.settings.executors, context.pause_s(offer.how)

    return sorted(reaching, key=order)


def _final(offer: Proposal) -> bool:
    return named(offer.knob).final


def releasing(context: Context) -> list[Proposal]:
    """What can be released, the most expensive first: executors cost, triggers do not."""
    offers = [knob.release(context) for knob in LADDER]
    return [offer for offer in offers if offer is not None]
