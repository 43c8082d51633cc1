"""Named verifiers: what must hold in every run, in any scenario."""

from __future__ import annotations

from collections.abc import Callable

from trimtab.api.reasons import Action, Reason
from trimtab.simulation.run import Run, simulate
from trimtab.tuning import knobs

SETTLE_SHARE = 0.25
"""Final share of a stretch of constant load in which nothing may move."""

USUAL, MOST_BUSY = 1.25, 0.95
NEED_NO_METRICS = {Reason.CLAMPED, Reason.EXECUTORS_REFUSED, Reason.AWAKE}
GIVEN_UP = {Reason.SATURATED, Reason.GOAL_INFEASIBLE, Reason.FAILED_BEFORE}


def within_limits(run: Run) -> bool:
    """Executors never leave the limits, not even in a trial or by the driver itself."""
    policy = run.scenario.policy()
    least, most = policy.min_executors, policy.max_executors
    asked = [t.after.settings.executors for t in run.ticks] + [count for _, count in run.raises]
    return all(least <= executors <= most for executors in asked)


def nothing_moves_in_a_trial(run: Run) -> bool:
    """While a trial is open, only its end, or a change that follows its end, moves anything.

    Limits, a raise of the driver itself, and batches that overload end it without a verdict.
    """
    ends = {Action.REVERT, Action.KEEP, Action.UNPROVEN}
    over = {Reason.CLAMPED, Reason.RAISED_BY_DRIVER, Reason.BATCH_LIMIT_LOWERED}
    return all(
        t.decision.action in ends or t.decision.closed or t.decision.reason in over
        for t in run.changes
        if t.before.trial is not None
    )


def holds_on_no_data(run: Run) -> bool:
    """Without signals the settings stay, unless what the cluster says is enough to move them."""
    blind = [t for t in run.changes if t.signals is None]
    return all(t.decision.reason in NEED_NO_METRICS for t in blind)


def one_knob_a_tick(run: Run) -> bool:
    """A tick moves the settings of at most one knob."""
    for tick in run.changes:
        moved = tick.before.settings.moved(tick.after.settings)
        if not any(moved <= knob.fields for knob in knobs.LADDER):
            return False
    return True


def settles(run: Run) -> bool:
    """Nothing moves in the last quarter of a long stretch of constant load."""
    steps = run.scenario.load.step
    if not steps or run.scenario.faults or run.scenario.plant.metrics.gaps:
        return True
    start_s = steps[-1][0]
    quiet_s = run.scenario.duration - SETTLE_SHARE * (run.scenario.duration - start_s)
    return not any(t.at_s >= quiet_s for t in run.changes)


def not_always_busy(run: Run) -> bool:
    """A pipeline that meets a latency goal is not always busy, except while it catches up.

    In batches at most a quarter larger than a trigger's input, at most 95 % of the time is work. A
    run that ends Saturated is exempt: it reports its overload.
    """
    if run.scenario.policy().target_s is None or run.ticks[-1].decision.reason in GIVEN_UP:
        return True
    triggers = {t.after.generation: t.after.settings.trigger_s for t in run.ticks}
    busy_s = span_s = 0.0
    for batch in run.batches:
        trigger_s = triggers.get(batch.generation, run.scenario.start.trigger)
        usual = run.arrivals.plain_rate(batch.start_s) * trigger_s
        if batch.last - batch.first <= USUAL * usual:
            busy_s += batch.end_s - batch.start_s
            span_s += max(trigger_s, batch.end_s - batch.start_s)
    return busy_s <= MOST_BUSY * span_s


VERIFIERS: dict[str, Callable[[Run], bool]] = {
    "within_limits": within_limits,
    "nothing_moves_in_a_trial": nothing_moves_in_a_trial,
    "holds_on_no_data": holds_on_no_data,
    "one_knob_a_tick": one_knob_a_tick,
    "settles": settles,
    "not_always_busy": not_always_busy,
}


def check(run: Run) -> dict[str, bool]:
    """Every verifier's verdict, for any controller."""
    return {name: holds(run) for name, holds in VERIFIERS.items()}


def verify(run: Run) -> dict[str, bool]:
    """The same for our own core, plus whether restarting it at every tick changes nothing."""
    verdicts = check(run)
    restarted = simulate(run.scenario, run.seed, restart_every_tick=True)
    verdicts["restart_equivalence"] = [t.decision for t in run.ticks] == [
        t.decision for t in restarted.ticks
    ]
    return verdicts
