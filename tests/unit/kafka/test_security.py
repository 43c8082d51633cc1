"""A secured connection: the Java client gets references, the driver's own what the files hold."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tests.bounds import AUTHORITY, OAUTH, PAIR, SCRAM

from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka_client import Security
from trimtab.errors import CredentialsInvalidError, CredentialsMissingError
from trimtab.kafka import java, librdkafka
from trimtab.kafka.secrets import VARIABLE, fingerprints

SECRETS = {
    "p": "pass-word", "k": "client-secret", "ca.crt": "-----BEGIN CERTIFICATE-----\nca\n",
    "tls.crt": "-----BEGIN CERTIFICATE-----\nown\n",
    "tls.key": "-----BEGIN PRIVATE KEY-----\nkey\n",
}  # fmt: skip
TLS: dict[str, Any] = {"trustedCertificates": AUTHORITY}
OAUTH_TLS = OAUTH | {"scope": "a b", "tlsTrustedCertificates": AUTHORITY}
CERTIFICATE = {"type": "tls", "certificateAndKey": PAIR}
LOGINS = [SCRAM, SCRAM | {"type": "scram-sha-256"}, SCRAM | {"type": "plain"}, OAUTH_TLS,
          CERTIFICATE]  # fmt: skip


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "s"
    folder.mkdir()
    for name, text in SECRETS.items():
        (folder / name).write_text(text)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return folder


def connection(authentication: Any = None, tls: Any = TLS) -> KafkaConnection:
    said = {"tls": tls, "authentication": authentication}
    return KafkaConnection("a:9093,b:9093", Security.model_validate(said))


def test_a_plain_connection_says_the_same_to_every_client() -> None:
    plain = KafkaConnection("a:9092,b:9092", options={"client.rack": "z1"})
    said = {"bootstrap.servers": "a:9092,b:9092", "client.rack": "z1"}
    assert java.properties(plain) == librdkafka.properties(plain) == said
    assert java.spark_options(plain) == {f"kafka.{name}": value for name, value in said.items()}


MODULES = "org.apache.kafka.common.security"
REFERENCE = "${dir:/etc/trimtab/secrets/s:"


@pytest.mark.parametrize(
    ("kind", "mechanism", "module"),
    [
        ("scram-sha-512", "SCRAM-SHA-512", "scram.ScramLoginModule"),
        ("scram-sha-256", "SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("plain", "PLAIN", "plain.PlainLoginModule"),
    ],
)
def test_a_password_is_a_reference_for_spark(kind: str, mechanism: str, module: str) -> None:
    found = java.properties(connection(SCRAM | {"type": kind}))
    assert found == {
        "bootstrap.servers": "a:9093,b:9093",
        "security.protocol": "SASL_SSL",
        "config.providers": "dir",
        "config.providers.dir.class": (
            "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
        ),
        "config.providers.dir.param.allowed.paths": "/etc/trimtab/secrets",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": f"{REFERENCE}ca.crt}}",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": (
            f'{MODULES}.{module} required username="u" password="{REFERENCE}p}}";'
        ),
    }


def test_a_certificate_of_ones_own_is_a_reference_too() -> None:
    found = java.properties(connection(CERTIFICATE))
    assert found["security.protocol"] == "SSL"
    assert found["ssl.keystore.type"] == "PEM"
    assert found["ssl.keystore.certificate.chain"] == f"{REFERENCE}tls.crt}}"
    assert found["ssl.keystore.key"] == f"{REFERENCE}tls.key}}"
    assert not [name for name in found if name.startswith("sasl")]


def test_a_client_of_an_issuer_gets_its_tokens_there() -> None:
    found = java.properties(connection(OAUTH_TLS))
    assert found["sasl.oauthbearer.token.endpoint.url"] == "https://issuer/token"
    assert found["sasl.login.callback.handler.class"].startswith(f"{MODULES}.oauthbearer.")
    assert found["sasl.jaas.config"] == (
        f"{MODULES}.oauthbearer.OAuthBearerLoginModule required"
        f' clientId="c" clientSecret="{REFERENCE}k}}" scope="a b"'
        ' ssl.truststore.type="PEM" ssl.truststore.location="/etc/trimtab/secrets/s/ca.crt";'
    )


def test_the_identity_of_a_pod_in_aws_needs_no_secret() -> None:
    found = java.properties(connection({"type": "aws-msk-iam"}, tls={}))
    assert found == {
        "bootstrap.servers": "a:9093,b:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
        "sasl.client.callback.handler.class": (
            "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
        ),
    }


def test_without_tls_a_password_is_only_proved() -> None:
    assert java.properties(connection(SCRAM, tls=None))["security.protocol"] == "SASL_PLAINTEXT"


def test_several_authorities_and_other_providers_stand_beside_each_other() -> None:
    two = {"trustedCertificates": [*AUTHORITY, {"secretName": "s", "certificate": "b"}]}
    more = {"config.providers": "env", "client.rack": "${env:ZONE}"}
    found = java.spark_options(connection(SCRAM, tls=two), more)
    assert found["kafka.config.providers"] == "env,dir"
    assert found["kafka.client.rack"] == "${env:ZONE}"
    assert found["kafka.ssl.truststore.certificates"] == f"{REFERENCE}ca.crt}}\n{REFERENCE}b}}"


@pytest.mark.parametrize("login", LOGINS, ids=[str(login["type"]) for login in LOGINS])
def test_no_secret_is_in_what_spark_gets(held: Path, login: dict[str, Any]) -> None:
    told = json.dumps(java.spark_options(connection(login)))
    assert [name for name, text in SECRETS.items() if text.strip() in told] == []


def test_the_drivers_client_gets_what_the_files_hold(held: Path) -> None:
    by_name = librdkafka.properties(connection(SCRAM))
    assert by_name == {
        "bootstrap.servers": "a:9093,b:9093", "security.protocol": "SASL_SSL",
        "ssl.ca.pem": SECRETS["ca.crt"], "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u",
        "sasl.password": "pass-word",
    }  # fmt: skip
    by_certificate = librdkafka.properties(connection(CERTIFICATE, tls={}))
    assert by_certificate == {
        "bootstrap.servers": "a:9093,b:9093", "security.protocol": "SSL",
        "ssl.certificate.location": str(held / "tls.crt"),
        "ssl.key.location": str(held / "tls.key"),
    }  # fmt: skip
    by_token = librdkafka.properties(connection(OAUTH_TLS))
    assert by_token["sasl.oauthbearer.client.secret"] == "client-secret"
    assert by_token["https.ca.pem"] == SECRETS["ca.crt"]
    assert by_token["sasl.oauthbearer.scope"] == "a b"


def test_a_token_of_aws_is_signed_in_the_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    iam = connection({"type": "aws-msk-iam"}, tls={})
    with pytest.raises(CredentialsInvalidError, match="aws-msk-iam-sasl-signer-python"):
        librdkafka.properties(iam)

    class Provider:
        @staticmethod
        def generate_auth_token(region: str) -> tuple[str, int]:
            return f"token of {region}", 5000

    signer = types.ModuleType(librdkafka.SIGNER)
    signer.MSKAuthTokenProvider = Provider  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, librdkafka.SIGNER, signer)
    monkeypatch.delenv("AWS_REGION", raising=False)
    with pytest.raises(CredentialsInvalidError, match="AWS_REGION is not set"):
        librdkafka.properties(iam)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    found = librdkafka.properties(iam)
    assert (found["sasl.mechanism"], found["security.protocol"]) == ("OAUTHBEARER", "SASL_SSL")
    assert found["oauth_cb"]("") == ("token of eu-west-1", 5.0)


@pytest.mark.parametrize(
    ("key", "text", "login", "words"),
    [
        ("p", "pass-word\n", SCRAM, "key 'p' of Secret 's' has a line break, a quote"),
        ("p", 'pass"word', SCRAM, "has a line break, a quote or a backslash"),
        ("p", "pass\\word", SCRAM, "has a line break, a quote or a backslash"),
        ("p", "", SCRAM, "is empty"),
        ("k", "client-secret\n", OAUTH, "key 'k' of Secret 's' has a line break"),
        ("ca.crt", "nonsense", SCRAM, "key 'ca.crt' of Secret 's' is no certificate in PEM"),
        ("tls.crt", "nonsense", CERTIFICATE, "key 'tls.crt' of Secret 's' is no certificate"),
        ("tls.key", "-----BEGIN RSA PRIVATE KEY-----", CERTIFICATE, "encoding: PKCS8"),
    ],
)
def test_what_cannot_be_used_is_named_and_not_shown(
    held: Path, key: str, text: str, login: dict[str, Any], words: str
) -> None:
    (held / key).write_text(text)
    with pytest.raises(CredentialsInvalidError, match=words) as caught:
        librdkafka.properties(connection(login))
    assert not text or text not in str(caught.value)


def test_what_is_no_text_cannot_be_used(held: Path) -> None:
    (held / "p").write_bytes(b"\xff\xfe")
    with pytest.raises(CredentialsInvalidError, match="key 'p' of Secret 's' is no text"):
        librdkafka.properties(connection(SCRAM))


@pytest.mark.parametrize(
    ("key", "login"),
    [("p", SCRAM), ("k", OAUTH_TLS), ("ca.crt", SCRAM), ("tls.crt", CERTIFICATE),
     ("tls.key", CERTIFICATE)],
)  # fmt: skip
def test_what_is_missing_is_named(held: Path, key: str, login: dict[str, Any]) -> None:
    (held / key).unlink()
    with pytest.raises(CredentialsMissingError, match=f"key '{key}' of Secret 's' does not exist"):
        librdkafka.properties(connection(login))


def test_a_fingerprint_changes_with_the_value_alone(held: Path) -> None:
    keys = Security.model_validate({"tls": TLS, "authentication": SCRAM}).secret_keys
    before = fingerprints(keys)
    assert fingerprints(keys) == before
    assert b"pass-word" not in before.values()
    (held / "p").write_text("other")
    after = fingerprints(keys)
    assert [key.key for key in keys if after[key] != before[key]] == ["p"]
    (held / "p").unlink()
    assert None in fingerprints(keys).values()
