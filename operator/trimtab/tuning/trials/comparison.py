"""Before and after a change, and the rules by which knobs tell whether it helped.

Each rule takes the comparison and returns whether the change helped, and the figure that says so.
What was relieved, or came down as predicted, is never put back.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.capacity.load import Load
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.regime import Band

LEAST_GAIN = 0.2
"""Share of the predicted gain in capacity below which a change counts as no help."""

NOISE = 0.1
"""Two measured capacities that differ by less than this share are not told apart."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a raise under trial was to bring, and what it brought."""

    trial: Trial
    load: Load
    band: Band
    times_capacity: float | None
    """Capacity now over that before the change; None where it cannot be told."""
    times_put_in: float
    """Slots at work, and calls in flight, now over those before: the most that can be gained."""

    @property
    def times_rate(self) -> float:
        """Records/s of the trial over those before it; 1 where those are not known."""
        trial = self.trial
        return trial.rate / trial.rate_before if trial.rate_before > 0 else 1.0


def more_capacity(seen: Comparison) -> tuple[bool, str]:
    """More slots, or more calls in flight: the gain in capacity, a ratio of two estimates."""
    trial, load, times = seen.trial, seen.load, seen.times_capacity
    if times is None:
        worse = seen.times_rate < 1 - NOISE and load.value > (1 + NOISE) * trial.load_before
        words = f"; what was carried before is not known to compare; rate × {seen.times_rate:.2f}"
        return not worse, words
    least = 1 + LEAST_GAIN * max(0.0, seen.times_put_in - 1) - NOISE
    relieved = load.value < seen.band.higher or _as_predicted(trial, load)
    return relieved or times >= least, f"; capacity × {times:.1f}"


def _as_predicted(trial: Trial, load: Load) -> bool:
    """Whether the load came down to what was predicted though no less comes in.

    The capacity before may be read from far smaller batches, and then be far from the truth.
    """
    as_much = load.input_rate >= (1 - NOISE) * trial.input_rate
    return as_much and load.value <= min(trial.predicted_load, trial.load_before)


def lighter_or_faster(seen: Comparison) -> tuple[bool, str]:
    """Relieved, or a rate that grew by more than noise.

    With a backlog the rate tells it, and the load rises all the same; without one the load does.
    """
    relieved = max(seen.band.higher, (1 - NOISE) * seen.trial.load_before)
    lighter = seen.load.value <= relieved
    return lighter or seen.times_rate >= 1 + NOISE, f"; rate × {seen.times_rate:.2f}"


def no_heavier(seen: Comparison) -> tuple[bool, str]:
    """A load that is no higher than before, but for noise."""
    return seen.load.value <= (1 + NOISE) * seen.trial.load_before, ""


def lighter(seen: Comparison) -> tuple[bool, str]:
    """A load within the bound, or at least lower than before."""
    load = seen.load.value
    return load <= seen.band.higher or load < seen.trial.load_before, ""
