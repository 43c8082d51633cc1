"""How a client reaches a secured Kafka, in the shape of Strimzi's clients: TLS, and a login.

Secrets are named, never held: the pods mount the keys that are named here, and Kafka's clients read
them there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from trimtab.api.common import ApiModel, cel

SECRETS_DIRECTORY = "/etc/trimtab/secrets"
"""Where pods find the Secrets, each in a folder of its name."""

SecretName = Annotated[
    str,
    Field(
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        description="A Secret in this namespace.",
    ),
]
Key = Annotated[str, Field(max_length=253, pattern=r"^\.?[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
"""A key of a Secret, which is also the name of a file."""

Text = Annotated[str, Field(min_length=1, max_length=512, pattern=r'^[^"\\\x00-\x1f]+$')]
"""What goes between quotes into a line of Kafka's configuration: no quote, no backslash."""

_LITERAL = cel(("!self.contains('${')", "write the text itself instead of ${...}"))


class SecretKey(NamedTuple):
    """One value in one Secret."""

    secret: str
    key: str


class CertificateSecret(ApiModel):
    """A certificate of an authority."""

    secret_name: SecretName = Field(alias="secretName")
    certificate: Key = Field(description="Its key with the certificates, as PEM.")

    @property
    def held(self) -> SecretKey:
        """Where it is."""
        return SecretKey(self.secret_name, self.certificate)


class PasswordSecret(ApiModel):
    """A password."""

    secret_name: SecretName = Field(alias="secretName")
    password: Key = Field(description="Its key with the password.")

    @property
    def held(self) -> SecretKey:
        """Where it is."""
        return SecretKey(self.secret_name, self.password)


class ClientSecret(ApiModel):
    """The secret of an OAuth client."""

    secret_name: SecretName = Field(alias="secretName")
    key: Key = Field(description="Its key with the client's secret.")

    @property
    def held(self) -> SecretKey:
        """Where it is."""
        return SecretKey(self.secret_name, self.key)


class CertificateAndKey(ApiModel):
    """A certificate of one's own, with its private key."""

    secret_name: SecretName = Field(alias="secretName")
    certificate: Key = Field(description="Its key with the certificate and its chain, as PEM.")
    key: Key = Field(description="Its key with the private key, as PEM in PKCS#8.")

    @property
    def held(self) -> tuple[SecretKey, SecretKey]:
        """Where the certificate is, and where the key."""
        secret = self.secret_name
        return SecretKey(secret, self.certificate), SecretKey(secret, self.key)


class Tls(ApiModel):
    """Encrypts, and checks who the brokers are."""

    trusted_certificates: list[CertificateSecret] = Field(
        default_factory=list,
        alias="trustedCertificates",
        max_length=4,
        description="Authorities that may have signed the brokers' certificates; none: those that"
        " the image trusts.",
    )


Type = Literal["scram-sha-512", "scram-sha-256", "plain", "tls", "oauthbearer", "aws-msk-iam"]

_FIELDS = {
    "username": "username", "passwordSecret": "password_secret",
    "certificateAndKey": "certificate_and_key", "tokenEndpointUri": "token_endpoint_uri",
    "clientId": "client_id", "clientSecret": "client_secret", "scope": "scope",
    "tlsTrustedCertificates": "tls_trusted_certificates",
}  # fmt: skip
"""All fields beside the type: as written, and as the model has them."""


class _Needs(NamedTuple):
    """The fields of some types of authentication."""

    types: tuple[str, ...]
    fields: tuple[str, ...]
    more: tuple[str, ...]
    """Fields that may be left out."""
    written: str

    @property
    def words(self) -> str:
        return f"authentication {' or '.join(self.types)} takes {self.written}, and nothing else"

    def cel(self) -> tuple[str, str]:
        others = [name for name in _FIELDS if name not in (*self.fields, *self.more)]
        fit = [f"has(self.{name})" for name in self.fields]
        fit += [f"!has(self.{name})" for name in others]
        return f"!(self.type in {list(self.types)}) || ({' && '.join(fit)})", self.words


_NEEDS = (
    _Needs(
        ("scram-sha-512", "scram-sha-256", "plain"), ("username", "passwordSecret"), (),
        "username and passwordSecret: {secretName, password}",
    ),
    _Needs(
        ("tls",), ("certificateAndKey",), (), "certificateAndKey: {secretName, certificate, key}"
    ),
    _Needs(
        ("oauthbearer",), ("tokenEndpointUri", "clientId", "clientSecret"),
        ("scope", "tlsTrustedCertificates"),
        "tokenEndpointUri, clientId, clientSecret: {secretName, key} and perhaps scope and"
        " tlsTrustedCertificates",
    ),
    _Needs(("aws-msk-iam",), (), (), "no further field"),
)  # fmt: skip


