"""The first hour's page has every step, and the test of it reads each one."""

from __future__ import annotations

import re

import pytest
import yaml
from tests.firsthour.page import PAGE, REGISTRY, steps, unlike

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec

STEPS = (
    "make release ", "dev/release/push .* registry.example/team", "pip install .*whl",
    "trimtab doctor", "helm install .* oci://.* -f values.yaml", "helm test",
    "kubectl apply .*pipeline.yaml", "for=condition=Ready", "trimtab explain",
    "trimtab.dev/approve", '"mode":"Auto"', "for=condition=GoalMet", "curl .*/api/v1/query",
    "trimtab history", r"'\^Cost'", '"suspend":true', '"suspend":false', "kubectl delete spl",
    "helm uninstall", "kubectl delete crd",
)  # fmt: skip


def test_the_page_has_every_step_in_order() -> None:
    script = "\n".join(step.script for step in steps(PAGE.read_text())).replace("\\\n", "")
    place = 0
    for wanted in STEPS:
        found = re.compile(wanted).search(script, place)
        assert found, f"{wanted} is missing, or not where it belongs"
        place = found.end()


def test_its_files_are_there_before_they_are_used() -> None:
    there: dict[str, str] = {}
    for step in steps(PAGE.read_text()):
        there |= step.files
        assert set(re.findall(r"-f ([\w-]+\.yaml)", step.script)) <= set(there), step.name
    assert set(there) == {"values.yaml", "pipeline.yaml"}
    spec = StreamPipelineSpec.model_validate(yaml.safe_load(there["pipeline.yaml"])["spec"])
    assert spec.tuning.mode == "Recommend"
    images = yaml.safe_load(there["values.yaml"])["images"].values()
    assert all(image.startswith(f"{REGISTRY}/trimtab-") for image in images)


def test_a_step_has_its_files_and_what_it_prints() -> None:
    text = "## A\n```yaml\n# a.yaml\nx: 1\n```\n```yml\ny: 2\n```\n```sh\na\n```\n```text\n1\n```\n"
    (one,) = steps(text)
    assert (one.name, one.script, one.shown) == ("A, 1", "a\n", "1\n")
    assert one.files == {"a.yaml": "# a.yaml\nx: 1\n"}
    assert [step.name for step in steps(text + text)] == ["A, 1", "A, 2"]


@pytest.mark.parametrize("block", ["```\nb\n```\n", "```bash\nb\n```\n", "```text\nb\n```\n"])
def test_no_command_hides_in_another_block(block: str) -> None:
    with pytest.raises(ValueError, match="where none can be"):
        steps(f"## A\n{block}")


@pytest.mark.parametrize(
    ("shown", "printed", "first"),
    [
        ("ok  7 CRDs", "warm\nok    12 CRDs\nmore", ""),
        ("ok  CRDs", "ok CRD", "ok  CRDs"),
        ("b\na", "a\nb", "a"),
        ('"load":"1.8","since":"2026-01-01T"', '"load":"12.25","since":"2027-11-30T"', ""),
        ("pod-...  1/1", "pod-a-b   1/1", ""),
        ("a.b", "axb", "a.b"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_what_is_printed_has_the_form_of_what_is_shown(
    shown: str, printed: str, first: str
) -> None:
    assert unlike(shown, printed) == first
