"""Scripts as transforms: what they get, what they hand over, what they may not do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from trimtab import Pipeline
from trimtab.api.contract import TransformDocument
from trimtab.errors import TransformError
from trimtab.job.query import transform
from trimtab.job.termination import ModuleMissingError

Run = Callable[..., Any]


class Frame(DataFrame):
    """A frame of no session."""

    def __new__(cls) -> Frame:
        return object.__new__(cls)


SOURCE = Frame()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a script of these lines on SOURCE."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def run(*lines: str, **document: Any) -> DataFrame:
        (tmp_path / "clicks.py").write_text("\n".join(["from trimtab import Pipeline", *lines]))
        return transform.apply(
            {"source": SOURCE}, TransformDocument(script="clicks.py", **document)
        )

    return run


def test_a_script_gets_its_source_and_its_arguments_and_hands_over_a_stream(run: Run) -> None:
    frame = run(
        "import sys",
        "pipeline = Pipeline.current()",
        "assert sys.argv[1:] == ['--region', 'eu'], sys.argv",
        "assert pipeline.params == {'wait_ms': '8'}",
        "if __name__ == '__main__':",
        "    query = pipeline.write(pipeline.read())",
        "    query.awaitTermination()",
        args=["--region", "eu"], params={"wait_ms": "8"},
    )  # fmt: skip
    assert frame is SOURCE
    assert sys.argv[1:] != ["--region", "eu"]


def test_a_script_has_the_modules_beside_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "helper_of_clicks.py").write_text("def same(frame): return frame")
    lines = (
        "from helper_of_clicks import same",
        "p = Pipeline.current()",
        "p.write(same(p.read()))",
    )
    assert run(*lines) is SOURCE


def test_a_script_may_be_named_by_its_whole_path(tmp_path: Path) -> None:
    path = tmp_path / "whole.py"
    path.write_text("import trimtab as t; t.Pipeline.current().write(t.Pipeline.current().read())")
    assert transform.apply({"source": SOURCE}, TransformDocument(script=str(path))) is SOURCE


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pass", r"writes nothing: hand its stream to Pipeline\.current\(\)\.write\(frame\)"),
        ("Pipeline.current().write(3)", "wrote int, not a DataFrame"),
        ("1 / 0", r"clicks\.py, line 2 raised ZeroDivisionError"),
        ("raise SystemExit(3)", "ended with 3"),
        ("raise SystemExit('no region')", "ended with 'no region'"),
        ("def f(:", r"clicks\.py raised SyntaxError"),
        (
            "p = Pipeline.current(); p.write(p.read()); p.write(p.read())",
            "raised ValueError: a pipeline has one query",
        ),
    ],
)
def test_what_a_script_does_wrong_is_said(run: Run, line: str, words: str) -> None:
    with pytest.raises(TransformError, match=words):
        run(line)


@pytest.mark.parametrize(
    ("owner", "method", "words"),
    [
        (DataStreamWriter, "start", "starts a query by itself: hand the frame to"),
        (DataStreamWriter, "toTable", "starts a query by itself"),
        (SparkSession, "stop", "stops Spark"),
        (SparkContext, "stop", "stops Spark"),
    ],
)
def test_a_script_neither_starts_a_query_nor_stops_spark(
    run: Run, owner: type, method: str, words: str
) -> None:
    original = getattr(owner, method)
    module = owner.__module__
    with pytest.raises(TransformError, match=words):
        run(f"from {module} import {owner.__name__}", f"{owner.__name__}.{method}(None)")
    assert getattr(owner, method) is original, "the driver itself may"


def test_an_error_of_spark_is_put_in_its_words(run: Run) -> None:
    with pytest.raises(TransformError, match=r"clicks\.py, line 3: no column price$"):
        run(
            "from pyspark.errors import AnalysisException",
            "raise AnalysisException('no column price')",
        )
    assert AnalysisException is not None


def test_a_script_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleMissingError, match=r"there is no script nowhere\.py in the image"):
        transform.apply({"source": SOURCE}, TransformDocument(script="nowhere.py"))


def test_without_trimtab_a_script_is_told_how_it_is_run() -> None:
    with pytest.raises(RuntimeError, match=r"name it in transform\.python\.script"):
        Pipeline.current()
