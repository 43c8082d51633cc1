"""The scope follows the load: wider once its executors are full, nearer once they rest."""

from __future__ import annotations

import pytest

from trimtab.api.knobs import ANY, PROCESS
from trimtab.api.reasons import Reason
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario


def run(seed: int) -> Run:
    """Three executors, of which two hold a partition each; the others can only help in Any."""
    case = {
        "name": "scope", "duration": 900, "tick": 3, "partitions": 2,
        "load": {"step": [[0, 40], [303, 280], [603, 40]]},
        "plant": {
            "capacity": {1: 220, 2: 440, 3: 440},
            "batch": {"fixed_s": 0.2, "noise": 0.05},
            "locality": {"remote_cost": 0.05, "remote_share": {"Process": 0, "Any": 0.5}},
            "metrics": {"direct_s": 2},
        },
        "goal": {"latency": {"percentile": 95, "target": "8s", "catchUp": "60s"}},
        "limits": {"executors": {"min": 3, "max": 3}},
        "tuning": {"locality": {"bounds": {"higher": 0.8, "lower": 0.4}},
                   "pinned": {"trigger": "2s", "maxOffsetsPerTrigger": 20000}},
        "start": {"executors": 3, "trigger": 2, "maxOffsetsPerTrigger": 20000},
    }  # fmt: skip
    return simulate(Scenario.model_validate(case), seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_scope_widens_for_a_high_load_and_narrows_after_it(seed: int) -> None:
    done = run(seed)
    moved = [t for t in done.changes if t.before.settings.scope != t.after.settings.scope]
    reasons = [t.decision.reason for t in moved]
    assert reasons == [Reason.SCOPE_WIDENED, Reason.SCOPE_NARROWED]
    assert 303 < moved[0].at_s < 420
    assert 603 < moved[1].at_s < 720
    scopes = [t.after.settings.scope for t in moved]
    assert scopes == [ANY, PROCESS]
    assert "mean load" in moved[0].decision.message
