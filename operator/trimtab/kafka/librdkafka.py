"""A connection for librdkafka, the client of the driver itself: it gets what the files hold."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka_client import Authentication, CertificateSecret, SecretKey, Tls
from trimtab.errors import CredentialsInvalidError
from trimtab.kafka import secrets
from trimtab.kafka.java import MECHANISMS

Properties = dict[str, Any]

SIGNER = "aws_msk_iam_sasl_signer"
"""The module that signs tokens for Amazon MSK; images for it bring it."""


def properties(connection: KafkaConnection) -> Properties:
    """The properties of a client.

    Raises:
        CredentialsMissingError: a Secret or a key is not there.
        CredentialsInvalidError: it is something else than the spec says.
    """
    security = connection.security
    found: Properties = {**connection.options, "bootstrap.servers": connection.servers}
    protocol = security.protocol
    if protocol != "PLAINTEXT":
        found["security.protocol"] = protocol
    return found | _tls(security.tls) | _login(security.authentication)


def _tls(tls: Tls | None) -> Properties:
    trusted = tls.trusted_certificates if tls else []
    return {"ssl.ca.pem": _bundle(trusted)} if trusted else {}


def _bundle(trusted: list[CertificateSecret]) -> str:
    return "\n".join(secrets.certificates(each.held) for each in trusted)


def _login(login: Authentication | None) -> Properties:
    if login is None:
        return {}
    if pair := login.certificate_and_key:
        certificate, key = pair.held
        secrets.certificates(certificate)
        secrets.private_key(key)
        # by their files: of a certificate in a property it would take the first, not the chain
        return {
            "ssl.certificate.location": secrets.path(certificate),
            "ssl.key.location": secrets.path(key),
        }
    if login.password_secret:
        return {
            "sasl.mechanism": MECHANISMS[login.type][0],
            "sasl.username": login.username,
            "sasl.password": secrets.password(login.password_secret.held),
        }
    if login.client_secret:
        return _oauth(login, login.client_secret.held)
    return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": _msk_token()}


def _oauth(login: Authentication, held: SecretKey) -> Properties:
    found = {
        "sasl.mechanism": MECHANISMS[login.type][0],
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": login.token_endpoint_uri,
        "sasl.oauthbearer.client.id": login.client_id,
        "sasl.oauthbearer.client.secret": secrets.password(held),
    }
    if login.scope:
        found["sasl.oauthbearer.scope"] = login.scope
    if trusted := login.tls_trusted_certificates:
        found["https.ca.pem"] = _bundle(trusted)
    return found


def _msk_token() -> Callable[[str], tuple[str, float]]:
    """What signs tokens with the pod's identity in AWS."""
    region = os.environ.get("AWS_REGION")
    try:
        signer = importlib.import_module(SIGNER)
    except ImportError as error:
        raise CredentialsInvalidError(
            "authentication aws-msk-iam needs an image with the Python package"
            " aws-msk-iam-sasl-signer-python and the jar aws-msk-iam-auth: build one on trimtab's"
        ) from error
    if not region:
        raise CredentialsInvalidError(
            "AWS_REGION is not set in the driver's pod: it has no identity in AWS. Associate one"
            " with its service account, or set AWS_REGION in spec.env"
        )

    def token(_config: str) -> tuple[str, float]:
        signed, expires_ms = signer.MSKAuthTokenProvider.generate_auth_token(region)
        return str(signed), float(expires_ms) / 1000

    return token
