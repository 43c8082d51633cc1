"""`trimtab policy test`: what is as expected passes, everything else fails in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner, Result

from trimtab.cli import main

SCENARIO = {
    "name": "small", "duration": 700, "tick": 10, "partitions": 8,
    "load": {"step": [[0, 100], [300, 300]]}, "warmup_s": 100,
    "plant": {"capacity": {1: 200, 8: 1600}, "batch": {"fixed_s": 0.3}},
    "goal": {"latency": {"target": 10}}, "limits": {"executors": {"max": 8}},
    "start": {"executors": 1, "trigger": 2},
}  # fmt: skip


def policy(name: str = "team", kind: str = "ClusterTuningPolicy", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def expecting(**expect: Any) -> dict[str, Any]:
    spec = {"scenario": "small.yaml", "expect": expect}
    return {"kind": "PolicyTest", "metadata": {"name": "it"}, "spec": spec}


def tried(folder: Path, *documents: Any, junit: Path | None = None) -> Result:
    (folder / "small.yaml").write_text(yaml.safe_dump(SCENARIO))
    (folder / "all.yaml").write_text(yaml.safe_dump_all(documents))
    options = ["--junit", str(junit)] if junit else []
    return CliRunner().invoke(main, ["policy", "test", str(folder), *options])


def test_the_example_passes() -> None:
    done = CliRunner().invoke(main, ["policy", "test", "examples/40-policies"])
    assert done.exit_code == 0, done.output
    assert done.output.endswith("3 policies, 5 passed, 0 failed, 0 wrong\n")


@pytest.mark.parametrize(
    ("spec", "expect", "words"),
    [
        ({}, {"goalHeldPercent": 80, "coreHours": 1, "moves": ["executors"], "mode": "Auto"}, ""),
        ({}, {"coreHours": 0.1}, "core-hours, expected at most 0.1"),
        ({}, {"neverMoves": ["executors"]}, "executors moved: executors 1 -> "),
        ({"knobs": {"executors": {"max": 1}}}, {"goalHeldPercent": 80}, "expected 80 %"),
        ({"knobs": {"executors": {"locked": True}}}, {"moves": ["executors"]},
         "executors did not move"),
        ({"mode": "Observe"}, {"mode": "Auto"}, "the mode is Observe, expected Auto"),
        ({"budget": {"cores": 1}}, {"moves": ["executors"]}, "executors did not move"),
        ({"windows": [{"start": "0 3 * * *", "duration": "1h"}]}, {"moves": ["executors"]},
         "executors did not move"),
    ],
)  # fmt: skip
def test_what_is_not_as_expected_fails_in_words(
    tmp_path: Path, spec: dict[str, Any], expect: dict[str, Any], words: str
) -> None:
    done = tried(tmp_path, policy(**spec), expecting(**expect))
    assert done.exit_code == (1 if words else 0), done.output
    assert words in done.output
    assert ("FAIL" in done.output) is bool(words)


def test_a_wrong_policy_and_two_that_fight_fail(tmp_path: Path) -> None:
    bad = policy("bad", windows=[{"start": "x", "duration": "1h"}])
    done = tried(tmp_path, bad, expecting(moves=["executors"]))
    assert done.exit_code == 1
    assert "WRONG" in done.output
    assert "'x' is no cron expression" in done.output
    one, other = (policy(name, defaults={"catchUp": name}) for name in ("60s", "2m"))
    done = tried(tmp_path, one, other, expecting())
    assert done.exit_code == 1
    assert "have the same priority, 0" in done.output


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (policy(), "there is no PolicyTest below"),
        (expecting(neverMoves=["speed"]), "there is no knob 'speed'"),
        (expecting(goal=1), "expect.goal: Extra inputs are not permitted"),
        (expecting() | {"spec": {"scenario": "none.yaml", "expect": {}}}, "cannot read"),
        (expecting() | {"metadata": {}}, "metadata.name is missing"),
    ],
)
def test_what_cannot_be_tested_is_said(
    tmp_path: Path, document: dict[str, Any], words: str
) -> None:
    done = tried(tmp_path, document)
    assert done.exit_code == 1
    assert words in done.output
    assert "Traceback" not in done.output


def test_the_results_are_junit_for_a_ci_job(tmp_path: Path) -> None:
    target = tmp_path / "junit.xml"
    tried(tmp_path, policy(), expecting(coreHours=0.1), junit=target)
    suite = ElementTree.fromstring(target.read_bytes())
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    (failure,) = suite.iter("failure")
    assert "expected at most 0.1" in str(failure.get("message"))
