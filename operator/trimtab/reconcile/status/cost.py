"""What a pipeline has cost so far and costs now, for status and metrics. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.api.common import timestamp
from trimtab.api.v1alpha1.status import CostStatus
from trimtab.ports import Reading
from trimtab.reconcile.status.conditions import Situation
from trimtab.settings import FREE, Pricing
from trimtab.tuning.spent import Spent, until

GIB = float(1 << 30)
HOUR_S = 3600.0


def cost(situation: Situation) -> CostStatus | None:
    """The account up to now; None before there was a driver."""
    spent = until(situation.memory.spent, situation.now_s)
    if not spent.since_s:
        return None
    static = _static_core_s(spent, situation)
    one = situation.executor
    return CostStatus(
        since=timestamp(spent.since_s),
        executor_hours=_hours(spent.executor_s),
        core_hours=_hours(spent.core_s),
        gib_hours=_hours(spent.byte_s / GIB),
        static_executors=spent.static or None,
        static_core_hours=None if static is None else _hours(static),
        now=_reserved(spent.cores, spent.size),
        step=_reserved(one.cores, one.size),
        money=_money(spent, situation),
    )


def cost_readings(situation: Situation) -> Iterator[Reading]:
    """The same for the operator's metrics."""
    spent, pricing = until(situation.memory.spent, situation.now_s), situation.pricing
    if not spent.since_s:
        return
    yield Reading("executor_seconds", spent.executor_s)
    yield Reading("core_seconds", spent.core_s)
    yield Reading("memory_byte_seconds", spent.byte_s)
    static = _static_core_s(spent, situation)
    if static is not None:
        yield Reading("static_core_seconds", static)
    if pricing != FREE:
        yield Reading("cost", price(pricing, spent.core_s, spent.byte_s))
        yield Reading("cost_per_hour", price(pricing, spent.cores * HOUR_S, spent.size * HOUR_S))


def _static_core_s(spent: Spent, situation: Situation) -> float | None:
    """The driver's CPU as it was, and that of the peak's executors while there was a driver."""
    if not spent.static:
        return None
    one = situation.executor.cores
    return spent.core_s + one * (spent.static * spent.run_s - spent.executor_s)


def _money(spent: Spent, situation: Situation) -> str | None:
    pricing, one = situation.pricing, situation.executor
    if pricing == FREE:
        return None
    so_far = price(pricing, spent.core_s, spent.byte_s)
    now = price(pricing, spent.cores * HOUR_S, spent.size * HOUR_S)
    step = price(pricing, one.cores * HOUR_S, one.size * HOUR_S)
    return f"{so_far:.2f} so far, {now:.4g} an hour now, {step:.4g} an hour for one executor"


def price(pricing: Pricing, core_s: float, byte_s: float) -> float:
    """What core-seconds and byte-seconds cost together."""
    return (pricing.cpu_hour * core_s + pricing.gib_hour * byte_s / GIB) / HOUR_S


def _hours(seconds: float) -> str:
    return f"{seconds / HOUR_S:.2f}"


def _reserved(cores: float, size: float) -> str:
    return f"{cores:g} core{'' if cores == 1 else 's'}, {size / GIB:.2f} GiB"
