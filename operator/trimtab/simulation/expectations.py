"""Tests of policies: a scenario under them, and what must come of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AwareDatetime, Field, ValidationError

from trimtab.api.common import ApiModel, faults
from trimtab.api.v1alpha1.tuning import KnobName, Mode
from trimtab.errors import BadInputError
from trimtab.ports import Manifest
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario, as_shipped, load_scenario
from trimtab.simulation.summary import Summary, summary
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.reading import MODELS, read
from trimtab.tuning.governance.rules import Rules, rules

TEST = "PolicyTest"
"""Kind of a document that holds one test."""


class Pipeline(ApiModel):
    """The pipeline that the scenario stands for, as far as policies select by it."""

    namespace: str = "default"
    labels: dict[str, str] = Field(default_factory=dict)


class Expectation(ApiModel):
    """What must come of a run; what is absent is not asked."""

    goal_held: float | None = Field(None, ge=0, le=100, alias="goalHeldPercent")
    """At least, of the seconds after the scenario's warm-up."""
    core_hours: float | None = Field(None, ge=0, alias="coreHours")
    """At most."""
    moves: list[KnobName] = Field(default_factory=list)
    never_moves: list[KnobName] = Field(default_factory=list, alias="neverMoves")
    mode: Mode | None = None
    """In force."""


class PolicyTest(ApiModel):
    """One scenario under the policies of the folder."""

    scenario: str
    """Path of the scenario's file, from that of the test."""
    pipeline: Pipeline = Field(default_factory=Pipeline)
    begins: AwareDatetime = Field(datetime.fromisoformat("2026-01-05T00:00:00Z"))
    """When the run begins, for windows."""
    seeds: Annotated[list[int], Field(min_length=1)] = Field(default_factory=lambda: [1])
    expect: Expectation


@dataclass(frozen=True, slots=True)
class Case:
    """One test of one seed, ready to run."""

    name: str
    file: str
    seed: int
    test: PolicyTest
    scenario: Scenario
    rules: Rules


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case."""

    case: Case
    figures: str
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """The policies and the tests below a folder, and what is wrong with either."""

    layers: tuple[Layer, ...]
    cases: tuple[Case, ...]
    mistakes: tuple[str, ...]


def load(folder: Path) -> Folder:
    """Everything below a folder; raises BadInputError if there is nothing to test."""
    documents = list(_documents(folder))
    layers, mistakes = [], []
    for path, each in documents:
        if each.get("kind") in MODELS:
            layer, wrong = read(_named(each, path))
            layers.append(layer)
            mistakes += [f"{path}: {layer.title}: {wrong}"] if wrong else []
    cases = [
        case
        for path, each in documents
        if each.get("kind") == TEST
        for case in _cases(path, each, layers)
    ]
    if not cases and not mistakes:
        raise BadInputError(f"there is no {TEST} below {folder}: docs/policies.md shows one")
    return Folder(tuple(layers), tuple(cases), tuple(mistakes))


def selecting(folder: Path | None, namespace: str, labels: Mapping[str, str]) -> list[Layer]:
    """The policies below a folder that select such a pipeline; raises BadInputError."""
    found = []
    for path, each in _documents(folder) if folder else ():
        if each.get("kind") in MODELS:
            layer, wrong = read(_named(each, path))
            if wrong:
                raise BadInputError(f"{path}: {layer.title}: {wrong}")
            found += [layer] if layer.selects(namespace, labels) else []
    return found


def run(case: Case) -> Result:
    """Run a case, and compare."""
    told = [fight.message for fight in case.rules.fights]
    began_s = case.test.begins.timestamp()
    ran = simulate(case.scenario, case.seed, rules=case.rules, began_s=began_s)
    seen = summary(ran)
    return Result(case, seen.words, (*told, *_failures(case.test.expect, ran, seen)))


def _documents(folder: Path) -> Iterator[tuple[Path, Manifest]]:
    for path in sorted(folder.rglob("*.y*ml")):
        try:
            for document in yaml.safe_load_all(path.read_text()):
                if isinstance(document, dict):
                    yield path, document
        except (OSError, yaml.YAMLError) as error:
            raise BadInputError(f"{path} is not YAML: {error}") from error


def _named(manifest: Manifest, path: Path) -> Manifest:
    meta = manifest.get("metadata")
    if not isinstance(meta, dict) or "name" not in meta:
        raise BadInputError(f"{path}: metadata.name is missing")
    return manifest


def _cases(path: Path, document: Manifest, layers: list[Layer]) -> Iterator[Case]:
    name = _named(document, path)["metadata"]["name"]
    try:
        test = PolicyTest.model_validate(document.get("spec") or {})
    except ValidationError as error:
        raise BadInputError(f"{path}: {name}: {faults(error)}") from error
    scenario = as_shipped(load_scenario(path.parent / test.scenario))
    where = test.pipeline
    selecting = [each for each in layers if each.selects(where.namespace, where.labels)]
    for seed in test.seeds:
        yield Case(name, str(path), seed, test, scenario, rules(selecting))


def _failures(expect: Expectation, ran: Run, seen: Summary) -> Iterator[str]:
    if expect.goal_held is not None and 100 * (seen.held or 0.0) < expect.goal_held:
        held = "has no bound" if seen.held is None else f"was held {100 * seen.held:.1f} %"
        yield f"the goal {held}, expected {expect.goal_held:g} %"
    if expect.core_hours is not None and seen.core_hours > expect.core_hours:
        yield f"{seen.core_hours:.2f} core-hours, expected at most {expect.core_hours:g}"
    moved = _moved(ran)
    for knob in expect.never_moves:
        if knob in moved:
            yield f"{knob} moved: {moved[knob]}"
    yield from (f"{knob} did not move" for knob in expect.moves if knob not in moved)
    mode = ran.scenario.policy().mode
    if expect.mode is not None and mode is not expect.mode:
        yield f"the mode is {mode}, expected {expect.mode}"


def _moved(ran: Run) -> dict[str, str]:
    """The first move of each knob that moved, with its time."""
    found: dict[str, str] = {}
    for tick in ran.changes:
        before, after = tick.before.settings.numbers(), tick.after.settings.numbers()
        words = f"{', '.join(tick.decision.changes)} at {tick.at_s:.0f} s"
        for knob, value in after.items():
            if before.get(knob) != value:
                found.setdefault(knob, words)
    return found
