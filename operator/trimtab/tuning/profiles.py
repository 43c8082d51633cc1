"""What a profile stands for: the bounds, the dwell and the time to catch up that a spec leaves out.

The values are the best of those that were tried on the workloads of the control bench, with white
noise and with noise as rough as the real driver's: docs/decisions/0031-profiles.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.api.v1alpha1.tuning import Profile as Name
from trimtab.api.v1alpha1.tuning import TuningBounds


@dataclass(frozen=True, slots=True)
class Profile:
    """Values for what a spec does not say."""

    higher: float
    lower: float
    up: int
    down: int
    catch_up_s: float
    even: float = 0.0
    """How far both bounds move up at most where batches are even."""
    prompt: bool = False
    """Whether the trigger is as short as the slots allow, and not as long as the goal allows."""

    def room(self, said: TuningBounds) -> float:
        """How far the bounds may move up: not at all if one of them was said."""
        return self.even if said.higher is None and said.lower is None else 0.0

    def band(self, said: TuningBounds) -> tuple[float, float]:
        """The higher and the lower bound; a missing one keeps its distance, if there is room."""
        gap = self.higher - self.lower
        higher, lower = said.higher, said.lower
        if higher is None:
            higher = self.higher if lower is None else min(1.0, lower + gap)
        if lower is None:
            lower = self.lower if said.higher is None else max(higher - gap, higher / 2)
        return higher, lower


PROFILES: Mapping[Name, Profile] = {
    Name.LATENCY: Profile(higher=0.7, lower=0.5, up=2, down=6, catch_up_s=60.0, prompt=True),
    Name.BALANCED: Profile(higher=0.85, lower=0.75, up=2, down=4, catch_up_s=60.0, even=0.05),
    Name.COST: Profile(higher=0.9, lower=0.8, up=2, down=4, catch_up_s=60.0),
}
