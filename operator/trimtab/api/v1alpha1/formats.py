"""How the values of a source's records are decoded."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from trimtab.api.common import ApiModel, cel, require_one
from trimtab.api.v1alpha1.kafka_client import CertificateSecret, PasswordSecret, SecretKey, Text

RECORD = "record"
"""The column of the decoded value."""

ERROR = "error"
"""The column that marks a row for the dead letters; null where nothing is wrong."""

MOST_ASIDE = 10_000
"""Records of a batch that cannot be decoded and are kept until they are written elsewhere."""

_JSON_WORDS = "write the fields and types in Spark's DDL, like id STRING NOT NULL, amount DOUBLE"
_AVRO_WORDS = 'write a record schema of Avro as JSON, like {"type": "record", "name": ...}'
_OBJECT = r"^\s*\{"


class JsonFormat(ApiModel):
    """Each value is one JSON document."""

    schema_: str = Field(
        alias="schema",
        min_length=1,
        max_length=16384,
        description="The fields and types, in Spark's DDL. A field that is NOT NULL must be there.",
        json_schema_extra=cel((f"!self.matches(r'{_OBJECT}')", _JSON_WORDS)),
    )

    @field_validator("schema_")
    @classmethod
    def _ddl(cls, schema: str) -> str:
        if schema.lstrip().startswith("{"):
            raise ValueError(_JSON_WORDS)
        return schema


_URL_WORDS = "write the address of the registry, like https://registry:8081"
_NO_LOGIN = "anyone can read a password in a URL: write schemaRegistry.authentication"
_NEEDS_HTTPS = "authentication needs an https:// address, or the password would be sent in the open"


class RegistryLogin(ApiModel):
    """A name and a password (HTTP Basic)."""

    username: Text = Field(description="The name, or the key of an API.")
    password_secret: PasswordSecret = Field(
        alias="passwordSecret", description="Where the password is."
    )


class SchemaRegistry(ApiModel):
    """A registry that speaks the REST protocol of Confluent's."""

    model_config = {
        "json_schema_extra": cel(
            ("!has(self.authentication) || self.url.startsWith('https://')", _NEEDS_HTTPS)
        )
    }
    url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")] = Field(
        max_length=1024,
        description="Its address, like https://registry:8081.",
        json_schema_extra=cel(("!self.matches('//[^/]*@')", _NO_LOGIN)),
    )
    authentication: RegistryLogin | None = Field(None, description="Absent: no login.")
    trusted_certificates: list[CertificateSecret] = Field(
        default_factory=list,
        alias="trustedCertificates",
        max_length=4,
        description="Authorities that may have signed its certificate; none: those that the image"
        " trusts.",
    )

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What is read from Secrets."""
        password = [self.authentication.password_secret.held] if self.authentication else []
        return (*password, *(each.held for each in self.trusted_certificates))

    @model_validator(mode="after")
    def _no_password_in_the_open(self) -> Self:
        if "@" in self.url.split("/")[2]:
            raise ValueError(_NO_LOGIN)
        if self.authentication and not self.url.startswith("https://"):
            raise ValueError(_NEEDS_HTTPS)
        return self


class AvroFormat(ApiModel):
    """Each value is one record in Avro's binary encoding."""

    schema_: str = Field(
        alias="schema",
        min_length=1,
        max_length=65536,
        description="The schema to read with, as JSON. Without a registry it is also the one that"
        " the values were written with.",
        json_schema_extra=cel((f"self.matches(r'{_OBJECT}')", _AVRO_WORDS)),
    )
    schema_registry: SchemaRegistry | None = Field(
        None,
        alias="schemaRegistry",
        description="Each value begins with a zero byte and the id of the schema that it was"
        " written with, which is in this registry. Absent: values are Avro alone.",
    )

    @field_validator("schema_")
    @classmethod
    def _json(cls, schema: str) -> str:
        if not schema.lstrip().startswith("{"):
            raise ValueError(_AVRO_WORDS)
        return schema


class ProtobufFormat(ApiModel):
    """Each value is one message of Protocol Buffers."""

    descriptor_set: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/\s]+={0,2}\s*$")] = Field(
        alias="descriptorSet",
        max_length=65536,
        description="What protoc --include_imports --descriptor_set_out writes, in base64.",
    )
    message: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")] = Field(
        max_length=512, description="The full name of the message, like shop.v1.Order."
    )
    framed: bool = Field(
        False,
        description="Each value begins with a zero byte, the id of a schema and the place of the"
        " message in it, as serializers of Confluent write it.",
    )


_ONE = (
    "write exactly one format: json: {schema: ...}, avro: {schema: ...} or protobuf:"
    " {descriptorSet: ..., message: ...}"
)


class Format(ApiModel):
    """What the values of records are: exactly one of json, avro and protobuf."""

    model_config = {
        "json_schema_extra": cel(
            ("[has(self.json), has(self.avro), has(self.protobuf)].exists_one(f, f)", _ONE)
        )
    }
    json_: JsonFormat | None = Field(None, alias="json")
    avro: AvroFormat | None = None
    protobuf: ProtobufFormat | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        require_one((self.json_, self.avro, self.protobuf), _ONE)
        return self

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """What is read from Secrets."""
        registry = self.avro.schema_registry if self.avro else None
        return registry.secret_keys if registry else ()
