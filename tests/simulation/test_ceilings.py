"""What one batch said of many executors does not keep the law from trying them again."""

from __future__ import annotations

from bench.forecast import SHAPES

from trimtab.simulation.figures import figures
from trimtab.simulation.run import simulate


def test_one_slow_batch_is_not_believed_for_hours() -> None:
    """From cold, 26 executors are raised; their second batch takes twice as long by chance.

    So 13 seemed to carry as much, and all waves of the next two hours came to 13: the goal was
    violated for 3,989 s.
    """
    (waves,) = (shape for shape in SHAPES if shape.name == "waves")
    done = simulate(waves.scenario(forecast=False), 1)
    assert max(t.after.settings.executors for t in done.changes if t.at_s > 1800) > 20
    assert figures(done)["slo_violation_s"] < 2000
