"""TLS and logins of a KafkaCluster, and what the Secrets are called that hold them.

All of them are in the cluster's namespace and belong to it. Deleting one has it made anew.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, Name, cel
from trimtab.api.v1alpha1.kafka_client import (
    Authentication,
    CertificateSecret,
    PasswordSecret,
    Security,
    Tls,
)

PIPELINES = "pipelines"
"""The user that the pipelines of the namespace log in as."""
TRUSTED, USERNAME, PASSWORD = "ca.crt", "username", "password"
"""Keys of the Secrets for clients."""
_ONLY_TLS = "write tls: true, or leave security out: a login without TLS would not be protected"
_NO_LOGINS = "users log in by SCRAM: write scram: true, or leave users out"
_RESERVED = f"the user {PIPELINES} is there already, for the pipelines of this namespace"


class KafkaSecurity(ApiModel):
    """TLS, and logins."""

    model_config = {
        "json_schema_extra": cel(
            ("self.tls", _ONLY_TLS),
            ("self.scram || !has(self.users) || size(self.users) == 0", _NO_LOGINS),
        )
    }

    tls: bool = Field(
        True,
        description="Clients and brokers encrypt, with an authority of this cluster's own; its"
        " certificate is in the Secret <name>-kafka-ca-cert.",
    )
    scram: bool = Field(
        True,
        description="Clients log in by SCRAM-SHA-512. Pipelines that name this cluster do so by"
        " themselves.",
    )
    users: list[
        Annotated[Name, Field(json_schema_extra=cel((f"self != '{PIPELINES}'", _RESERVED)))]
    ] = Field(
        default_factory=list,
        max_length=20,
        description="Further users. The login of each is in the Secret <name>-kafka-user-<user>.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )

    @model_validator(mode="after")
    def _consistent(self) -> KafkaSecurity:
        if not self.tls:
            raise ValueError(_ONLY_TLS)
        if self.users and not self.scram:
            raise ValueError(_NO_LOGINS)
        if PIPELINES in self.users:
            raise ValueError(_RESERVED)
        return self

    @property
    def logins(self) -> tuple[str, ...]:
        """Every user that there should be."""
        return (PIPELINES, *sorted(set(self.users))) if self.scram else ()


def authority_secret(cluster: str) -> str:
    """The authority with its private key; no pod mounts it."""
    return f"{cluster}-kafka-authority"


def trusted_secret(cluster: str) -> str:
    """The certificates that clients trust."""
    return f"{cluster}-kafka-ca-cert"


def broker_secret(cluster: str) -> str:
    """The brokers' certificate, with its key."""
    return f"{cluster}-kafka-broker"


def user_secret(cluster: str, user: str) -> str:
    """A user's name and password."""
    return f"{cluster}-kafka-user-{user}"


def client(cluster: str, asked: KafkaSecurity | None) -> Security:
    """How the pipelines of the namespace reach a cluster."""
    if asked is None:
        return Security()
    trusted = CertificateSecret(secret_name=trusted_secret(cluster), certificate=TRUSTED)
    login = None
    if asked.scram:
        held = PasswordSecret(secret_name=user_secret(cluster, PIPELINES), password=PASSWORD)
        login = Authentication(type="scram-sha-512", username=PIPELINES, password_secret=held)
    return Security(tls=Tls(trusted_certificates=[trusted]), authentication=login)
