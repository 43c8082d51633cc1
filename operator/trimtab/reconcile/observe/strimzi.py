"""What Strimzi's objects say: how a Kafka is reached by a listener, and who a KafkaUser is.

The fields are those of `kafka.strimzi.io/v1`. The Secrets stay Secrets: only their names are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka_client import (
    Authentication,
    CertificateAndKey,
    CertificateSecret,
    PasswordSecret,
    Security,
    Tls,
)
from trimtab.api.v1alpha1.kafka_reference import StrimziReference
from trimtab.errors import BadInputError, UnknownKindError
from trimtab.ports import Manifest
from trimtab.reconcile.observe.brokers import Words
from trimtab.reconcile.tick import TickContext

CLUSTER_LABEL = "strimzi.io/cluster"
"""On a KafkaUser and a KafkaTopic: the Kafka that they belong to."""

_WRITE_OUT = "write bootstrapServers, tls and authentication instead of strimzi"


def connection(
    namespace: str, named: StrimziReference, tick: TickContext
) -> KafkaConnection | Words:
    """How a Kafka is reached, or why that is not known; raises UnavailableError."""
    kafka = _read("Kafka", namespace, named.name, tick)
    if isinstance(kafka, tuple):
        return kafka
    user = _read("KafkaUser", namespace, named.user, tick) if named.user else None
    if isinstance(user, tuple):
        return user
    return reached(named, kafka, user)


def topic(namespace: str, kafka: StrimziReference, name: str, tick: TickContext) -> Manifest | None:
    """The KafkaTopic of a topic; None if there is none by its name. Raises UnavailableError."""
    found = _read("KafkaTopic", namespace, name, tick)
    if isinstance(found, tuple) or _cluster(found) != kafka.name:
        return None
    return found if found["spec"].get("topicName", name) == name else None


def reached(
    named: StrimziReference, kafka: Manifest, user: Manifest | None
) -> KafkaConnection | Words:
    """The address of a listener and what it asks for. Pure."""
    known = {each["name"]: each for each in kafka["spec"]["kafka"].get("listeners") or ()}
    listener = known.get(named.listener)
    if listener is None:
        message = f"the Kafka {named.name!r} has no listener {named.listener!r}, but"
        return "InvalidSpec", f"{message} {', '.join(sorted(known)) or 'none'}"
    if (listener.get("configuration") or {}).get("brokerCertChainAndKey"):
        message = f"the listener {named.listener!r} has a certificate of its own: {_WRITE_OUT}"
        return "InvalidSpec", message
    login = _login(named, listener, user)
    if isinstance(login, tuple):
        return login
    told = (kafka.get("status") or {}).get("listeners") or ()
    servers = next((e.get("bootstrapServers") for e in told if e.get("name") == named.listener), "")
    if not servers:
        message = f"the Kafka {named.name!r} does not say yet where its listener"
        return "StrimziNotReady", f"{message} {named.listener!r} is"
    return KafkaConnection(servers, Security(tls=_tls(named, listener), authentication=login))


def _tls(named: StrimziReference, listener: Mapping[str, Any]) -> Tls | None:
    if not listener["tls"]:
        return None
    secret = f"{named.name}-cluster-ca-cert"
    trusted = CertificateSecret(secret_name=secret, certificate="ca.crt")
    return Tls(trusted_certificates=[trusted])


def _login(
    named: StrimziReference, listener: Mapping[str, Any], user: Manifest | None
) -> Authentication | Words | None:
    """Who the pipeline is for a listener; None if that does not ask."""
    asked = (listener.get("authentication") or {}).get("type")
    where = f"the listener {named.listener!r} of the Kafka {named.name!r}"
    if asked is None:
        words = f"{where} asks for no login: remove user, or name a listener with authentication"
        return ("InvalidSpec", words) if user else None
    if asked not in {"scram-sha-512", "tls"}:
        return "InvalidSpec", f"{where} has the authentication {asked}: {_WRITE_OUT}"
    if user is None:
        return "InvalidSpec", f"{where} asks for a login ({asked}): write user: <a KafkaUser here>"
    if _cluster(user) != named.name:
        words = f"the KafkaUser {named.user!r} belongs to {_cluster(user) or 'no Kafka'}"
        return "InvalidSpec", f"{words}: its label {CLUSTER_LABEL} must be {named.name}"
    its = (user["spec"].get("authentication") or {}).get("type")
    if its != asked:
        words = f"the KafkaUser {named.user!r} logs in by {its or 'nothing'}, but {where} asks for"
        return "InvalidSpec", f"{words} {asked}: name another user or listener"
    return _of_user(user, asked)


def _of_user(user: Manifest, asked: str) -> Authentication | Words:
    """The login of a KafkaUser, by the Secret that Strimzi keeps for it."""
    told = user.get("status") or {}
    secret, name = told.get("secret"), told.get("username")
    if not secret or not name:
        message = f"the KafkaUser {user['metadata']['name']!r} has no Secret yet"
        return "StrimziNotReady", message
    if asked == "tls":
        held = CertificateAndKey(secret_name=secret, certificate="user.crt", key="user.key")
        return Authentication(type="tls", certificate_and_key=held)
    password = PasswordSecret(secret_name=secret, password="password")  # noqa: S106 -- its key
    return Authentication(type="scram-sha-512", username=name, password_secret=password)


def _cluster(manifest: Manifest) -> str:
    return str((manifest["metadata"].get("labels") or {}).get(CLUSTER_LABEL, ""))


def _read(kind: str, namespace: str, name: str, tick: TickContext) -> Manifest | Words:
    """An object of Strimzi, at most 30 s old, or a message saying that it cannot be had."""
    try:
        found = tick.cache.fetched((kind, namespace, name), tick.now_s, tick.cluster.get)
    except (UnknownKindError, BadInputError) as error:
        return "StrimziNotFound", f"the {kind} {name!r} cannot be read: {error}"
    if found is None:
        return "StrimziNotFound", f"there is no {kind} {name!r} in namespace {namespace!r}"
    return found
