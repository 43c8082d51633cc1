"""Changes that a person must approve: all of them in mode Recommend, chosen knobs in mode Auto.

A recommendation has a number, its generation, and stands as long as the law offers the same knob in
the same direction and what was recommended still reaches the goal. Whoever approves names the
generation, so that nothing else than what was read is done. While one stands, it is asked every few
minutes whether it would hold the goal, and whether the pipeline does without it: its record.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.reasons import Action
from trimtab.tuning import knobs, messages
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision, Step
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.recommendation import Recommendation
from trimtab.tuning.trials.life import open_

ANNOTATION = "trimtab.dev/approve"
"""On a StreamPipeline: the generation of the recommendation that may be applied."""

REPLAY_S = 300.0
"""Seconds between two questions to a standing recommendation; each is a write of the status."""

AS_GOOD = 0.97
"""A standing recommendation that misses the goal stays if a new one is not better than this."""


def recommend(context: Context, proposal: Proposal, bottleneck: Bottleneck) -> Step:
    """Recommend a change, or make it if this one was approved."""
    memory, number = context.memory, context.snapshot.constraints.approved
    standing = _standing(context, proposal)
    if standing is None:
        record = replace(memory.advice_record, given=memory.advice_record.given + 1)
        memory = replace(memory, advice_record=record)
        standing = _new(context, proposal, record.given)
    predicted = context.predicted(standing.settings, proposal.how)
    asked = replace(proposal, settings=standing.settings, predicted=predicted)
    changes = context.settings.differences(asked.settings)
    cause = messages.cause(context, asked, bottleneck)
    message = messages.change(cause, context.load, changes, predicted)
    decision = Decision(
        Action.RECOMMEND, asked.reason, message, asked.settings, changes, context.load, bottleneck
    )
    if number == standing.generation:
        record = replace(memory.advice_record, approved=memory.advice_record.approved + 1)
        memory = replace(memory, recommendation=None, advice_record=record)
        message = f"{message}; recommendation {number} was approved"
        decision = replace(decision, action=Action.CHANGE, message=message)
        return decision, open_(replace(context, memory=memory), asked)
    words = f"{message}; {how_to_approve(standing, number)}"
    return replace(decision, message=words), replace(memory, recommendation=standing)


def how_to_approve(standing: Recommendation, number: int | None) -> str:
    """What a person does to approve it, and that `number` approves another one, if it does."""
    words = f"approve it with the annotation {ANNOTATION}={standing.generation}"
    return words if number is None else f"{words} ({number} was another one)"


def withdrawn(memory: ControllerState) -> ControllerState:
    """The memory when nothing needs to change any more."""
    return replace(memory, recommendation=None) if memory.recommendation else memory


def replayed(context: Context) -> ControllerState:
    """The memory after asking the standing recommendation whether it would hold the goal now."""
    memory, standing = context.memory, context.memory.recommendation
    now_s, record = context.snapshot.now_s, context.memory.advice_record
    if standing is None or now_s - max(standing.since_s, record.asked_s) < REPLAY_S:
        return memory
    record = replace(
        record,
        asked=record.asked + 1,
        asked_s=now_s,
        held_advised=record.held_advised + (context.predicted(standing.settings) <= 1.0),
        held_as_run=record.held_as_run + (context.load.value <= 1.0),
    )
    return replace(memory, advice_record=record)


def _new(context: Context, proposal: Proposal, generation: int) -> Recommendation:
    return Recommendation(
        generation=generation,
        of_settings=context.memory.generation,
        knob=proposal.knob,
        raises=proposal.raises,
        settings=proposal.settings,
        load=round(context.load.value, 3),
        predicted=round(proposal.predicted, 3),
        since_s=context.snapshot.now_s,
    )


def _standing(context: Context, proposal: Proposal) -> Recommendation | None:
    """The recommendation that stands, if it is still right."""
    old = context.memory.recommendation
    if old is None or (old.knob, old.raises) != (proposal.knob, proposal.raises):
        return None
    allowed = knobs.clamp(context.policy, old.settings) == old.settings
    if old.of_settings != context.memory.generation or not allowed:
        return None
    predicted = context.predicted(old.settings, proposal.how)
    reaches = predicted <= context.band.higher
    return old if reaches or AS_GOOD * predicted <= proposal.predicted else None
