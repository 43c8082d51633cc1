"""What `sparkConf` and `env` may not say: the model, the driver, and the page that lists it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.bypasses import ALLOWED, ALLOWED_ENV, BYPASSES, Bypass, Door
from tests.unit.job.samples import job
from tests.unit.job.test_session import ENV, POD, options
from tests.unit.workloads.manifests import example

from trimtab.api.reserved import ENV as ENV_NAMES
from trimtab.api.reserved import SPARK, Reserved
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.job.session import configuration
from trimtab.job.termination import JobFailureError, Reason

PAGE = Path(__file__).parents[2] / "docs/security.md"


def model_refuses(bypass: Bypass) -> bool:
    try:
        StreamPipelineSpec.model_validate(example("pipeline")["spec"] | bypass.spec)
    except ValidationError:
        return True
    return False


def driver_refusal(bypass: Bypass, *, pods: bool) -> JobFailureError | None:
    pod = POD | {"env": dict(bypass.env)}
    told = job(sparkConf=bypass.conf, **({"executors": pod} if pods else {}))
    try:
        configuration(told, options(ENV), executors=1 if pods else None)
    except JobFailureError as error:
        return error
    return None


def number(bypass: Bypass) -> str:
    return f"{BYPASSES.index(bypass)}"


def test_enough_is_tried() -> None:
    assert len({b.row for b in BYPASSES}) == len(BYPASSES) >= 30


@pytest.mark.parametrize("bypass", BYPASSES, ids=number)
def test_a_bypass_is_refused_at_the_doors_that_the_table_names(bypass: Bypass) -> None:
    assert model_refuses(bypass) is (Door.MODEL in bypass.doors)
    refusal = driver_refusal(bypass, pods=True)
    assert (refusal is not None) is (Door.DRIVER in bypass.doors)
    if refusal is not None:
        assert (refusal.reason, refusal.heals) == (Reason.SETTINGS_INVALID, False)
        names = [*bypass.conf, *(name for name, _ in bypass.env)]
        assert all(repr(name) in str(refusal) for name in names)


@pytest.mark.parametrize("bypass", [b for b in BYPASSES if b.conf], ids=number)
def test_a_driver_without_executor_pods_refuses_the_same_keys(bypass: Bypass) -> None:
    assert driver_refusal(bypass, pods=False) is not None


@pytest.mark.parametrize("conf", ALLOWED, ids=lambda conf: next(iter(conf)))
def test_what_somebody_needs_is_taken(conf: dict[str, str]) -> None:
    wanted = Bypass("", conf=conf, env=tuple((name, "x") for name in ALLOWED_ENV))
    assert not model_refuses(wanted)
    pod = POD | {"env": dict(wanted.env)}
    built = configuration(job(executors=pod, sparkConf=conf), options(ENV), executors=1)
    assert conf.items() <= built.items()


@pytest.mark.parametrize("group", [*SPARK, ENV_NAMES], ids=lambda group: group.names[0])
def test_the_page_lists_what_is_reserved(group: Reserved) -> None:
    names = ", ".join(f"`{name}`" for name in group.names)
    assert f"\n| {names} | {group.instead} |\n" in PAGE.read_text()


def test_the_page_shows_the_table() -> None:
    table = ["| to | written | refused by |", "|---|---|---|", *(b.row for b in BYPASSES)]
    assert "\n\n" + "\n".join(table) + "\n\n" in PAGE.read_text()
