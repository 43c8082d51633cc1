"""The input that a decision plans for, if more is expected than is seen, and what became of it."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.quantities import format_rate
from trimtab.tuning.capacity.load import Expected, input_rate_of, measure
from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.forecast import ramp
from trimtab.tuning.forecast.season import HORIZON_S, Season, clock
from trimtab.tuning.snapshot import Snapshot

WORTH = 1.03
"""Smallest factor over the input that is seen at which a forecast matters."""


def expected(snapshot: Snapshot, memory: ControllerState) -> Expected | None:
    """The largest forecast; None if none is above what is seen."""
    signals = snapshot.signals
    seen = input_rate_of(signals) if signals else None
    if not signals or not seen or not snapshot.policy.forecast:
        return None
    found = [each for each in (_season(snapshot, memory), _ramp(snapshot)) if each]
    best = max(found, key=lambda each: each.rate, default=None)
    return best if best and best.rate >= WORTH * seen else None


def observe(snapshot: Snapshot, memory: ControllerState) -> ControllerState:
    """The memory after a look at the clock and the input; the season learns by quarter-hours."""
    signals, season = snapshot.signals, memory.season or Season()
    if signals is None or not snapshot.policy.forecast:
        return memory
    now_s, seen_rate = snapshot.now_s, input_rate_of(signals)
    season = season.observe(now_s, signals.input_rate_15m)
    record = memory.forecasts
    record = record if seen_rate is None else record.observe(now_s, seen_rate)
    if season is memory.season and record is memory.forecasts:
        return memory
    return replace(memory, season=season, forecasts=record)


def raised(context: Context, memory: ControllerState) -> ControllerState:
    """The memory after a raise, which is watched if only a forecast asked for it."""
    snapshot, more = context.snapshot, context.load.expected
    seen = measure(snapshot, context.model) if more else None
    if more is None or seen is None or seen.value >= context.band.higher:
        return memory
    record = memory.forecasts.raised(snapshot.now_s, more.rate, more.within_s)
    return replace(memory, forecasts=record)


def _season(snapshot: Snapshot, memory: ControllerState) -> Expected | None:
    usual = memory.season and memory.season.expected(snapshot.now_s)
    if not usual:
        return None
    rate, number = usual
    return Expected(rate, HORIZON_S, f"{format_rate(rate)} records/s are usual on {clock(number)}")


def _ramp(snapshot: Snapshot) -> Expected | None:
    rate = snapshot.signals and ramp.expected(snapshot.signals)
    if not rate:
        return None
    words = f"the input keeps rising, to {format_rate(rate)} records/s in {ramp.AHEAD_S:.0f} s"
    return Expected(rate, ramp.AHEAD_S, words)
