"""A transform in Java or Scala: a class in a jar."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trimtab.api.common import ApiModel

CLASS = r"^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$"


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
