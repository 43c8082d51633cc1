"""Certificates and passwords for the Kafka clusters that trimtab runs."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trimtab.ports import Pair, Validity

PASSWORD_BYTES = 32
BACKDATED = timedelta(minutes=5)
"""How long a certificate is valid before now: the clocks of nodes differ."""


class OwnCertificates:
    """Makes authorities, and certificates that they sign, on the curve P-256."""

    def authority(self, name: str, now_s: float, days: float) -> Pair:
        """A new authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(name)
        made = _builder(subject, subject, key.public_key(), now_s, days)
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        made = made.add_extension(_usage(signs=True), critical=True)
        return _pair(made.sign(key, hashes.SHA256()), key)

    def issue(self, signer: Pair, hosts: Sequence[str], now_s: float, days: float) -> Pair:
        """A certificate for these host names, for servers and clients."""
        by = x509.load_pem_x509_certificate(signer.certificate.encode())
        signing = load_pem_private_key(signer.key.encode(), None)
        if not isinstance(signing, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the authority is none on an elliptic curve")
        key = ec.generate_private_key(ec.SECP256R1())
        # a common name has 64 characters at most, and nobody reads it beside the other names
        made = _builder(_named("kafka"), by.subject, key.public_key(), now_s, days)
        made = made.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False
        )
        made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        made = made.add_extension(_usage(signs=False), critical=True)
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        made = made.add_extension(x509.ExtendedKeyUsage(both), critical=False)
        return _pair(made.sign(signing, hashes.SHA256()), key)

    def validity(self, certificate: str) -> Validity | None:
        """From when until when it is valid; None if it is no certificate."""
        try:
            read = x509.load_pem_x509_certificate(certificate.encode())
        except ValueError:
            return None
        return Validity(read.not_valid_before_utc.timestamp(), read.not_valid_after_utc.timestamp())

    def signed(self, certificate: str, authority: str) -> bool:
        """Whether an authority has signed a certificate."""
        try:
            read = x509.load_pem_x509_certificate(certificate.encode())
            read.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.encode()))
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def password(self) -> str:
        """A new password of letters, digits, - and _."""
        return secrets.token_urlsafe(PASSWORD_BYTES)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=signs,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now_s: float, days: float
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(now_s, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + timedelta(days=days))
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    # Kafka reads keys in PKCS#8 only
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(certificate.public_bytes(Encoding.PEM).decode(), private.decode())
