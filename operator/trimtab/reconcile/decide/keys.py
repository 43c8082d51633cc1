"""Which certificates and passwords of a KafkaCluster are due. Pure, but for what makes them.

An authority is replaced in steps, so that at no moment a client or a broker meets a certificate
that it does not trust: the new authority is trusted beside the old one; when all brokers run with
that, they get a certificate of the new one, one after another; the old one is trusted until it
ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.ports import Certificates, Pair

AUTHORITY_DAYS, BROKER_DAYS = 5 * 365.0, 365.0
RENEWED = 1 / 3
"""The share of a certificate's time that is left when the next one is made."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What the Secrets of a cluster hold."""

    authority: Pair | None = None
    previous: str = ""
    """The authority before, as long as it is valid."""
    trusted: str = ""
    """What clients and brokers trust."""
    broker: Pair | None = None


def renewed(
    keys: Keys, hosts: Sequence[str], now_s: float, certificates: Certificates, *, settled: bool
) -> Keys:
    """The keys that there should be; the same ones if nothing is due.

    `hosts` are the brokers' names; `settled`: all brokers run with the present keys.
    """
    signer, previous = _authority(keys, now_s, certificates)
    newest, held = signer.certificate, keys.broker.certificate if keys.broker else ""
    of_newest = certificates.signed(held, newest)
    trusted = of_newest or bool(previous and certificates.signed(held, previous))
    known = settled and keys.trusted == newest + previous
    broker, moves = keys.broker, known and not of_newest
    if not trusted or moves or _ends(held, now_s, certificates):
        broker = certificates.issue(signer, hosts, now_s, BROKER_DAYS)
    return Keys(signer, previous, newest + previous, broker)


def _authority(keys: Keys, now_s: float, certificates: Certificates) -> tuple[Pair, str]:
    """The authority that signs from now on, and the one before, as long as it is valid."""
    previous = "" if _ended(keys.previous, now_s, certificates) else keys.previous
    old = keys.authority
    if old and not _ends(old.certificate, now_s, certificates):
        return old, previous
    if old and not _ended(old.certificate, now_s, certificates):
        previous = old.certificate
    return certificates.authority("trimtab Kafka", now_s, AUTHORITY_DAYS), previous


def _ends(certificate: str, now_s: float, certificates: Certificates) -> bool:
    """Whether it is time for the next one, or this one cannot be read."""
    valid = certificates.validity(certificate)
    if valid is None:
        return True
    return valid.until_s - now_s < RENEWED * (valid.until_s - valid.from_s)


def _ended(certificate: str, now_s: float, certificates: Certificates) -> bool:
    valid = certificates.validity(certificate)
    return valid is None or valid.until_s <= now_s
