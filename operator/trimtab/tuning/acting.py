"""Turn the knobs' offers into a decision: the first one without a veto goes on trial."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.reasons import Action, BottleneckKind, Reason
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning import guards, messages
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.decision import Decision, Step, hold
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.knobs import cores, topic
from trimtab.tuning.recommending import recommend, withdrawn
from trimtab.tuning.trials.life import open_


def act(context: Context, proposals: list[Proposal], bottleneck: Bottleneck) -> Step:
    """Make the first allowed change, recommend it, or say why there is none."""
    memory, load, policy = context.memory, context.load, context.policy
    proposal, veto = guards.first_allowed(context, proposals)
    if proposal is None and veto is not None:
        return hold(memory, veto.reason, veto.message, load, bottleneck), memory
    if proposal is None:
        return _saturated(context, bottleneck), memory
    now = context.settings
    if policy.mode is not Mode.OBSERVE and policy.needs_approval(now, proposal.settings):
        free = [offer for offer in proposals if not policy.needs_approval(now, offer.settings)]
        other, _ = guards.first_allowed(context, free)
        if other is None:
            return recommend(context, proposal, bottleneck)
        proposal = other
    changes = now.differences(proposal.settings)
    cause = messages.cause(context, proposal, bottleneck)
    message = messages.change(cause, load, changes, proposal.predicted)
    if policy.mode is Mode.OBSERVE:
        return hold(memory, Reason.OBSERVE_ONLY, message, load, bottleneck), memory
    decision = Decision(
        Action.CHANGE, proposal.reason, message, proposal.settings, changes, load, bottleneck
    )
    return decision, open_(replace(context, memory=withdrawn(memory)), proposal)


def _saturated(context: Context, bottleneck: Bottleneck) -> Decision:
    load, allow = context.load, cores.to_allow(context, bottleneck.kind)
    if infeasible := messages.infeasible(context):
        message = infeasible + allow
        return hold(context.memory, Reason.GOAL_INFEASIBLE, message, load, bottleneck)
    message = f"load {load.value:.2f}, but no knob within the limits helps: {bottleneck.evidence}"
    if bottleneck.kind is BottleneckKind.MEMORY:
        message += "; status.jvm says which heap or collector would help, once it is known"
    if more := topic.advised(context, bottleneck.kind):
        message += f"; {more} partitions of the source would help"
    return hold(context.memory, Reason.SATURATED, message + allow, load, bottleneck)
