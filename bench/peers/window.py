"""What the peers share: a period of their own, and averages over recent seconds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from trimtab.tuning.snapshot import Batch, Signals

Pick = Callable[[Signals], float | None]


class Period:
    """A grid of times in seconds, for laws whose period differs from the tick's."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self._last = 0

    def due(self, now_s: float) -> bool:
        """Whether a grid time has passed since it was last due."""
        edge = math.floor(now_s / self.period_s + 1e-9)
        passed = edge > self._last
        self._last = max(edge, self._last)
        return passed


class Window:
    """The samples of the last `span_s` seconds, each scrape once."""

    def __init__(self, span_s: float) -> None:
        self.span_s = span_s
        self.samples: list[Signals] = []

    def add(self, now_s: float, signals: Signals) -> None:
        """Add the current signals and drop those that are too old."""
        last = self.samples[-1].sampled_at_s if self.samples else -1.0
        if signals.sampled_at_s > last:
            self.samples.append(signals)
        self.samples = [s for s in self.samples if s.sampled_at_s > now_s - self.span_s]

    def clear(self) -> None:
        """Forget everything."""
        self.samples = []

    def mean(self, pick: Pick) -> float | None:
        """The mean of the known values; None if there are none."""
        values = [v for s in self.samples if (v := pick(s)) is not None]
        return statistics.fmean(values) if values else None

    def slope(self, pick: Pick) -> float | None:
        """Change per second by least squares; None with fewer than two samples."""
        points = [(s.sampled_at_s, v) for s in self.samples if (v := pick(s)) is not None]
        if len(points) < 2:
            return None
        return statistics.linear_regression([t for t, _ in points], [v for _, v in points]).slope

    def processed_rate(self) -> float | None:
        """Records/s that were committed: the input minus the growth of the lag."""
        came, grew = self.mean(lambda s: s.input_rate), self.slope(lambda s: s.lag_records)
        return None if came is None or grew is None else max(0.0, came - grew)

    def batches(self) -> list[Batch]:
        """The finished batches in the window, each once."""
        return list({s.batch.key: s.batch for s in self.samples if s.batch}.values())
