"""What an image built on ours must keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trimtab.job.image_check import VARIABLES, Facts, faults, listed

FITS = Facts(
    user=10001,
    variables=VARIABLES,
    programs={"java": True, "python": True, "tini": True},
    packages={"pyspark": ("4.2.0", "4.2.0"), "py4j": ("0.10.9.9", "0.10.9.9")},
    jars=["kafka-clients-3.9.2.jar", "spark-core_2.13-4.2.0.jar", "netty-all-4.2.13.Final.jar"],
    needed_jars=["kafka-clients-3.9.2.jar"],
    entry_point=True,
    unwritable=[],
    modules={"clicks:transform": ""},
)


def test_the_jars_of_the_image_are_those_of_its_class_path() -> None:
    assert listed("/opt/spark/jars/a-1.jar:/opt/spark/jars/b-2.jar\n") == ["a-1.jar", "b-2.jar"]


def test_an_image_that_changes_nothing_fits() -> None:
    assert faults(FITS) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"user": 0}, "end the Dockerfile with USER 10001:10001"),
        ({"variables": {}}, "SPARK_HOME is None: leave it at /opt/spark"),
        ({"programs": {"java": False}}, "java is not on the PATH"),
        ({"packages": {"pyspark": ("4.1.0", "4.2.0")}}, "pyspark is 4.1.0, not 4.2.0"),
        ({"packages": {"pyspark": (None, "4.2.0")}}, "pyspark is missing, not 4.2.0"),
        ({"jars": []}, "kafka-clients-3.9.2.jar is gone"),
        (
            {"jars": [*FITS.jars, "kafka-clients-3.4.1.jar"]},
            "kafka-clients-3.4.1.jar is a second version of kafka-clients-3.9.2.jar",
        ),
        ({"entry_point": False}, "/opt/entrypoint.sh is gone"),
        ({"unwritable": ["/tmp"]}, "/tmp cannot be written to"),
        ({"modules": {"a:b": "no module named 'a'"}}, "a:b: no module named 'a'"),
    ],
)
def test_what_was_spoiled_is_told(change: dict[str, Any], words: str) -> None:
    told = faults(replace(FITS, **change))
    assert any(words in fault for fault in told), told


def test_what_spark_itself_has_twice_is_its_own_business() -> None:
    jars = ["jline-2.14.6.jar", "jline-3.29.0-jdk8.jar"]
    assert faults(replace(FITS, jars=[*FITS.jars, *jars])) == []
