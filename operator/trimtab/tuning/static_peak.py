"""The executors that a pipeline without a tuner would need all the time. Pure."""

from __future__ import annotations

from dataclasses import replace

from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import Load, input_rate_of, measure, predict
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.spent import Spent


def with_peak(spent: Spent, snapshot: Snapshot, memory: ControllerState) -> Spent:
    """The account with the executors that the highest input so far needs, if that is more.

    By the model, with the other knobs as they are.
    """
    signals = snapshot.signals
    if memory.trial is not None or memory.asleep or signals is None:
        return spent
    rate = input_rate_of(signals)
    if rate is None or rate <= spent.peak_rate:  # as in most ticks, which then need no model
        return spent
    model = learning.fitted(snapshot, memory.points)
    load = measure(snapshot, model) if model else None
    if model is None or load is None:
        return spent
    policy, plain = snapshot.policy, _without_backlog(load, snapshot)
    least, most = policy.executors_of(policy.capacity(memory.settings).cores)
    counts = range(least, most + 1)
    fitting = (
        count
        for count in counts
        if predict(model, policy, replace(memory.settings, executors=count), plain) <= policy.higher
    )
    peak = next(fitting, most)
    return replace(spent, peak=peak, peak_rate=load.seen_rate) if peak > spent.peak else spent


def _without_backlog(load: Load, snapshot: Snapshot) -> Load:
    rate = snapshot.policy.rate
    demand = load.seen_rate if rate is None else min(load.seen_rate, rate)
    return replace(load, input_rate=load.seen_rate, demand=demand, backlog=0.0)
