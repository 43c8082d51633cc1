"""A raise that the driver has made by itself becomes the law's own, and goes on trial."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import How
from trimtab.api.reasons import Action, Reason
from trimtab.tuning import messages
from trimtab.tuning.context import Context
from trimtab.tuning.decision import Decision, Step
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.trials.life import open_


def step(context: Context) -> Step | None:
    """Adopt the executors that the driver has asked for; they end any open trial unjudged."""
    signals, settings = context.snapshot.signals, context.settings
    asked = signals.raised_to if signals else None
    if asked is None or asked <= settings.executors:
        return None
    knob, load = parallelism.KNOB, context.load
    raised = knob.clamp(context.policy, replace(settings, executors=asked))
    if raised.executors <= settings.executors:
        return None
    offer = context.offer(knob.name, How.LIVE, raised, Reason.RAISED_BY_DRIVER, raises=True)
    changes = settings.differences(raised)
    why = "the driver has raised executors by itself"
    message = messages.change(why, load, changes, offer.predicted)
    decision = Decision(Action.CHANGE, Reason.RAISED_BY_DRIVER, message, raised, changes, load)
    return decision, open_(replace(context, memory=replace(context.memory, trial=None)), offer)