class Authentication(ApiModel):
    """Who the pipeline is, for Kafka."""

    model_config = {"json_schema_extra": cel(*(needs.cel() for needs in _NEEDS))}

    type: Type = Field(
        description="scram-sha-512, scram-sha-256 and plain: a name and a password. tls: a"
        " certificate. oauthbearer: a token for the client's id and secret. aws-msk-iam: the"
        " identity of the pods' service accounts in AWS."
    )
    username: Text | None = Field(None, description="The name.", json_schema_extra=_LITERAL)
    password_secret: PasswordSecret | None = Field(
        None, alias="passwordSecret", description="Where the password is."
    )
    certificate_and_key: CertificateAndKey | None = Field(
        None, alias="certificateAndKey", description="Where the certificate is."
    )
    token_endpoint_uri: Annotated[str, Field(pattern=r'^https?://[^"\\\s$]+$')] | None = Field(
        None, alias="tokenEndpointUri", max_length=1024, description="Where tokens are issued."
    )
    client_id: Text | None = Field(
        None, alias="clientId", description="Of the OAuth client.", json_schema_extra=_LITERAL
    )
    client_secret: ClientSecret | None = Field(
        None, alias="clientSecret", description="Where the secret of the OAuth client is."
    )
    scope: Text | None = Field(
        None, description="The scope to ask for.", json_schema_extra=_LITERAL
    )
    tls_trusted_certificates: list[CertificateSecret] | None = Field(
        None,
        alias="tlsTrustedCertificates",
        min_length=1,
        max_length=1,
        description="Authorities that may have signed the certificate of the token endpoint, in one"
        " key; absent: those that the image trusts.",
    )

    @model_validator(mode="after")
    def _fields_of_the_type(self) -> Authentication:
        for needs in _NEEDS:
            if self.type in needs.types:
                said = {name for name, own in _FIELDS.items() if getattr(self, own) is not None}
                if not set(needs.fields) <= said <= {*needs.fields, *needs.more}:
                    raise ValueError(needs.words)
        for text in (self.username, self.client_id, self.scope):
            if text and "${" in text:
                raise ValueError("write the text itself instead of ${...}")
        return self


OPEN = ("scram-sha-512", "scram-sha-256")
"""Types that do not need TLS: the password itself is not sent."""

NEEDS_TLS = (
    "authentication needs tls, or its secrets would be sent in the open: write tls:"
    " {trustedCertificates: [{secretName, certificate}]}, or tls: {} for authorities that the image"
    " trusts"
)
NEEDS_TLS_RULE = (
    f"!has(self.authentication) || self.authentication.type in {list(OPEN)} || has(self.tls)",
    NEEDS_TLS,
)
"""For whatever names a Kafka."""


class Security(ApiModel):
    """TLS and login of one connection."""

    tls: Tls | None = Field(None, description="Absent: nothing is encrypted.")
    authentication: Authentication | None = Field(None, description="Absent: no login.")

    @property
    def protocol(self) -> str:
        """Kafka's own name for it."""
        sasl = self.authentication is not None and self.authentication.type != "tls"
        return ("SASL_" if sasl else "") + ("SSL" if self.tls else "PLAINTEXT")

    @property
    def secret_keys(self) -> tuple[SecretKey, ...]:
        """All that is read from Secrets."""
        return tuple(dict.fromkeys([*_of_tls(self.tls), *_of_login(self.authentication)]))

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        login = self.authentication
        if login and login.type not in OPEN and self.tls is None:
            raise ValueError(NEEDS_TLS)
        return self


def _of_tls(tls: Tls | None) -> Iterator[SecretKey]:
    for each in tls.trusted_certificates if tls else ():
        yield each.held


def _of_login(login: Authentication | None) -> Iterator[SecretKey]:
    if login is None:
        return
    if login.password_secret:
        yield login.password_secret.held
    if login.certificate_and_key:
        yield from login.certificate_and_key.held
    if login.client_secret:
        yield login.client_secret.held
    for trusted in login.tls_trusted_certificates or ():
        yield trusted.held
