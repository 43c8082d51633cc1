"""A database, and the login with which it is reached."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.v1alpha1.kafka_client import PasswordSecret, Text

URL = r"^jdbc:postgresql://[A-Za-z0-9._:,\[\]-]+/[A-Za-z0-9_.-]+(\?[^ #]*)?$"
_URL_WORDS = (
    "write jdbc:postgresql://host:5432/database: the upsert is written for PostgreSQL; write to"
    " others with sink.foreachBatch"
)
_NO_LOGIN = "write the user into username, and its password into a Secret that passwordSecret names"
TableName = Annotated[
    str,
    Field(
        max_length=127,
        pattern=r'^[^."\s]+(\.[^."\s]+)?$',
        description="table or schema.table, in its own spelling; it must exist.",
    ),
]


class Database(ApiModel):
    """A PostgreSQL, and who reads or writes there."""

    url: str = Field(
        max_length=1024,
        description="jdbc:postgresql://host:5432/database, with options of the driver after a ?.",
        json_schema_extra=cel(
            (f"self.matches(r'{URL}')", _URL_WORDS),
            ("!self.matches('[?&](user|password)=')", _NO_LOGIN),
        ),
    )
    table: TableName
    username: Text = Field(description="The user.")
    password_secret: PasswordSecret = Field(
        alias="passwordSecret", description="Where the password is."
    )

    @field_validator("url")
    @classmethod
    def _without_login(cls, url: str) -> str:
        if any(f"{mark}{name}=" in url for mark in "?&" for name in ("user", "password")):
            raise ValueError(_NO_LOGIN)
        return url
