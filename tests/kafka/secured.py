"""A broker behind TLS with every kind of login, what its clients need, and an issuer of tokens.

The administrator's own listener is plain text, and whoever uses it may do everything. Everybody
else needs rights: the broker has an authorizer.
"""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from dev.kafka import KafkaBroker
from dev.localcluster.controlplane import free_ports

USER = "clicks"
PASSWORD = "plain-to-find-7Q2vX9"
"""Of every login; distinctive, so that tests can look for it."""
MODULES = "org.apache.kafka.common.security"
AUDIENCE = "kafka"
LOOPBACK = "127.0.0.1"
EVERY_RIGHT = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY,
    AclPermissionType.ANY,
)  # fmt: skip


def openssl(*arguments: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True)
    return done.stdout


@dataclass
class Authority:
    """Signs certificates."""

    directory: Path
    name: str

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        openssl(
            "req", "-x509", "-nodes", "-days", "2", "-subj", f"/CN={self.name}",
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-keyout", self._file("key"), "-out", self._file("crt"),
        )  # fmt: skip

    def _file(self, kind: str, name: str = "ca") -> str:
        return str(self.directory / f"{self.name}-{name}.{kind}")

    @property
    def certificate(self) -> str:
        return Path(self._file("crt")).read_text()

    def sign(self, name: str, address: str = LOOPBACK) -> tuple[str, str]:
        """A certificate for a name and an address, and its key."""
        key, request, made = (self._file(kind, name) for kind in ("key", "csr", "crt"))
        openssl(
            "req", "-nodes", "-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{address}",
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-keyout", key, "-out", request,
        )  # fmt: skip
        openssl(
            "x509", "-req", "-in", request, "-days", "2", "-copy_extensions", "copy",
            "-CA", self._file("crt"), "-CAkey", self._file("key"), "-CAcreateserial", "-out", made,
        )  # fmt: skip
        return Path(made).read_text(), Path(key).read_text()


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Issues tokens for a client's id and secret over TLS, and tells brokers its key without."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory, "issuer")
        pair = directory / "issuer.pem"
        pair.write_text("".join(reversed(self.authority.sign("issuer"))))
        self._key = str(directory / "token.key")
        openssl("genpkey", "-algorithm", "RSA", "-out", self._key)
        modulus = openssl("rsa", "-in", self._key, "-noout", "-modulus").decode().strip()
        public = {
            "kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "e": "AQAB",
            "n": encoded(bytes.fromhex(modulus.partition("=")[2])),
        }  # fmt: skip
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(200, {"keys": [public]})

            def do_POST(self) -> None:
                login = self.headers.get("Authorization", "").removeprefix("Basic ")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                known = base64.b64decode(login).decode() == f"{USER}:{PASSWORD}"
                issuer.asked.append(body)
                if known:
                    token = issuer.token(USER)
                    self.answer(
                        200, {"access_token": token, "token_type": "Bearer", "expires_in": 600}
                    )
                else:
                    self.answer(401, {"error": "invalid_client"})

            def answer(self, status: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.asked: list[str] = []
        keys, tokens = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in "ab")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pair)
        tokens.socket = tls.wrap_socket(tokens.socket, server_side=True)
        self._servers = (keys, tokens)
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.keys_url = f"http://127.0.0.1:{keys.server_port}/jwks"
        self.token_url = f"https://127.0.0.1:{tokens.server_port}/token"

    def token(self, subject: str) -> str:
        now = int(time.time())
        claims = {
            "iss": "trimtab-tests", "aud": AUDIENCE, "sub": subject, "scope": "kafka",
            "iat": now, "exp": now + 600,
        }  # fmt: skip
        parts = ({"alg": "RS256", "kid": "1", "typ": "JWT"}, claims)
        text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        signature = openssl("dgst", "-sha256", "-sign", self._key, data=text.encode())
        return f"{text}.{encoded(signature)}"

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


