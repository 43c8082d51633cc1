"""docs/first-hour.md, command by command, with the packed chart and images from a registry."""

from __future__ import annotations

import pytest
from dev.localcluster import registry
from tests.firsthour.conftest import Reader
from tests.firsthour.page import PAGE, REGISTRY, Step, steps, unlike

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

LEFT = "crd,clusterrole,clusterrolebinding,namespace,pv,validatingadmissionpolicy"


def here(text: str) -> str:
    """With the registry of this cluster."""
    return text.replace(REGISTRY, f"{registry.address()}/team")


@pytest.mark.parametrize("step", steps(PAGE.read_text()), ids=lambda step: step.name)
def test_the_first_hour(reader: Reader, step: Step) -> None:
    for name, text in step.files.items():
        (reader.folder / name).write_text(here(text))
    code, printed = reader.bash(here(step.script))
    if code:
        _, state = reader.bash("kubectl get pods,events,spl -A -o wide | cut -c1-300; true")
        pytest.fail(f"code {code}\n{step.script}\n{printed[-6000:]}\n{state[-12000:]}")
    assert not unlike(here(step.shown), printed), printed


def test_nothing_of_it_is_left(reader: Reader) -> None:
    code, printed = reader.bash(f"kubectl get {LEFT} -o name")
    assert code == 0, printed
    assert [each for each in printed.split() if "trimtab" in each and "-local:" not in each] == []
