"""The page of a run: its decisions by number, at the line and in the table."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from click.testing import CliRunner
from tests.simulation.plants import scenario

from trimtab.cli import main
from trimtab.simulation.page import page
from trimtab.simulation.run import simulate

STEP = scenario(
    name="step <1>", duration=900, tick=10, load={"step": [[0, 100], [300, 350]]}, warmup_s=0,
    limits={"executors": {"min": 1, "max": 4}}, goal={"latency": {"target": 3}},
)  # fmt: skip


class Balanced(HTMLParser):
    """Finds elements that are not closed, among those that must be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in {"svg", "text", "polyline", "title", "table", "p", "h1", "h2"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and tag == self.open[-1]:
            self.open.pop()


def test_each_decision_has_its_number_at_the_line_and_in_the_table() -> None:
    run = simulate(STEP, 1)
    text = page(run)
    told = [t for tick in run.ticks for t in tick.decision.told if t.action != "Hold"]
    numbers = [str(number) for number in range(1, len(told) + 1)]
    assert re.findall(r"<td class=n>(\d+)</td>", text) == numbers
    assert re.findall(r"<text [^>]*class=n>(\d+)</text>", text) == numbers
    assert "shaded: above the goal" in text
    assert "goal held in" in text


def test_names_are_escaped_and_elements_closed() -> None:
    text = page(simulate(STEP, 1))
    assert "step &lt;1&gt;, seed 1" in text
    checked = Balanced()
    checked.feed(text)
    assert checked.open == []


def test_the_command_writes_it_for_one_seed(tmp_path: Path) -> None:
    file, scenario_file = tmp_path / "run.html", "examples/scenarios/quickstart.yaml"
    command = ["simulate", "--scenario", scenario_file, "--html"]
    assert CliRunner().invoke(main, [*command, str(file)]).exit_code == 0
    assert file.read_text().startswith("<!doctype html>")
    two = CliRunner().invoke(main, [*command, str(file), "--seeds", "1,2"])
    assert (two.exit_code, "give one seed" in two.output) == (1, True)
    lost = CliRunner().invoke(main, [*command, str(tmp_path / "none" / "x.html")])
    assert (lost.exit_code, "cannot write" in lost.output) == (1, True)
