"""Before and after a change, and the rules by which knobs judge whether it helped.

Each rule takes the comparison and returns whether the change helped, and the figure that shows it.
A change that relieved the load, or lowered it as predicted, is never reverted.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.tuning.capacity.load import Load
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.regime import Band

LEAST_GAIN = 0.2
"""A change that brings less than this share of the predicted gain in capacity did not help."""

NOISE = 0.1
"""Two measured capacities that differ by less than this share count as equal."""

HEAVIER = 0.2
"""Share by which the load may differ where only the batches of the trial count after it: with a
noise of 5 %, a scope that changed next to nothing did so by 0.1 in 2 of 20 simulations."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a raise under trial was expected to gain, and what it gained."""

    trial: Trial
    load: Load
    band: Band
    times_capacity: float | None
    """Capacity now over capacity before the change; None if unknown."""
    times_put_in: float
    """Busy slots times calls in flight, now over before: the largest possible gain."""
    doubt: float = 0.0
    """By which share batches as uneven as these may mislead, beyond `NOISE`."""

    @property
    def times_rate(self) -> float:
        """Records/s of the trial over those before it, slowed as it began; 1 if those are unknown.

        The batches before it ended before the one that was late, so they do not show its slowdown.
        """
        trial = self.trial
        return trial.rate * trial.slowdown / trial.rate_before if trial.rate_before > 0 else 1.0


def more_capacity(seen: Comparison) -> tuple[bool, str]:
    """More slots, or more calls in flight: the gain in capacity, a ratio of two estimates."""
    trial, load, times = seen.trial, seen.load, seen.times_capacity
    if times is None:
        slower = seen.times_rate < 1 - NOISE and load.value > (1 + NOISE) * trial.load_before
        worse = slower and trial.slowdown <= 1  # a late batch shows only the least slowdown
        words = f"; the capacity before is not known; rate × {seen.times_rate:.2f}"
        return not worse, words
    noise = NOISE + seen.doubt if seen.times_put_in > 1 else NOISE
    least = 1 + LEAST_GAIN * max(0.0, seen.times_put_in - 1) - noise
    relieved = load.value < seen.band.higher or _as_predicted(trial, load)
    return relieved or times >= least, f"; capacity × {times:.1f}"


def _as_predicted(trial: Trial, load: Load) -> bool:
    """Whether the load fell as predicted although the input did not fall.

    The capacity before may come from far smaller batches, and then be far from the truth.
    """
    as_much = load.input_rate >= (1 - NOISE) * trial.input_rate
    return as_much and load.value <= min(trial.predicted_load, trial.load_before)


def lighter_or_faster(seen: Comparison) -> tuple[bool, str]:
    """Relieved, or a rate that grew by more than noise.

    With a backlog, the rate shows the gain and the load rises anyway; without one, the load does.
    """
    relieved = max(seen.band.higher, (1 - NOISE) * seen.trial.load_before)
    lighter = seen.load.value <= relieved
    return lighter or seen.times_rate >= 1 + NOISE, f"; rate × {seen.times_rate:.2f}"


def no_heavier(seen: Comparison) -> tuple[bool, str]:
    """A load that is no higher than before, apart from what two small samples may differ by."""
    return seen.load.value <= (1 + HEAVIER + seen.doubt) * seen.trial.load_before, ""


def lighter(seen: Comparison) -> tuple[bool, str]:
    """A load within the bound, or at least lower than before."""
    load = seen.load.value
    return load <= seen.band.higher or load < seen.trial.load_before, ""
