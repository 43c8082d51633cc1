"""Names that a pipeline's `sparkConf` and `env` may not use: one table for every door.

The rules of the CRD are generated from it, the model checks it, and the driver checks it once more
when it builds Spark's configuration from `job.json`. A name that ends with `*` stands for every
name that begins so. Everything else is allowed (docs/decisions/0022 says why).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trimtab.api.common import Rule

SPARK_KEY = "^spark([.][A-Za-z0-9_/-]+)+$"
"""The form of a key: spark-submit reads any other as another key, or passes it on to Hadoop."""

ENV_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
"""The form of a variable's name."""

INTERPOLATION = "${"
"""Begins a reference to a variable, a property or another key: no door knows its value."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """Names that belong together, and what to do instead of using them."""

    names: tuple[str, ...]
    instead: str
    any_case: bool = False
    """Whether to refuse a name in every case."""

    def holds(self, name: str) -> bool:
        """Whether the name is one of them."""
        exact, prefixes = self._parts()
        name = name.lower() if self.any_case else name
        return name in exact or name.startswith(tuple(prefixes))

    def cel(self, variable: str) -> str:
        """The same as a CEL expression over a variable."""
        exact, prefixes = self._parts()
        name = f"{variable}.lowerAscii()" if self.any_case else variable
        said = f"{prefixes}.exists(p, {name}.startsWith(p))"
        return f"{said} || {name} in {exact}" if exact else said

    def _parts(self) -> tuple[list[str], list[str]]:
        names = [name.lower() if self.any_case else name for name in self.names]
        exact = [name for name in names if not name.endswith("*")]
        return exact, [name[:-1] for name in names if name.endswith("*")]


SPARK = (
    Reserved(
        (
            "spark.master*", "spark.submit.*", "spark.kubernetes.*", "spark.driver*",
            "spark.executor*", "spark.app.*", "spark.yarn.*", "spark.home", "spark.launcher.*",
            "spark.resources.*", "spark.task.cpus", "spark.task.resource*",
            "spark.memory.offHeap.*", "spark.unsafe.offHeap", "spark.port.*",
            "spark.blockManager.*", "spark.test*",
        ),
        "trimtab makes the pods; write sizes in resources, counts in limits, variables in env,"
        " nodes in nodeSelector, the image in image",
        any_case=True,
    ),
    Reserved(
        (
            "spark.dynamicAllocation.*", "spark.decommission.*", "spark.speculation*",
            "spark.locality.*", "spark.excludeOnFailure.killExcludedExecutors*",
            "spark.blacklist.killBlacklistedExecutors", "spark.kafka.*",
        ),
        "trimtab decides how many executors run, what they run, and how long Kafka's clients live;"
        " use limits and tuning",
        any_case=True,
    ),
    Reserved(
        (
            "spark.jars*", "spark.files*", "spark.archives", "spark.plugins*",
            "spark.extraListeners", "spark.repl.*", "spark.pyspark.*", "spark.python.daemon.*",
            "spark.python.worker.module", "spark.python.use.daemon", "spark.python.authenticate.*",
            "spark.python.unix.*", "spark.api.*", "spark.remote", "spark.connect.*",
            "spark.sql.connect.*", "spark.sql.artifact.*", "spark.sql.extensions*",
            "spark.sql.queryExecutionListeners", "spark.sql.streaming.streamingQueryListeners",
            "spark.sql.hive.metastore.jars*", "spark.sql.maven.*",
            "spark.sql.execution.pyspark.python",
        ),
        "put code into the image or into transform.python",
        any_case=True,
    ),
    Reserved(
        (
            "spark.ui.*", "spark.eventLog.*", "spark.metrics.*", "spark.authenticate*",
            "spark.acls.*", "spark.admin.*", "spark.modify.*", "spark.user.*", "spark.ssl*",
            "spark.network.crypto.*", "spark.network.sasl.*", "spark.network.ssl.*",
            "spark.redaction.*", "spark.sql.redaction.*",
        ),
        "trimtab decides who can reach the driver and the executors and what they disclose",
        any_case=True,
    ),
    Reserved(
        (
            "spark.sql.streaming.checkpointLocation", "spark.sql.streaming.metricsEnabled",
            "spark.sql.streaming.unsupportedOperationCheck",
            "spark.sql.streaming.statefulOperator.checkCorrectness.*",
            "spark.sql.streaming.stateStore.stateSchemaCheck",
            "spark.sql.streaming.stateStore.formatValidation.*",
            "spark.sql.streaming.checkpoint.verifyMetadataExists.*",
            "spark.sql.streaming.stopActiveRunOnRestart", "spark.sql.streaming.stopTimeout",
            "spark.sql.streaming.offsetLog.*", "spark.sql.streaming.queryEvolution.*",
            "spark.sql.streaming.internal.*", "spark.sql.streaming.disabledV2*",
            "spark.hadoop.fs.file.impl", "spark.hadoop.fs.AbstractFileSystem.file.impl",
        ),
        "the checkpoint, the drain and the metrics depend on it",
        any_case=True,
    ),
)  # fmt: skip
"""Keys of `sparkConf`. Spark itself ignores a key in another case than its own."""

ENV = Reserved(
    (
        "SPARK_*", "_SPARK_*", "PYSPARK_*", "_PYSPARK_*", "TRIMTAB_*", "JAVA_*", "_JAVA_*",
        "JDK_*", "LD_*", "PYTHON*", "HADOOP_*", "YARN_*", "KUBERNETES_*", "BASH*", "TINI_*",
        "PATH", "CLASSPATH",
    ),
    "what starts the driver and the executors reads it; use another name",
)  # fmt: skip
"""Environment variables. In another case each is another variable, which nothing reads."""

_FORM = (
    "write spark and parts of letters, digits, _, - and /, with one dot before each; a key of"
    " Hadoop begins with spark.hadoop"
)
_LITERAL = "write the value itself instead of ${...}"


def spark_faults(conf: Mapping[str, str]) -> list[str]:
    """What is wrong with a `sparkConf`, in sentences that name the key; empty: nothing."""
    return [words for key, value in conf.items() for words in _key_faults(key, value)]


def _key_faults(key: str, value: str) -> Iterator[str]:
    if not re.fullmatch(SPARK_KEY, key):
        yield f"sparkConf {key!r} is no key of Spark: {_FORM}"
    for group in SPARK:
        if group.holds(key):
            yield f"sparkConf {key!r} is reserved: {group.instead}"
    if INTERPOLATION in value:
        yield f"sparkConf {key!r} refers to a variable: {_LITERAL}"


def env_faults(names: Iterable[str]) -> list[str]:
    """What is wrong with the names in `env`, in sentences that name them; empty: nothing."""
    faults = []
    for name in names:
        if not re.fullmatch(ENV_NAME, name):
            faults.append(f"env {name!r} is no name: write letters, digits and _, no digit first")
        if ENV.holds(name):
            faults.append(f"env {name!r} is reserved: {ENV.instead}")
    return faults


def _rule(group: Reserved) -> Rule:
    """The rule against a group of keys; its message names the first."""
    words, used = f"; {group.instead}", f"self.filter(k, {group.cel('k')})"
    return Rule(
        f"self.all(k, !({group.cel('k')}))",
        f"sparkConf has a reserved key{words}",
        f"'sparkConf has a reserved key, ' + {used}[0] + {json.dumps(words)}",
    )


SPARK_RULES = (
    Rule(f"self.all(k, k.matches('{SPARK_KEY}'))", f"sparkConf has a key that is none: {_FORM}"),
    Rule(
        f"self.all(k, !self[k].contains('{INTERPOLATION}'))",
        f"sparkConf has a value that refers to a variable: {_LITERAL}",
    ),
    *(_rule(group) for group in SPARK),
)
"""For the map `sparkConf`."""

ENV_RULE = Rule(
    f"!({ENV.cel('self')})",
    f"the name is reserved, one of {', '.join(ENV.names)}: {ENV.instead}",
)
"""For the name of a variable."""
