"""Two pipelines that share a budget of cores, and what is told of it afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Json, Stage, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

CORES = 2
"""Of an executor."""
BOTH = ("clicks", "clones")


def budget(cores: int) -> Json:
    kind = {"apiVersion": "trimtab.dev/v1alpha1", "kind": "TuningPolicy"}
    return kind | {"metadata": {"name": "shared"}, "spec": {"budget": {"cores": cores}}}


def clone() -> Json:
    """The same work again, with a checkpoint of its own."""
    made = pipeline()
    made["metadata"]["name"] = "clones"
    return made


def statuses(stage: Stage) -> dict[str, Json]:
    return {name: (stage.kube.get("spl", name) or {}).get("status") or {} for name in BOTH}


def cores(stage: Stage) -> int:
    """What the settings of both ask for together."""
    return sum(status.get("cores", 0) for status in statuses(stage).values())


def told(stage: Stage, reason: str) -> bool:
    """Whether a pipeline's tuner says so now, or has decided so."""
    for status in statuses(stage).values():
        now = [c["reason"] for c in status.get("conditions", []) if c["type"] == "Tuning"]
        if reason in {*now, *(d["reason"] for d in status.get("decisions", []))}:
            return True
    return False


def tried(stage: Stage, *arguments: str) -> str:
    """What `trimtab` prints, its errors included."""
    config = ("--kubeconfig", str(stage.kube.kubeconfig), "-n", stage.kube.namespace)
    command = [str(Path(sys.executable).with_name("trimtab")), *arguments, *config]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def cli(stage: Stage, *arguments: str) -> str:
    """What `trimtab` prints where it must not fail."""
    printed = tried(stage, *arguments)
    assert not printed.startswith(("Error", "Usage")), printed
    return printed


@pytest.fixture
def proxy(stage: Stage) -> Any:
    """The address of the Prometheus by way of kubectl, which ends with the test."""
    kube = stage.kube
    argv = [str(kube.kubectl), f"--kubeconfig={kube.kubeconfig}", "proxy", "--port=0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().rpartition(":")[2].strip()
        path = "api/v1/namespaces/trimtab/services/trimtab-prometheus:9090/proxy"
        yield f"http://127.0.0.1:{port}/{path}"
        process.terminate()


@LONG
def test_two_pipelines_never_take_more_than_their_budget_and_it_can_be_read_afterwards(
    stage: Stage, proxy: str, tmp_path: Path
) -> None:
    stage.apply(budget(3 * CORES), pipeline(), clone())
    most = 0

    def within() -> bool:
        nonlocal most
        most = max(most, cores(stage))
        return most <= 3 * CORES

    def ready() -> bool:
        found = statuses(stage).values()
        conditions = [{c["type"]: c["status"] for c in s.get("conditions", [])} for s in found]
        return all(each.get("Ready") == "True" for each in conditions)

    stage.wait_long("both run", 300, ready)
    stage.start_load([(900.0, 180.0)])
    stage.wait_long("the budget is used up", 240, lambda: within() and cores(stage) == 3 * CORES)
    stage.wait_long("it holds one back", 240, lambda: within() and told(stage, "OverBudget"))
    assert most <= 3 * CORES
    stage.apply(budget(2 * CORES))
    stage.wait_long("it takes back what is beyond", 120, lambda: cores(stage) <= 2 * CORES)
    assert all(status["cores"] >= CORES for status in statuses(stage).values())
    _read_afterwards(stage, proxy, tmp_path)
    stage.next_step()
    stage.kube.call("delete", "spl", "clones", "--ignore-not-found")
    stage.wait_long("clones gone", 180, lambda: stage.uid("clones-driver-0") is None)


def _read_afterwards(stage: Stage, prometheus: str, folder: Path) -> None:
    """History, why, report and replay of what has just been."""
    name = max(BOTH, key=lambda each: len(statuses(stage)[each].get("decisions", [])))
    shown = [(d["time"], d["reason"]) for d in statuses(stage)[name]["decisions"]]
    decisions = json.loads(cli(stage, "history", name, "-o", "json"))
    assert set(shown) <= {(d["time"], d["reason"]) for d in decisions}
    assert any(d.get("numbers", {}).get("load") for d in decisions)
    why = cli(stage, "why", name, "--at", decisions[-1]["time"])
    assert "In force" in why
    page = folder / "report.html"
    cli(stage, "report", name, "--last", "30m", "--prometheus", prometheus, "--html", str(page))
    assert "of the time" in page.read_text()
    replay = ("replay", name, "--last", "15m", "--prometheus", prometheus)
    stage.wait_long("enough is recorded", 300, lambda: "AS IT RAN" in tried(stage, *replay))
    assert statuses(stage)[name]["cost"]["coreHours"] != "0.00"