class SecuredBroker(KafkaBroker):
    """A listener for logins over TLS, one for certificates, one for its administrator."""

    def __init__(self, directory: Path, host: str = LOOPBACK) -> None:
        """Makes certificates and the issuer of tokens; `start` starts the broker.

        Its clients reach it at `host`, its administrator at the loopback address.
        """
        super().__init__(directory)
        self.host = host
        directory.mkdir(parents=True, exist_ok=True)
        self.sasl_port, self.tls_port = free_ports(2)
        self.authority = Authority(directory / "tls", "kafka")
        self.clients = Authority(directory / "tls", "clients")
        self.issuer = Issuer(directory / "tls")
        certificate, key = self.authority.sign("broker", host)
        (directory / "broker.pem").write_text(key + certificate)
        (directory / "clients.pem").write_text(self.clients.certificate)
        self.options = self._security()

    @property
    def sasl(self) -> str:
        return f"{self.host}:{self.sasl_port}"

    @property
    def tls(self) -> str:
        return f"{self.host}:{self.tls_port}"

    def _security(self) -> dict[str, str]:
        listener = "listener.name.sasl"
        own = f"PLAINTEXT://127.0.0.1:{self.port},SASL://{self.sasl},TLS://{self.tls}"
        return {
            "listeners": f"{own},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": own,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,TLS:SSL"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.directory / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.directory / "clients.pem"),
            "listener.name.tls.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
            f"{listener}.sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256,PLAIN,OAUTHBEARER",
            **{
                f"{listener}.scram-sha-{bits}.sasl.jaas.config": (
                    f"{MODULES}.scram.ScramLoginModule required;"
                )
                for bits in (512, 256)
            },
            f"{listener}.plain.sasl.jaas.config": (
                f'{MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
            ),
            f"{listener}.oauthbearer.sasl.jaas.config": (
                f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"
            ),
            f"{listener}.oauthbearer.sasl.server.callback.handler.class": (
                f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            "sasl.oauthbearer.jwks.endpoint.url": self.issuer.keys_url,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }

    def _java(self, main: str, *arguments: str) -> list[str]:
        java, *rest = super()._java(main, *arguments)
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.keys_url}"
        return [java, allowed, *rest]

    def stop(self) -> None:
        super().stop()
        self.issuer.stop()

    def set_password(self, password: str, user: str = USER) -> None:
        """Let a user log in with a password, by both kinds of SCRAM."""
        admin = self.admin()  # its futures need it alive
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            held = ScramCredentialInfo(kind, 4096)
            change = UserScramCredentialUpsertion(user, held, password.encode())
            admin.alter_user_scram_credentials([change])[user].result(30)

    def allow(self, *rights: tuple[str, str, str], user: str = USER) -> None:
        """Grant rights: a kind of resource, its name (with `*` a prefix), an operation.

        The controller answers when it has written them; the broker judges by them a moment later.
        """
        admin = self.admin()
        granted = {_binding(right, user) for right in rights}
        for done in admin.create_acls(list(granted)).values():
            done.result(30)
        deadline = time.monotonic() + 30
        while not granted <= set(admin.describe_acls(EVERY_RIGHT).result(30)):
            assert time.monotonic() < deadline, "the broker does not judge by the new rights"
            time.sleep(0.05)

    def group_offset(self, group: str, topic: str) -> int:
        """What a consumer group has committed for a topic's first partition; below 0: nothing."""
        asking = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "log_level": 0})
        try:
            (found,) = asking.committed([TopicPartition(topic, 0)], timeout=30)
        except KafkaException:  # its coordinator is being made
            return -1
        finally:
            asking.close()
        return int(found.offset)

    def forbid_all(self) -> None:
        """Take every right from everybody."""
        admin = self.admin()
        for done in admin.delete_acls([EVERY_RIGHT]).values():
            done.result(30)
        deadline = time.monotonic() + 30
        while admin.describe_acls(EVERY_RIGHT).result(30):
            assert time.monotonic() < deadline, "the broker still judges by the old rights"
            time.sleep(0.05)


def _binding(right: tuple[str, str, str], user: str) -> AclBinding:
    kind, name, operation = right
    pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    return AclBinding(
        ResourceType[kind.upper()], name.removesuffix("*"), pattern, f"User:{user}", "*",
        AclOperation[operation.upper()], AclPermissionType.ALLOW,
    )  # fmt: skip


def secret(directory: Path, name: str, **values: str) -> None:
    """Write a Secret as the kubelet mounts it: links to a folder that is exchanged at once."""
    folder = directory / name
    folder.mkdir(parents=True, exist_ok=True)
    version = folder / f"..{time.time_ns()}"
    version.mkdir()
    for key, value in values.items():
        (version / key.replace("_", ".")).write_text(value)
    link = folder / "..new"
    link.symlink_to(version.name)
    link.rename(folder / "..data")
    for key in values:
        file = folder / key.replace("_", ".")
        if not file.is_symlink():
            file.symlink_to(f"..data/{file.name}")
