"""The documents: their examples parse, their links lead somewhere, their lists are complete."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from pydantic import TypeAdapter

from trimtab.api.crd import all_crds
from trimtab.api.knobs import KNOBS
from trimtab.api.reasons import BottleneckKind
from trimtab.api.reasons import Reason as Decided
from trimtab.api.untouched import UNTOUCHED
from trimtab.api.v1alpha1.environment import EnvVar
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.origin import Sources
from trimtab.api.v1alpha1.pipeline import Execution, StreamPipelineSpec
from trimtab.api.v1alpha1.pod_template import PipelinePodTemplate
from trimtab.api.v1alpha1.policies import ClusterTuningPolicySpec, TuningPolicySpec
from trimtab.api.v1alpha1.query import DeadLetters, Sink, Source
from trimtab.api.v1alpha1.results import Sinks
from trimtab.api.v1alpha1.runs import Runs
from trimtab.api.v1alpha1.status import ConditionType
from trimtab.api.v1alpha1.transform import Transform
from trimtab.api.v1alpha1.volumes import Volumes
from trimtab.cli import main as cli
from trimtab.simulation.expectations import PolicyTest
from trimtab.simulation.scenario import Scenario
from trimtab.simulation.verifiers import VERIFIERS

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = {
    "StreamPipeline": StreamPipelineSpec,
    "KafkaCluster": KafkaClusterSpec,
    "TuningPolicy": TuningPolicySpec,
    "ClusterTuningPolicy": ClusterTuningPolicySpec,
    "PolicyTest": PolicyTest,
}
PARTS: dict[str, Any] = {
    "source": Source, "sources": Sources, "sink": Sink, "sinks": Sinks, "transform": Transform,
    "deadLetters": DeadLetters,
    "volumes": Volumes, "podTemplate": PipelinePodTemplate, "goal": Goal, "runs": Runs,
    "execution": Execution, "env": list[EnvVar],
}  # fmt: skip
"""Parts of the spec of a pipeline, shown by themselves."""


def read(name: str) -> str:
    return (ROOT / name).read_text()


def examples() -> Iterator[Any]:
    for path in DOCS:
        blocks = re.findall(r"```yaml\n(.*?)```", path.read_text(), re.DOTALL)
        for number, block in enumerate(blocks):
            for document in yaml.safe_load_all(block):
                yield pytest.param(document, id=f"{path.stem}-{number}")


@pytest.mark.parametrize("document", list(examples()))
def test_an_example_is_what_the_models_take(document: dict[str, Any]) -> None:
    if "kind" in document:
        KINDS[document["kind"]].model_validate(document["spec"])
    elif document.keys() <= PARTS.keys():
        for name, part in document.items():
            TypeAdapter(PARTS[name]).validate_python(part)
    else:
        Scenario.model_validate(document)


EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*/*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_folder_is_what_the_models_take(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        if document["kind"] in KINDS:
            KINDS[document["kind"]].model_validate(document["spec"])
        else:
            for name, source in document["data"].items():
                compile(source, name, "exec")


def test_every_knob_is_told_with_its_limits() -> None:
    rows = [line.split("|") for line in read("docs/api.md").splitlines() if line.startswith("| `")]
    told = {row[1].strip(" `"): row for row in rows if len(row) == 7}
    assert set(KNOBS) <= set(told)
    for name, knob in KNOBS.items():
        how = {"live": "live", "query": "query restart"}[knob.how]
        assert told[name][4].strip() == how, name
        assert told[name][3].split(",")[0].strip() == knob.format(knob.minimum), name


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub("`[^`\n]*`", "", path.read_text())  # a pattern in backquotes is no link
    links = re.findall(r"\]\(([^)#]+)\)", text)
    here = [link for link in links if not link.startswith("https://")]
    assert [link for link in here if not (path.parent / link).exists()] == []


def first_words(name: str) -> set[str]:
    rows = [line for line in read(name).splitlines() if line.startswith("| `")]
    return {word for row in rows for word in re.findall(r"`([A-Za-z_0-9]+)`", row.split("|")[1])}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_files_of_the_repository_that_are_named_are_there(path: Path) -> None:
    named = set(
        re.findall(r"(?<![\w/])(?:tests|bench|dev|images|examples)/[\w./-]+\.\w+", path.read_text())
    )
    assert [each for each in sorted(named) if not (ROOT / each).exists()] == []


def test_every_condition_is_told() -> None:
    assert {str(c) for c in ConditionType} <= first_words("docs/api.md")


def test_every_reason_of_a_decision_is_given_and_told() -> None:
    sources = [p for p in (ROOT / "operator/trimtab").rglob("*.py") if p.name != "reasons.py"]
    code, told = "".join(p.read_text() for p in sources), read("docs/tuning.md")
    assert [r.name for r in Decided if f"Reason.{r.name}" not in code] == []
    assert [str(r) for r in Decided if f"`{r}`" not in told] == []


def test_every_bottleneck_and_verifier_is_told() -> None:
    kinds = {str(kind) for kind in BottleneckKind if kind is not BottleneckKind.NONE}
    assert kinds <= first_words("docs/tuning.md")
    assert {*VERIFIERS, "restart_equivalence"} <= first_words("docs/simulation.md")


def test_every_column_is_told() -> None:
    (version,) = all_crds()["streampipelines.yaml"]["spec"]["versions"]
    columns = {c["name"].upper() for c in version["additionalPrinterColumns"]} - {"AGE"}
    assert columns == {w for w in first_words("README.md") if w.isupper()}


def test_what_is_never_moved_is_told_with_its_reason() -> None:
    text = read("docs/tuning.md")
    for name, why in UNTOUCHED.items():
        assert f"| {name} | {why} |" in text


def test_what_shows_an_idea_of_the_seeds_is_there() -> None:
    short = {"T/": "tests/", "S/": "tests/simulation/", "U/": "tests/unit/"}
    named = re.findall(r"`([TSU]/)([\w/.]+)(?:::(\w+))?`", read("docs/seeds.md"))
    assert len(named) > 40
    for folder, path, test in named:
        text = read(short[folder] + path)
        assert not test or f"def {test}(" in text, (path, test)


def samples_of_the_cli() -> list[str]:
    """Every `trimtab COMMAND ...` of the docs, in a block of code or within backquotes."""
    pages = [*DOCS, ROOT / "CONTRIBUTING.md"]
    text = "\n".join(path.read_text() for path in pages).replace("\\\n", " ")
    commands = "|".join(cli.commands)
    whole = re.findall(rf"^ *(?:\.venv/bin/)?trimtab ((?:{commands}) [^#\n]*)", text, re.M)
    return [*whole, *re.findall(rf"`(?:\.venv/bin/)?trimtab ((?:{commands})[^`]*)`", text)]


def test_every_sample_of_the_cli_names_a_command_and_its_options() -> None:
    samples = samples_of_the_cli()
    assert len(samples) > 8
    for sample in samples:
        name, *words = shlex.split(sample)
        known = {option for parameter in cli.commands[name].params for option in parameter.opts}
        assert {word for word in words if re.match("--?[a-z]", word)} <= known, sample


def in_the_schema(path: str) -> bool:
    """Whether the chart has a value of this name, or takes any below it."""
    schema = json.loads(read("charts/trimtab/values.schema.json"))
    node = schema
    for name in path.split("."):
        if reference := node.get("$ref"):
            node = schema["definitions"][reference.rpartition("/")[2]]
        more = node.get("additionalProperties")
        node = node.get("properties", {}).get(name, more if isinstance(more, dict) else None)
        if node is None:
            return False
    return True


def leaves(values: Any, prefix: str = "") -> Iterator[str]:
    if not isinstance(values, dict):
        yield prefix
        return
    for name, each in values.items():
        yield from leaves(each, f"{prefix}.{name}".strip("."))


def test_every_value_of_the_chart_that_is_named_exists() -> None:
    text = "\n".join(path.read_text() for path in DOCS)
    named = re.findall(r"--set ([A-Za-z.]+)=", text)
    for values in re.findall(r"```yml\n(# .*?)```", read("docs/first-hour.md"), re.S):
        named += leaves(yaml.safe_load(values))
    assert {"prometheus.url", "images.kafka", "networkPolicy.metricsFrom"} <= set(named)
    assert [name for name in named if not in_the_schema(name)] == []


def test_the_scenarios_of_the_samples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)  # a sample writes a page beside it
    for sample in samples_of_the_cli():
        name, *words = shlex.split(sample)
        if name == "simulate" and words and "FILE" not in words:
            done = CliRunner().invoke(cli, [name, *words])
            assert done.exit_code == 0, (sample, done.output)
