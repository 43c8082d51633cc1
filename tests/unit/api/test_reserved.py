"""The table of reserved names: it covers what trimtab sets, and every family of Spark's keys."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyspark
import pytest
from tests.unit.job.samples import job
from tests.unit.job.test_session import ENV, POD, options

from trimtab.api.reserved import SPARK, Reserved, env_faults, spark_faults
from trimtab.job.session import DEFAULTS, ROCKSDB, configuration

JARS = ("core", "kubernetes", "launcher", "network-common", "common-utils", "yarn", "streaming")

ACCEPTED = {
    "appStateStore", "barrier", "blacklist", "block", "broadcast", "buffer", "checkpoint",
    "cleaner", "cloneBasedClosureCleaner", "cores", "dead", "default", "deploy", "diskStore",
    "excludeOnFailure", "file", "graphx", "hadoop", "hadoopRDD", "history", "io", "job",
    "kerberos", "kryo", "kryoserializer", "log", "logConf", "memory", "network", "python", "r",
    "rdd", "reducer", "rpc", "scheduler", "security", "serializer", "shuffle", "shutdown", "sql",
    "sparkr", "stage", "standalone", "storage", "streaming", "task", "taskMetrics", "unsafe",
    "worker",
}  # fmt: skip
"""The families of Spark's keys of which at least one key is accepted."""


def constants(code: bytes) -> Iterator[bytes]:
    """The string constants of a Java class."""
    (count,) = struct.unpack(">H", code[8:10])
    at, index, texts, strings = 10, 1, {}, []
    sizes = {7: 2, 16: 2, 19: 2, 20: 2, 15: 3, 5: 8, 6: 8}
    while index < count:
        tag = code[at]
        if tag == 1:
            (size,) = struct.unpack(">H", code[at + 1 : at + 3])
            texts[index] = code[at + 3 : at + 3 + size]
            at += 3 + size
        elif tag == 8:
            strings.append(struct.unpack(">H", code[at + 1 : at + 3])[0])
            at += 3
        else:
            at += 1 + sizes.get(tag, 4)
        index += 2 if tag in {5, 6} else 1
    yield from (texts[string] for string in strings)


@cache
def known_keys() -> frozenset[str]:
    """What looks like a key in the classes in which Spark declares its configuration."""
    found = set()
    for name in JARS:
        (jar,) = (Path(pyspark.__file__).parent / "jars").glob(f"spark-{name}_*.jar")
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if "onfig" in entry and entry.endswith(".class"):
                    found |= set(constants(archive.read(entry)))
    keys = (text.decode(errors="replace") for text in found)
    return frozenset(key for key in keys if re.fullmatch(r"spark([.][\w/-]+)+", key))


def test_every_family_of_sparks_keys_was_judged() -> None:
    families = {key.split(".")[1] for key in known_keys() if not spark_faults({key: ""})}
    assert len(known_keys()) > 600
    assert families <= ACCEPTED, "reserve the new ones in api/reserved.py, or accept them here"


@pytest.mark.parametrize("group", SPARK, ids=lambda group: group.names[0])
def test_a_reserved_key_is_refused_in_every_case(group: Reserved) -> None:
    for name in group.names:
        key = name.replace("*", "x").replace(".x", ".any")
        for written in (key, key.upper(), key.lower()):
            assert spark_faults({written: ""}), written


def test_what_trimtab_sets_nobody_else_can() -> None:
    pod = POD | {"javaOptions": "-XX:+UseSerialGC", "serviceAccount": "me", "env": {"A": "b"}}
    env = ENV | {"TRIMTAB_DRIVER_JAVA_OPTIONS": "-XX:+UseSerialGC"}
    conf = configuration(job(executors=pod), options(env), executors=1)
    owned = [key for key in conf if key not in DEFAULTS and not key.startswith(ROCKSDB)]
    assert len(owned) > 20
    assert [key for key in owned if not spark_faults({key: ""})] == []


def test_a_fault_names_the_key_and_says_what_to_do() -> None:
    (words,) = spark_faults({"spark.executor.memory": "4g", "spark.memory.fraction": "0.5"})
    assert words.startswith("sparkConf 'spark.executor.memory' is reserved: ")
    assert "write sizes in resources" in words
    (words,) = env_faults(["LOG_LEVEL", "JAVA_HOME"])
    assert words.startswith("env 'JAVA_HOME' is reserved: ")
