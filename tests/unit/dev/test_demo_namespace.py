"""The demo touches only what it was told to touch, and deletes only what it made."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dev.demo import __main__ as demo
from dev.demo.kube import DemoError, Kube


class Recorded(Kube):
    """Answers for a cluster and writes down what it was asked to do."""

    calls: ClassVar[list[tuple[str, ...]]] = []
    labels: ClassVar[dict[str, str] | None] = None

    def call(self, *arguments: str, **_: Any) -> str:
        self.calls.append(arguments)
        return "somebody's\n"

    def get(self, *_: str) -> dict[str, Any] | None:
        return None if self.labels is None else {"metadata": {"labels": self.labels}}


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.setattr(Recorded, "calls", [])
    monkeypatch.setattr(demo, "Kube", Recorded)
    return Recorded("kubectl", "helm", None, demo.NAMESPACE)


@pytest.mark.parametrize("labels", [None, {demo.OURS: "true"}])
def test_a_namespace_of_an_earlier_demo_is_made_anew(
    kube: Recorded, labels: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorded, "labels", labels)
    demo._fresh_namespace(kube)
    assert [c[0] for c in kube.calls] == ["delete", "create", "label"]


def test_somebody_elses_namespace_is_left_alone(
    kube: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorded, "labels", {"team": "a"})
    with pytest.raises(DemoError, match="not made by a demo"):
        demo._fresh_namespace(kube)
    assert kube.calls == []


@pytest.mark.parametrize(("typed", "goes_on"), [("y\n", True), ("n\n", False), ("", False)])
def test_the_context_is_named_and_asked_for(
    kube: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    typed: str, goes_on: bool,
) -> None:  # fmt: skip
    monkeypatch.delenv("YES", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    if goes_on:
        demo._ask()
    else:
        with pytest.raises(DemoError, match="nothing was changed"):
            demo._ask()
    assert "somebody's" in capsys.readouterr().err
    assert kube.calls == [("config", "current-context")]


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="not on this machine"):
        Kube(tmp_path / "kubectl", "helm", None, "x").call("get", "pods")
