"""Environment variables of driver and executors, by value or from a Secret or a ConfigMap."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel
from trimtab.api.reserved import ENV_NAME, ENV_RULE
from trimtab.api.v1alpha1.kafka_client import Key, SecretName

ONE_VALUE = "write either value: text, or valueFrom: a key of a Secret or of a ConfigMap"
ONE_SOURCE = "write either secretKeyRef or configMapKeyRef: {name, key}"


class KeyRef(ApiModel):
    """A key of a Secret or of a ConfigMap in this namespace. Pods wait until it is there."""

    name: SecretName = Field(description="The object, in this namespace.")
    key: Key = Field(description="Its key.")


class EnvSource(ApiModel):
    """Where the value of a variable is."""

    model_config = {
        "json_schema_extra": cel(
            ("has(self.secretKeyRef) != has(self.configMapKeyRef)", ONE_SOURCE),
        )
    }
    secret_key_ref: KeyRef | None = Field(
        None, alias="secretKeyRef", description="A key of a Secret."
    )
    config_map_key_ref: KeyRef | None = Field(
        None, alias="configMapKeyRef", description="A key of a ConfigMap."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.secret_key_ref is None) == (self.config_map_key_ref is None):
            raise ValueError(ONE_SOURCE)
        return self

    def to_dict(self) -> dict[str, Any]:
        """As a container has it."""
        return self.model_dump(by_alias=True, exclude_none=True)


class EnvVar(ApiModel):
    """One environment variable of driver and executors."""

    model_config = {
        "json_schema_extra": cel(("has(self.value) != has(self.valueFrom)", ONE_VALUE)),
    }
    name: str = Field(
        max_length=128,
        pattern=ENV_NAME,
        description="Name of the variable; some are reserved.",
        json_schema_extra=cel(ENV_RULE),
    )
    value: str | None = Field(None, max_length=4096, description="Its literal value.")
    value_from: EnvSource | None = Field(
        None, alias="valueFrom", description="Where its value is, in place of `value`."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.value is None) == (self.value_from is None):
            raise ValueError(ONE_VALUE)
        return self

    def to_dict(self) -> dict[str, Any]:
        """As a container has it."""
        if self.value_from is not None:
            return {"name": self.name, "valueFrom": self.value_from.to_dict()}
        return {"name": self.name, "value": self.value}
