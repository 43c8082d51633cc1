"""Keep the Secrets of a secured KafkaCluster: made once, renewed in time, made anew if deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.kafka_security import (
    PASSWORD,
    TRUSTED,
    authority_secret,
    broker_secret,
    trusted_secret,
    user_secret,
)
from trimtab.errors import BadInputError
from trimtab.ports import Manifest, key_of
from trimtab.reconcile.decide.keys import Keys, renewed
from trimtab.reconcile.observe.refusals import WRITTEN, Refusal, joined
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.common import digest
from trimtab.workloads.kafka import names, secrets
from trimtab.workloads.kafka.material import Material
from trimtab.workloads.ownership import own

NOT_ALLOWED = "SecretsNotAllowed"


def keep(
    parent: Manifest, spec: KafkaClusterSpec, tick: TickContext, runs: Callable[[Material], bool]
) -> Material | Refusal | None:
    """What the Secrets hold, after what was due was made; None for a cluster without security.

    Returns why it could not be read or written otherwise. `runs` says whether all brokers run with
    some keys.
    """
    asked = spec.security
    if asked is None:
        return None
    if tick.certificates is None:
        return Refusal(NOT_ALLOWED, "this operator makes no certificates")
    try:
        keys, passwords = _held(parent, tick), _passwords(parent, asked.logins, tick)
    except BadInputError as error:
        return Refusal(
            NOT_ALLOWED,
            "the operator may not keep Secrets, which spec.security takes: set"
            f" kafkaSecurity.enabled=true in the values of trimtab's chart ({error})",
        )
    hosts = names.hosts(parent["metadata"]["name"], parent["metadata"]["namespace"], spec.replicas)
    settled = runs(_material(keys, passwords))
    new = renewed(keys, hosts, tick.now_s, tick.certificates, settled=settled)
    made = {user: tick.certificates.password() for user, held in passwords.items() if not held}
    wanted = [
        *_differing(parent, keys, new),
        *(secrets.user(parent, user, password) for user, password in made.items()),
    ]
    refusal = joined(_write(parent, each, tick) for each in wanted)
    return _material(new, passwords | made) if refusal == WRITTEN else refusal


def _material(keys: Keys, passwords: dict[str, str]) -> Material:
    certificate = keys.broker.certificate if keys.broker else ""
    return Material(stores=digest([keys.trusted, certificate]), users=digest(passwords))


def _held(parent: Manifest, tick: TickContext) -> Keys:
    cluster = parent["metadata"]["name"]
    authority = secrets.read(_secret(parent, authority_secret(cluster), tick))
    return Keys(
        authority=secrets.pair(authority),
        previous=authority.get(secrets.PREVIOUS, ""),
        trusted=secrets.read(_secret(parent, trusted_secret(cluster), tick)).get(TRUSTED, ""),
        broker=secrets.pair(secrets.read(_secret(parent, broker_secret(cluster), tick))),
    )


def _passwords(parent: Manifest, users: tuple[str, ...], tick: TickContext) -> dict[str, str]:
    """By user; empty where there is none yet."""
    cluster = parent["metadata"]["name"]
    return {
        user: secrets.read(_secret(parent, user_secret(cluster, user), tick)).get(PASSWORD, "")
        for user in users
    }


def _secret(parent: Manifest, name: str, tick: TickContext) -> Manifest | None:
    key = ("Secret", parent["metadata"]["namespace"], name)
    found = tick.cache.fetched(key, tick.now_s, tick.cluster.get)
    if found is None:
        tick.cache.forget(key)  # nobody watches Secrets, so nobody tells that it is gone
    return own(found, parent)


def _differing(parent: Manifest, old: Keys, new: Keys) -> Iterator[Manifest]:
    """In an order in which nobody gets a certificate before what it is trusted by."""
    if new.authority and (new.authority, new.previous) != (old.authority, old.previous):
        yield secrets.authority(parent, new.authority, new.previous)
    if new.trusted != old.trusted:
        yield secrets.trusted(parent, new.trusted)
    if new.broker and new.broker != old.broker:
        yield secrets.broker(parent, new.broker)


def _write(parent: Manifest, secret: Manifest, tick: TickContext) -> Refusal:
    refusal = tick.writer.apply(secret, parent)
    if refusal == WRITTEN:
        name = secret["metadata"]["name"]
        message = f"the Secret {name} was made, or renewed"
        tick.writer.event(parent, warning=False, reason="KeysRenewed", message=message)
    tick.cache.forget(key_of(secret))
    return refusal
