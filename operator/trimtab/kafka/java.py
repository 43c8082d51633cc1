"""A connection for Kafka's Java client, and so for Spark: secrets by reference only.

Kafka's own DirectoryConfigProvider reads the mounted files where the client is made. Whatever Spark
keeps, shows or logs of these options holds references.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka_client import Authentication, SecretKey, Tls
from trimtab.kafka import secrets

Properties = dict[str, str]

PROVIDERS = "config.providers"
_COMMON = "org.apache.kafka.common"
_MODULES = f"{_COMMON}.security"
MECHANISMS = {
    "scram-sha-512": ("SCRAM-SHA-512", f"{_MODULES}.scram.ScramLoginModule"),
    "scram-sha-256": ("SCRAM-SHA-256", f"{_MODULES}.scram.ScramLoginModule"),
    "plain": ("PLAIN", f"{_MODULES}.plain.PlainLoginModule"),
    "oauthbearer": ("OAUTHBEARER", f"{_MODULES}.oauthbearer.OAuthBearerLoginModule"),
    "aws-msk-iam": ("AWS_MSK_IAM", "software.amazon.msk.auth.iam.IAMLoginModule"),
}
"""Mechanism and login module of each type with a login over SASL."""


def spark_options(connection: KafkaConnection, more: Mapping[str, str] | None = None) -> Properties:
    """The options of Spark's Kafka source or sink; `more` are further properties of its client."""
    own, rest = properties(connection), dict(more or {})
    both = [each[PROVIDERS] for each in (rest, own) if PROVIDERS in each]
    merged = rest | own | ({PROVIDERS: ",".join(both)} if both else {})
    return {f"kafka.{name}": value for name, value in merged.items()}


def properties(connection: KafkaConnection) -> Properties:
    """The properties of a client."""
    security = connection.security
    found = {**connection.options, "bootstrap.servers": connection.servers}
    protocol = security.protocol
    if protocol != "PLAINTEXT":
        found["security.protocol"] = protocol
    if security.secret_keys:
        found |= {
            PROVIDERS: "dir",
            f"{PROVIDERS}.dir.class": f"{_COMMON}.config.provider.DirectoryConfigProvider",
            f"{PROVIDERS}.dir.param.allowed.paths": str(secrets.directory()),
        }
    return found | _tls(security.tls) | _login(security.authentication)


def _reference(key: SecretKey) -> str:
    return f"${{dir:{secrets.directory() / key.secret}:{key.key}}}"


def _tls(tls: Tls | None) -> Properties:
    trusted = [_reference(each.held) for each in tls.trusted_certificates] if tls else []
    if not trusted:
        return {}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "\n".join(trusted)}


def _login(login: Authentication | None) -> Properties:
    if login is None:
        return {}
    if pair := login.certificate_and_key:
        certificate, key = (_reference(each) for each in pair.held)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": certificate,
            "ssl.keystore.key": key,
        }
    mechanism, module = MECHANISMS[login.type]
    line = "".join(f' {name}="{value}"' for name, value in _fields(login).items())
    found = {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} required{line};"}
    if login.token_endpoint_uri:
        found["sasl.oauthbearer.token.endpoint.url"] = login.token_endpoint_uri
        found["sasl.login.callback.handler.class"] = (
            f"{_MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"
        )
    if login.type == "aws-msk-iam":
        found["sasl.client.callback.handler.class"] = (
            "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
        )
    return found


def _fields(login: Authentication) -> Properties:
    """What goes into the JAAS line. Each value fits between quotes: the models see to it."""
    if login.username and login.password_secret:
        return {"username": login.username, "password": _reference(login.password_secret.held)}
    if not (login.client_id and login.client_secret):
        return {}
    found = {"clientId": login.client_id, "clientSecret": _reference(login.client_secret.held)}
    if login.scope:
        found["scope"] = login.scope
    for trusted in login.tls_trusted_certificates or ():
        found["ssl.truststore.type"] = "PEM"
        found["ssl.truststore.location"] = secrets.path(trusted.held)  # lines do not fit in a line
    return found
