"""Certificates and kubeconfigs, created with the openssl command: one short-lived authority."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.localcluster.run import run

DAYS = "365"


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """The cluster's certificate authority; signs every identity into its own directory."""

    directory: Path

    @property
    def certificate(self) -> Path:
        """The authority's certificate, which all clients trust."""
        return self.directory / "ca.crt"

    @property
    def key(self) -> Path:
        """The authority's key."""
        return self.directory / "ca.key"

    def issue(self, name: str, subject: str, *, alternative_names: Sequence[str] = ()) -> Identity:
        """Create a certificate for clients and servers.

        `subject` is in openssl's format (``/O=group/CN=user``), as are `alternative_names`
        (``DNS:a``, ``IP:1.2.3.4``). Raises CommandError if openssl fails.
        """
        made = Identity(self.directory / f"{name}.crt", self.directory / f"{name}.key")
        extensions = [
            "basicConstraints=critical,CA:FALSE",
            "keyUsage=critical,digitalSignature",
            "extendedKeyUsage=serverAuth,clientAuth",
        ]
        if alternative_names:
            extensions.append("subjectAltName=" + ",".join(alternative_names))
        arguments = [part for e in extensions for part in ("-addext", e)]
        run([
            *_REQUEST, "-subj", subject, "-keyout", made.key, "-out", made.certificate,
            "-CA", self.certificate, "-CAkey", self.key, *arguments,
        ])  # fmt: skip
        made.key.chmod(0o600)
        return made


# Elliptic-curve keys: all certificates of a cluster take a tenth of the time of RSA keys.
_REQUEST = (
    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-sha256", "-days", DAYS, "-batch",
)  # fmt: skip


def make_authority(directory: Path) -> Authority:
    """Create an authority in a new directory that only we can read."""
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    authority = Authority(directory)
    run([
        *_REQUEST, "-subj", "/CN=trimtab-local-ca", "-keyout", authority.key,
        "-out", authority.certificate, "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    ])  # fmt: skip
    authority.key.chmod(0o600)
    return authority


def make_signing_key(directory: Path) -> Identity:
    """Create the key pair for service account tokens; `certificate` is the bare public key."""
    key = directory / "sa.key"
    public = directory / "sa.pub"
    run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
    run(["openssl", "ec", "-in", key, "-pubout", "-out", public])
    key.chmod(0o600)
    return Identity(public, key)


def kubeconfig(server: str, authority: Authority, identity: Identity, user: str) -> str:
    """Return a self-contained kubeconfig, so that the file can be moved.

    It is JSON, which every YAML parser reads.
    """

    def inline(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    name = "trimtab-local"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": name,
            "cluster": {
                "server": server,
                "certificate-authority-data": inline(authority.certificate),
            },
        }],
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": inline(identity.certificate),
                "client-key-data": inline(identity.key),
            },
        }],
        "contexts": [{
            "name": name,
            "context": {"cluster": name, "user": user, "namespace": "default"},
        }],
        "current-context": name,
    }  # fmt: skip
    return json.dumps(content, indent=1) + "\n"


def write_kubeconfig(
    path: Path, server: str, authority: Authority, identity: Identity, user: str
) -> Path:
    """Write a kubeconfig that only we can read, and return its path."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(kubeconfig(server, authority, identity, user))
    return path
