"""Every controller on one short scenario, through the command that the benches use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench.control import NAMES, OURS, as_decide, main, measure
from bench.peers import flink_jvm
from bench.peers.catalogue import PEERS
from click.testing import CliRunner, Result

from trimtab.errors import BadInputError, UnavailableError
from trimtab.simulation.figures import figures
from trimtab.simulation.run import simulate
from trimtab.simulation.scenario import Scenario
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Signals

ROOT = Path(__file__).parents[3]
SHORT: dict[str, Any] = {
    "name": "short", "duration": 900, "warmup_s": 0, "tick": 10, "partitions": 16,
    "load": {"step": [[0, 150], [200, 900]], "noise": 0.05},
    "plant": {
        "capacity": {1: 200, 10: 2000}, "batch": {"fixed_s": 0.3, "noise": 0.05},
        "metrics": {"gaps": [[500, 560]]},
    },
    "goal": {"latency": {"target": 12}},
    "limits": {"executors": {"min": 1, "max": 10}},
    "start": {"executors": 1, "trigger": 5, "maxOffsetsPerTrigger": 20000},
}  # fmt: skip
SCENARIO = Scenario.model_validate(SHORT)
PURE = [name for name in NAMES if name != "flink"]
"""Those that need no JVM; `tests/bench` has the others."""


def timeless(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "decision_ms"}


@pytest.mark.parametrize("name", PURE)
def test_a_controller_runs_and_can_be_repeated(name: str) -> None:
    result = measure(SCENARIO, name, 1)
    assert result["controller"] == name
    assert result["verdicts"]["within_limits"]
    assert result["batches"] > 20
    assert timeless(result) == timeless(measure(SCENARIO, name, 1))


RAISED = {"ds2": 5, "keda": 10, "hpa-cpu": 5, "numaflow": 5, "spark": 5, "oracle": 6}


@pytest.mark.parametrize(("name", "least"), RAISED.items())
def test_a_step_is_answered_with_executors(name: str, least: int) -> None:
    """900/s need 4.5 executors of 200/s, and 6 at 0.8 of what they sustain."""
    result = measure(SCENARIO, name, 1)
    assert round(result["final"]["executors"] * (1 + result["overshoot"])) >= least


def test_only_a_tuned_dhalion_sees_a_load_this_small() -> None:
    assert measure(SCENARIO, "dhalion", 1)["steps"] == 0
    tuned = {"lag_rate_threshold": "100", "lag_close_to_zero": "2000"}
    assert measure(SCENARIO, "dhalion", 1, tuned)["steps"] > 0


def test_our_own_core_has_the_figures_of_the_simulator() -> None:
    ours = measure(SCENARIO, OURS, 1)
    assert ours.pop("controller") == OURS
    assert ours.pop("parameters") == {}
    assert timeless(ours) == timeless(figures(simulate(SCENARIO, 1)))


def test_the_two_that_know_the_plant_frame_the_cost() -> None:
    oracle, peak = measure(SCENARIO, "oracle", 1), measure(SCENARIO, "static-peak", 1)
    assert oracle["slo_violation_s"] == peak["slo_violation_s"] == 0
    assert oracle["core_hours"] < peak["core_hours"]
    assert peak["reconfigurations"] == 0
    assert oracle["steps"] == 1  # the noise of the load is not load to come


def test_what_a_peer_asks_for_beyond_the_limits_is_cut() -> None:
    class Greedy:
        def decide(self, now_s: float, signals: Signals | None, settings: Settings) -> Settings:
            del now_s, signals
            return Settings(99, settings.trigger_s, settings.max_offsets)

    run = simulate(SCENARIO, 1, controller=as_decide(Greedy()))
    assert run.final.executors == 10
    assert len(run.changes) == 1


def run_command(file: Path, *words: str) -> Result:
    file.write_text(yaml.safe_dump({**SHORT, "duration": 200}))
    return CliRunner().invoke(main, ["--scenario", str(file), *words])


def test_the_command_writes_one_object_for_each_controller_and_seed(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    words = ["--controller", "keda,ds2", "--seeds", "1,2", "--max-offsets", "500"]
    done = run_command(tmp_path / "short.yaml", *words, "--out", str(out))
    assert done.exit_code == 0, done.output
    rows = [(r["controller"], r["seed"], r["final"]) for r in json.loads(out.read_text())]
    assert [row[:2] for row in rows] == [("keda", 1), ("keda", 2), ("ds2", 1), ("ds2", 2)]
    assert {row[2]["maxOffsetsPerTrigger"] for row in rows} == {500}
    assert [line.split()[0] for line in done.output.splitlines()[1:]] == [row[0] for row in rows]


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("ds2", {"scaling_factor": "0.2", "whole_batch": "false"}, (0.2, False)),
        ("keda", {"lag_threshold": "500", "sync_s": "30"}, (500, 30.0)),
        ("oracle", {"higher": "1"}, (1.0,)),
    ],
)
def test_a_parameter_is_read_by_its_type(
    name: str, given: dict[str, str], expected: tuple[object, ...]
) -> None:
    parameters = PEERS[name].parameters(given)
    read = tuple(getattr(parameters, parameter) for parameter in given)
    assert read == expected
    assert [type(value) for value in read] == [type(value) for value in expected]


def test_a_parameter_of_the_command_reaches_the_peer(tmp_path: Path) -> None:
    """At 10 records each executor the lag asks for all of them, at 10000 for one."""
    words = ["--controller", "keda", "--json", "--set"]
    few = run_command(tmp_path / "short.yaml", *words, "lag_threshold=10000")
    many = run_command(tmp_path / "short.yaml", *words, "lag_threshold=10")
    assert json.loads(few.output)[0]["final"]["executors"] == 1
    assert json.loads(many.output)[0]["final"]["executors"] == 10
    assert json.loads(many.output)[0]["parameters"]["lag_threshold"] == 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "lag_threshold"], "--set: expected name=value, not lag_threshold"),
        (["--seeds", "one"], "--seeds: expected numbers like 1,2,3"),
        (["--controller", "nobody"], "no controller 'nobody'; there are trimtab, ds2,"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path: Path, words: list[str], said: str) -> None:
    done = run_command(tmp_path / "short.yaml", *words)
    assert done.exit_code == 1
    assert said in done.output


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine with neither Java nor Maven nor an engine that was built before."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("TRIMTAB_CACHE", str(tmp_path / "cache"))
    flink_jvm.shared.cache_clear()
    yield
    flink_jvm.shared.cache_clear()


@pytest.mark.usefixtures("no_tools")
def test_without_java_and_maven_flink_says_so_and_all_goes_on_without(tmp_path: Path) -> None:
    alone = run_command(tmp_path / "short.yaml", "--controller", "flink")
    assert alone.exit_code == 1
    assert alone.output == "Error: flink: no java and no mvn on PATH\n"
    every = run_command(tmp_path / "short.yaml", "--controller", "all")
    assert every.exit_code == 0
    assert every.stderr == "skipped: flink (no java and no mvn on PATH)\n"
    assert [line.split()[0] for line in every.stdout.splitlines()[1:]] == PURE


@pytest.mark.usefixtures("no_tools")
def test_a_cache_that_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE", "here")
    with pytest.raises(UnavailableError, match="flink: TRIMTAB_CACHE=here: must be absolute"):
        measure(SCENARIO, "flink", 1)


WRONG = [
    ("nobody", {}, "no controller 'nobody'"),
    ("keda", {"lag": "5"}, "no parameter 'lag'; there are lag_threshold,"),
    ("keda", {"lag_threshold": "much"}, "invalid literal"),
    ("keda", {"allow_idle_consumers": "1"}, "expected true or false"),
    (
        OURS,
        {"speed": "1"},
        "no parameter 'speed'; there are catch_up, direct_s, down, higher, lower, profile, up",
    ),
]


@pytest.mark.parametrize(("name", "given", "words"), WRONG)
def test_what_is_wrong_is_said(name: str, given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        measure(SCENARIO, name, 1, given)


def test_the_documents_name_every_peer() -> None:
    page = (ROOT / "bench/peers/README.md").read_text()
    assert [name for name in PEERS if f"`{name}`" not in page] == []
