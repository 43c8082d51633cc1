"""Where a pipeline begins: at its initial settings, less what is ruled out before any batch.

A record waits q·T for the trigger alone. Where that is above the higher bound, no batch is fast
enough. And where each record needs a remote call, a large first batch with few calls takes minutes,
and so does all that depends on what it shows.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import TRIGGERS_S
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.knobs.batch_limit import round_up
from trimtab.tuning.knobs.batch_size import FILL
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

CALL_S = 0.01
"""Seconds of a remote call that are assumed before one was seen."""

LEAST_S = 1.0
"""Seconds of a batch that is not too small to begin with, however short the trigger."""


def begun(policy: Policy, settings: Settings) -> Settings:
    """The settings to begin with: those given, unless trimtab may move them and must.

    The trigger becomes the longest that meets the goal with batches that fill it. Under a goal of
    `max`, where a backlog fills every batch, a batch of remote calls becomes one that fits the
    trigger with calls of `CALL_S`.
    """
    trigger_s, max_offsets = _trigger_s(policy, settings), _max_offsets(policy, settings)
    wanted = replace(settings, trigger_s=trigger_s, max_offsets=max_offsets)
    moved = settings.moved(wanted)
    held = any(policy.fixes(knob) or knob in policy.approval for knob in moved)
    return settings if held or policy.mode is not Mode.AUTO else wanted


def _trigger_s(policy: Policy, settings: Settings) -> float:
    if policy.target_s is None:
        return settings.trigger_s
    room_s = policy.higher * policy.target_s
    if policy.quantile * settings.trigger_s <= room_s:
        return settings.trigger_s
    fitting = (t for t in reversed(TRIGGERS_S) if (policy.quantile + FILL) * t <= room_s)
    return next(fitting, TRIGGERS_S[0])


def _max_offsets(policy: Policy, settings: Settings) -> int:
    if not policy.maximum or not settings.max_in_flight:
        return settings.max_offsets
    calls = policy.capacity(settings).slots * settings.max_in_flight
    fits = calls * max(settings.trigger_s, LEAST_S) / CALL_S
    return min(settings.max_offsets, round_up(fits))
