"""What happens to the records: SQL, Python, or a class of the JVM."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from trimtab.api.common import (
    NO_PASSWORD,
    ApiModel,
    Name,
    cel,
    exactly_one,
    function_rule,
    require_one,
)
from trimtab.api.v1alpha1.kafka_client import Key
from trimtab.api.v1alpha1.tables import Tables

MAX_SHUFFLE_PARTITIONS = 1000
LOCAL = "file:"
_NOT_LOCAL = "a pod has no such file: write a URI of an object store, or use configMap or volumes"
CLASS = r"^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$"


class RequirementsFile(ApiModel):
    """A key of a ConfigMap that names Python packages, with their versions and hashes."""

    name: Name = Field(description="A ConfigMap in this namespace.")
    key: Key = Field("requirements.txt", description="Its key with the file.")


class Requirements(ApiModel):
    """Python packages that driver and executors install before they start."""

    config_map: RequirementsFile = Field(
        alias="configMap", description="Where the file is, each line name==version --hash=..."
    )


_ONE_PYTHON = (
    "write either module: clicks:transform, a function, or script: clicks.py, which hands over its"
    " stream with Pipeline.current().write(frame)"
)
_ARGS = "args are those of a script: write params for a function, or remove them"


class Archive(ApiModel):
    """A zip or a wheel of Python modules."""

    uri: Annotated[str, Field(pattern=r"^[a-z][a-z0-9+.-]*://[^\s?#]+\.(zip|whl)$")] = Field(
        max_length=1024,
        description="Where it is, like s3a://lake/jobs/orders-1.2-py3-none-any.whl.",
        json_schema_extra=cel((f"!self.startsWith('{LOCAL}')", _NOT_LOCAL), NO_PASSWORD),
    )
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] = Field(
        max_length=64,
        description="Its hash, as sha256sum prints it: what was reviewed is what runs.",
    )

    @field_validator("uri")
    @classmethod
    def _remote(cls, uri: str) -> str:
        if uri.startswith(LOCAL):
            raise ValueError(_NOT_LOCAL)
        return uri


class ModulesImage(ApiModel):
    """An image whose folder has Python modules."""

    image: Annotated[str, Field(pattern=r"^[^\s@]+@sha256:[0-9a-f]{64}$")] = Field(
        max_length=512,
        description="The image by its digest, like registry.example/jobs@sha256:..., with `cp`.",
    )
    path: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._-]+)+$")] = Field(
        "/modules",
        max_length=256,
        description="The folder in it, with zips, wheels and .py files.",
    )


class PythonTransform(ApiModel):
    """A function `transform(df, params) -> DataFrame`, or a script."""

    model_config = {
        "json_schema_extra": cel(
            ("has(self.module) != has(self.script)", _ONE_PYTHON),
            ("!has(self.args) || has(self.script)", _ARGS),
        )
    }

    module: str | None = Field(
        None,
        max_length=253,
        description="module:function, from the image or from configMap.",
        json_schema_extra=function_rule("clicks:transform"),
    )
    script: str | None = Field(
        None,
        max_length=253,
        pattern=r"^[A-Za-z0-9_./-]+\.py$",
        description="A script, from the image or from configMap, that reads and writes by"
        " Pipeline.current() of the package trimtab.",
    )
    args: list[Annotated[str, Field(max_length=1024)]] | None = Field(
        None, min_length=1, max_length=64, description="Arguments of the script."
    )
    config_map: Name | None = Field(
        None,
        alias="configMap",
        description="A ConfigMap here whose keys are .py files, and zips or wheels of them.",
    )
    params: dict[str, Annotated[str, Field(max_length=1024)]] = Field(
        default_factory=dict, max_length=32, description="Handed to the function as strings."
    )
    requirements: Requirements | None = Field(
        None, description="Packages that the image lacks, installed at each start of a pod."
    )

    archives: list[Archive] = Field(
        default_factory=list,
        max_length=4,
        description="Zips and wheels of modules in an object store, read at each start.",
    )

    modules_from: ModulesImage | None = Field(
        None, alias="modulesFrom", description="An image with modules, copied before the driver."
    )

    @model_validator(mode="after")
    def _either(self) -> Self:
        require_one((self.module, self.script), _ONE_PYTHON)
        if self.args is not None and self.script is None:
            raise ValueError(_ARGS)
        return self


class JvmTransform(ApiModel):
    """A class that is a `java.util.function.BiFunction` of a frame and params to a frame."""

    class_: str = Field(alias="class", max_length=253, pattern=CLASS, description="Its whole name.")
    jar: str | None = Field(
        None,
        max_length=512,
        pattern=r"^/[^,\s]+\.jar$",
        description="Path of its jar in the image or a volume; absent: in /opt/spark/jars.",
    )
    params: dict[str, Annotated[str, Field(max_length=1024)]] = Field(
        default_factory=dict, max_length=32, description="Passed to it as they are."
    )


ONE_TRANSFORM = (
    "write exactly one transform: sql: SELECT ... FROM source,"
    " python: {module: my_module:transform}, or jvm: {class: com.example.Clicks}"
)


class Transform(ApiModel):
    """What happens to the records: exactly one of sql, python and jvm."""

    model_config = {"json_schema_extra": cel(exactly_one(("sql", "python", "jvm"), ONE_TRANSFORM))}
    sql: str | None = Field(
        None, max_length=16384, description="A query on the view `source`; returns key and value."
    )
    python: PythonTransform | None = None
    jvm: JvmTransform | None = None
    tables: Tables = Field(
        default_factory=list,
        description="Tables to join records with, each a view of its name beside `source`.",
    )
    shuffle_partitions: int | None = Field(
        None,
        alias="shufflePartitions",
        ge=1,
        le=MAX_SHUFFLE_PARTITIONS,
        description="Partitions of the state of an aggregation or deduplication, each a task in"
        " every batch; a checkpoint keeps its initial number. Absent: as many as the topics have at"
        " the first start, at most 64.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        require_one((self.sql, self.python, self.jvm), ONE_TRANSFORM)
        return self
