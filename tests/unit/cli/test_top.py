"""`trimtab top`: one line each, those that need somebody first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.cli.test_explain import condition, pipeline
from tests.unit.reconcile.stage import Stage
from tests.unit.reconcile.test_policies import run, started
from tests.unit.workloads.manifests import Json

from trimtab.cli import main
from trimtab.cli.top import table


def named(name: str, **status: Any) -> Json:
    made = pipeline(**status)
    made["metadata"] = made["metadata"] | {"name": name}
    return made


def order(*manifests: Json) -> list[str]:
    return [line.split()[1] for line in table(manifests).splitlines()[1:-1]]


def test_who_needs_somebody_comes_first() -> None:
    met, missed = condition("GoalMet", "True", "GoalMet"), condition("GoalMet", "False", "Late")
    stalled = condition("Stalled", "True", "TopicNotFound", "there is no topic")
    found = order(
        named("calm", conditions=[met], load="0.40"),
        named("busy", conditions=[met], load="0.80"),
        named("late", conditions=[missed], load="0.70"),
        named("stuck", conditions=[stalled]),
    )
    assert found == ["stuck", "late", "busy", "calm"]


def test_a_line_says_what_there_is_and_leaves_out_what_is_unknown() -> None:
    stage = started("clicks")
    run(stage, "clicks")
    live = stage.get("StreamPipeline", "clicks")
    words = table([live]).splitlines()
    assert words[0].split()[:4] == ["NAMESPACE", "NAME", "GOAL", "OBSERVED"]
    assert words[1].split()[:2] == ["n", "clicks"]
    assert "Auto" in words[1]
    assert str(live["status"]["cores"]) in words[1].split()
    assert words[2] == f"1 pipeline, goals missed: 0, cores: {live['status']['cores']}"
    unseen = Stage("clicks").get("StreamPipeline", "clicks")
    assert table([unseen]).splitlines()[1].split() == ["n", "clicks"]


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    bad = named("x", conditions=[condition("Stalled", "True", "a\x1b[2J\nb", "")])
    assert "\x1b" not in table([bad])


def test_the_command_reads_a_list(tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": [named("a"), named("b")]}))
    done = CliRunner().invoke(main, ["top", "-f", str(file)])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1].startswith("2 pipelines, goals missed: 0")


@pytest.mark.parametrize("command", [["top"], ["explain", "clicks"]])
def test_without_a_cluster_it_is_said(tmp_path: Path, command: list[str]) -> None:
    none = tmp_path / "none"
    none.write_text("")
    done = CliRunner().invoke(main, [*command, "--kubeconfig", str(none)])
    assert done.exit_code == 1
    assert "the kubeconfig cannot be used" in done.output
