"""A spark-submit line as fields of a pipeline."""

from __future__ import annotations

import shlex

from trimtab.cli.moving.found import NO_JVM, NO_PLACE, Found
from trimtab.cli.moving.spark_conf import from_conf
from trimtab.errors import BadInputError

_CONF = {
    "--executor-memory": "spark.executor.memory", "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances", "--driver-memory": "spark.driver.memory",
}  # fmt: skip
_DROPPED = {"--master", "--deploy-mode", "--driver-cores"}
_NOTED = {
    "--packages": "put the jars into an image FROM trimtab-pipeline",
    "--jars": "put the jars into an image FROM trimtab-pipeline",
    "--py-files": "put the modules into transform.python.configMap, or into the image",
    "--files": "put them into the image",
    "--properties-file": "write its settings into sparkConf",
    "--class": NO_JVM,
    "--archives": "put the packages into an image FROM trimtab-pipeline",
    "--queue": NO_PLACE,
}
_FLAGS = {"--verbose", "--supervise"}


def is_one(text: str) -> bool:
    """Whether a text holds such a line."""
    return "spark-submit" in text


def from_line(text: str) -> Found:
    """What the first line with spark-submit says; a backslash at its end continues it.

    Raises:
        BadInputError: there is none, or a quote is not closed.
    """
    joined = text.replace("\\\n", " ")
    line = next((line for line in joined.splitlines() if is_one(line)), None)
    if line is None:
        raise BadInputError("there is no line with spark-submit")
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise BadInputError(f"the line with spark-submit is not closed: {error}") from error
    start = next(n for n, word in enumerate(words) if word.endswith("spark-submit"))
    return _from_words(words[start + 1 :])


def _from_words(words: list[str]) -> Found:
    found, conf = Found(), dict[str, str]()
    rest = iter(words)
    for word in rest:
        option, separated, value = word.partition("=")
        if not option.startswith("-"):
            if word.endswith(".py"):
                found.run(word, list(rest))
            else:
                found.note(f"{word} {' '.join(rest)}", NO_JVM)
            break
        if option in _FLAGS:
            continue
        _take(option, value if separated else next(rest, ""), conf, found)
    found.add(from_conf(conf))
    return found


def _take(option: str, value: str, conf: dict[str, str], found: Found) -> None:
    if option in {"--conf", "-c"}:
        key, _separator, said = value.partition("=")
        conf[key] = said
    elif option == "--name":
        found.name = value
    elif option in _CONF:
        conf[_CONF[option]] = value
    elif option not in _DROPPED:
        found.note(f"{option} {value}", _NOTED.get(option, NO_PLACE))
