from __future__ import annotations

import pytest

from trimtab.api.contract import TransformDocument
from trimtab.errors import TransformError
from trimtab.job.query import transform
from trimtab.job.termination import ModuleMissingError
from trimtab.transforms import samples


def test_finds_the_function() -> None:
    assert transform.load_function("trimtab.transforms.samples:transform") is samples.transform


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("jobs.nothing:transform", "jobs"),
        ("trimtab.transforms.samples:nothing", "has no function 'nothing'"),
    ],
)
def test_says_which_module_or_function_is_missing(reference: str, words: str) -> None:
    with pytest.raises(ModuleMissingError, match=words):
        transform.load_function(reference)


@pytest.mark.parametrize("reference", ["jobs.clicks", ":transform", "jobs:"])
def test_says_how_to_write_a_reference(reference: str) -> None:
    with pytest.raises(TransformError, match=r"jobs\.clicks:transform"):
        transform.load_function(reference)


@pytest.mark.parametrize(
    "both", [TransformDocument(), TransformDocument(sql="SELECT 1", module="a:b")]
)
def test_wants_exactly_one_kind(both: TransformDocument) -> None:
    with pytest.raises(TransformError, match="exactly one"):
        transform.apply({"source": None}, both)  # type: ignore[arg-type]


def test_a_function_that_raises_or_returns_no_frame_is_told_in_words(monkeypatch) -> None:
    def broken(df: object, params: dict[str, str]) -> object:
        raise ValueError("no column price")

    monkeypatch.setattr(samples, "broken", broken, raising=False)
    monkeypatch.setattr(samples, "empty", lambda *_: None, raising=False)
    with pytest.raises(TransformError, match="raised ValueError: no column price"):
        transform.apply(
            {"source": None}, TransformDocument(module="trimtab.transforms.samples:broken")
        )  # type: ignore[arg-type]
    with pytest.raises(TransformError, match="returned NoneType, not a DataFrame"):
        transform.apply(
            {"source": None}, TransformDocument(module="trimtab.transforms.samples:empty")
        )  # type: ignore[arg-type]
