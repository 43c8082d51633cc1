"""`trimtab diff` and `trimtab patch`: Git beside what was learned, and the latter for Git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.unit.cli.test_explain import MEMORY, pipeline
from tests.unit.workloads.manifests import Json, changed

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.cli import main
from trimtab.tuning.knobs import initial_settings
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

LEARNED = replace(
    MEMORY, settings=Settings(3, 5.0, 20_000, max_in_flight=8, producer_batch=65_536)
)  # fmt: skip


def ran(folder: Path, command: str, manifest: Json) -> Result:
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(manifest))
    return CliRunner().invoke(main, [command, "-f", str(file)])


def test_each_knob_is_told_with_both_values(tmp_path: Path) -> None:
    given = changed(pipeline(LEARNED), "tuning.pinned", {"trigger": "5s"})
    done = ran(tmp_path, "diff", given)
    assert done.exit_code == 0, done.output
    rows = {words[0]: words[1:] for words in map(str.split, done.output.splitlines())}
    assert rows["KNOB"] == ["IN", "GIT", "LEARNED"]
    assert rows["executors"] == ["1", "3", "differs"]
    assert rows["trigger"] == ["5s", "5s", "pinned"]
    assert rows["producer.batchSize"] == ["unset", "65536", "differs"]
    assert "locality.scope" not in rows


def test_the_patch_lets_a_new_pipeline_begin_with_what_was_learned(tmp_path: Path) -> None:
    given = changed(pipeline(LEARNED), "tuning.pinned", None)
    done = ran(tmp_path, "patch", given)
    read = yaml.safe_load(done.output)
    assert read["metadata"] == {"name": "clicks", "namespace": "n"}
    assert read["spec"]["tuning"]["initial"]["producer"] == {"batchSize": 65536}
    merged = changed(given, "tuning.initial", read["spec"]["tuning"]["initial"])
    spec = StreamPipelineSpec.model_validate(merged["spec"])
    assert initial_settings(spec, Policy.of(spec)) == LEARNED.settings


@pytest.mark.parametrize("command", ["diff", "patch"])
def test_where_nothing_was_learned_it_is_said(tmp_path: Path, command: str) -> None:
    done = ran(tmp_path, command, pipeline(None))
    assert done.exit_code == 1
    assert "clicks: no operator has set anything yet" in done.output
