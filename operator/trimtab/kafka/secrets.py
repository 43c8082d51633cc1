"""Reads what the pods of a pipeline mount of Secrets, and says what is wrong with it.

No value gets into a message: neither into that of an error, nor into a log.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from trimtab.api.v1alpha1.kafka_client import SECRETS_DIRECTORY, SecretKey
from trimtab.errors import CredentialsInvalidError, CredentialsMissingError

VARIABLE = "TRIMTAB_SECRETS"
"""The environment variable with another directory, for a driver outside a pod."""

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
_PRIVATE_KEY = "-----BEGIN PRIVATE KEY-----"
_UNQUOTABLE = re.compile(r'["\\\x00-\x1f]')


def directory() -> Path:
    """Where the Secrets are, each in a folder of its name."""
    return Path(os.environ.get(VARIABLE, SECRETS_DIRECTORY))


def path(key: SecretKey) -> str:
    """The file that holds a value."""
    return str(directory() / key.secret / key.key)


def password(key: SecretKey) -> str:
    """A password that Kafka's configuration can hold.

    Raises:
        CredentialsMissingError: it is not there.
        CredentialsInvalidError: it has a character that no JAAS line can hold.
    """
    value = _read(key)
    if not value or _UNQUOTABLE.search(value):
        what = "is empty" if not value else "has a line break, a quote or a backslash"
        raise CredentialsInvalidError(
            f"{_named(key)} {what}, which Kafka's configuration cannot hold: store another"
            " password; `echo -n` and `--from-literal` add no line break"
        )
    return value


def value_of(key: SecretKey) -> str:
    """A value as it stands, without a line break at its end.

    Raises:
        CredentialsMissingError: it is not there.
    """
    return _read(key).rstrip("\r\n")


def certificates(key: SecretKey) -> str:
    """One or more certificates as PEM.

    Raises:
        CredentialsMissingError: they are not there.
        CredentialsInvalidError: it is something else.
    """
    text = _read(key)
    if _CERTIFICATE not in text:
        raise CredentialsInvalidError(f"{_named(key)} is no certificate in PEM ({_CERTIFICATE})")
    return text


def private_key(key: SecretKey) -> str:
    """A private key that both of Kafka's clients can read, as PEM.

    Raises:
        CredentialsMissingError: it is not there.
        CredentialsInvalidError: it is something else, or in another form.
    """
    text = _read(key)
    if _PRIVATE_KEY not in text:
        raise CredentialsInvalidError(
            f"{_named(key)} is no private key in PKCS#8 ({_PRIVATE_KEY}), the only form that Kafka"
            " reads: convert it with `openssl pkcs8 -topk8 -nocrypt`; for cert-manager, write"
            " privateKey: {encoding: PKCS8}"
        )
    return text


def fingerprints(keys: Iterable[SecretKey]) -> Mapping[SecretKey, bytes | None]:
    """What tells one value from another, for this process alone; None where there is none."""
    found: dict[SecretKey, bytes | None] = {}
    for key in keys:
        try:
            found[key] = hashlib.sha256(Path(path(key)).read_bytes()).digest()
        except OSError:
            found[key] = None
    return found


def _read(key: SecretKey) -> str:
    try:
        return Path(path(key)).read_text(encoding="utf-8")
    except OSError as error:
        raise CredentialsMissingError(
            f"{_named(key)} does not exist: create the Secret {key.secret!r} with this key in the"
            " pipeline's namespace, or correct the spec; the driver takes it when the kubelet has"
            " mounted it, within two minutes"
        ) from error
    except UnicodeDecodeError as error:
        raise CredentialsInvalidError(f"{_named(key)} is no text") from error


def _named(key: SecretKey) -> str:
    return f"key {key.key!r} of Secret {key.secret!r}"
