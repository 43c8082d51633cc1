"""Whether policies allow changes at a moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from trimtab.api.schedule import opening
from trimtab.api.v1alpha1.policies import Outside
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.rules import Rules


@dataclass(frozen=True, slots=True)
class Closed:
    """Why nothing may change now; empty if a window is open, or none is required."""

    message: str = ""
    raises: bool = False
    """Whether what carries more may still be raised."""


OPEN = Closed()


def closed(rules: Rules, now_s: float) -> Closed:
    """The strictest of the policies whose windows are all closed."""
    found = list(_closed(rules, now_s))
    return min(found, key=lambda each: each.raises, default=OPEN)


def _closed(rules: Rules, now_s: float) -> Iterator[Closed]:
    for layer in rules.layers:
        windows = layer.spec.windows
        states = [opening(w.start, w.duration, w.time_zone, now_s) for w in windows]
        if not windows or any(state.open for state in states):
            continue
        times = [
            (state.until_s, window.time_zone)
            for state, window in zip(states, windows, strict=True)
            if state.until_s is not None
        ]
        raises = layer.spec.outside_windows is Outside.RAISES
        yield Closed(_words(layer, min(times, default=None), raises=raises), raises)


def _words(layer: Layer, following: tuple[float, str] | None, *, raises: bool) -> str:
    words = f"no window of {layer.title} is open"
    if following:
        at = datetime.fromtimestamp(following[0], ZoneInfo(following[1]))
        words += f"; the next opens at {at:%Y-%m-%d %H:%M} {following[1]}"
    return f"{words}; until then only raises are allowed" if raises else words
