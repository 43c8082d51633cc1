"""The driver's reflex on a cluster: while no operator runs, the driver asks for more executors."""

from __future__ import annotations

import pytest
from tests.e2e.conftest import Stage, manifests, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800), LONG]


# beside other files' pipelines, two cores cannot carry the load with any executors
@pytest.mark.alone
def test_a_load_step_is_met_by_the_driver_while_the_operator_is_down(stage: Stage) -> None:
    """What the law learned in the first step is the table for the second one."""
    tuning = manifests("pipeline")[0]["spec"].get("tuning") or {}
    stage.apply(pipeline(tuning=tuning | {"reflex": True}))
    stage.wait_ready()
    stage.start_load([(30.0, 25.0), (600.0, 180.0), (600.0, 25.0), (300.0, 180.0)])
    own = f'namespace="{stage.kube.namespace}",pipeline="clicks"'
    raises = f"max(trimtab_reflex_raises_total{{{own}}})"

    def executors() -> int:
        return int((stage.status().get("effective") or {}).get("executors", 1))

    def reasons(since: str = "") -> list[str]:
        decided = stage.status().get("decisions") or []
        return [d["reason"] for d in decided if d["time"] > since]

    def raised() -> bool:
        """By the law, or already by the driver: both are quick."""
        return executors() > 1 and "TrialKept" in reasons()

    stage.wait("a raise was kept", 500, raised)
    stage.next_step()
    stage.wait("executors are released", 580, lambda: executors() == 1)
    before, then = stage.known(raises), stage.status()["decisions"][-1]["time"]
    with stage.without("trimtab-operator"):
        stage.next_step()
        stage.wait("the driver has raised", 120, lambda: (stage.metric(raises) or 0) > before)
        stage.wait("its executors run", 120, lambda: len(stage.executors()) > 1)
        assert executors() == 1, "nobody else can have told it"
    stage.wait("the law takes them over", 240, lambda: "RaisedByDriver" in reasons(then))
    assert executors() > 1
    result = stage.delivered(limit_s=420)
    assert (result["lost"], result["duplicated"]) == (0, 0)
