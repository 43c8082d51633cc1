"""Python packages that the pods of a pipeline install before they start. Pure.

The file that names them is of one form only: each line a package, its version and hashes. So what
is installed is the same in each pod, at each start, from whatever index it comes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field

from trimtab.api.endpoints import Document

PACKAGES_DIRECTORY = "/var/lib/trimtab/packages"
"""Where the packages are."""
REQUIREMENTS_DIRECTORY = "/etc/trimtab/requirements"
REQUIREMENTS_FILE = "requirements.txt"
INDEX_DIRECTORY = "/etc/trimtab/index"
"""Where the Secret of the index is mounted, in the container that installs alone."""
PIP_CONFIG = "pip.conf"
"""Its key with the configuration of pip."""
INSTALLER = "packages"
"""The init container that installs."""
VARIABLE = "TRIMTAB_PACKAGES"
"""Tells the entry point of the image where the packages are."""

MOST_FAULTS = 5
"""How many faulty lines a message names."""

_ADDRESS = r"^$|^https?://[^\s/@?#]+(/[^\s@?#]*)?$"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PIN = re.compile(
    _NAME.pattern + r" ?(\[[A-Za-z0-9._, -]*\])? ?== ?[A-Za-z0-9][A-Za-z0-9_.!+-]* ?(;[^#$\\]*)?"
)
_HASH = re.compile(r"sha(256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})")


class PackageIndex(BaseModel):
    """Where packages come from, as the chart says it. None of it holds a login."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    index_url: str = Field("", alias="indexUrl", pattern=_ADDRESS, description="empty: pip's own")
    proxy: str = Field("", pattern=_ADDRESS, description="empty: none")
    secret_name: str = Field(
        "", alias="secretName", max_length=253, description="Secret with a pip.conf; empty: none"
    )


NO_INDEX = PackageIndex()


class Packages(Document):
    """The packages of one pipeline."""

    config_map: str = Field(alias="configMap")
    key: str
    sha256: str = Field(description="of the file: another one is not installed")
    index: PackageIndex = Field(NO_INDEX, description="absent: pip's own, without a login")

    @property
    def mounted(self) -> tuple[tuple[str, str], ...]:
        """What the pods mount for it, each as resource and name."""
        secret = self.index.secret_name
        named = (("secrets", secret),) if secret else ()
        return ("configmaps", self.config_map), *named


def digest(file: bytes) -> str:
    """The SHA-256 of a file of requirements."""
    return hashlib.sha256(file).hexdigest()


def faults(text: str) -> list[str]:
    """What is wrong with a file of requirements, each with the number of its line; empty: nothing.

    At most `MOST_FAULTS`, and how many more there are.
    """
    lines = list(_joined(text))
    found = [f"line {number}: {words}" for number, line in lines if (words := _fault(line))]
    if not lines:
        found = ["it names no package"]
    more = len(found) - MOST_FAULTS
    return [*found[:MOST_FAULTS], *([f"and {more} more"] if more > 0 else ())]


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with the number where each begins; joined as pip joins them."""
    parts: list[str] = []
    start = 1
    # the empty line at the end closes one that goes on at the end of the file
    for number, raw in enumerate([*text.splitlines(), ""], start=1):
        start = start if parts else number
        comment = raw.lstrip().startswith("#")
        if raw.endswith("\\") and not comment:
            parts.append(raw[:-1])
            continue
        line = "".join([*parts, " " if comment else "", raw])
        told = re.sub("(^| )#.*$", "", " ".join(line.split()))
        if told:
            yield start, told
        parts = []


def _fault(line: str) -> str:
    """What is wrong with one line, whose blanks are single; empty: nothing.

    It never shows an address, which may hold a login.
    """
    pin, *hashes = line.split(" --hash=")
    if option := re.search("(^| )(-[A-Za-z-]+)", " ".join([pin, *hashes])):
        return (
            f"{option[2]} is not allowed: write packages alone, the chart's values name the index"
        )
    if "://" in pin or " @ " in pin or pin.startswith((".", "/")):
        return "it is an address or a path: write name==version, of a package in the index"
    name = _NAME.match(pin)
    word = name[0][:100] if name else "it"
    if not _PIN.fullmatch(pin):
        return f"{word} is not pinned: write name==version --hash=sha256:..."
    if not hashes:
        return f"{word} has no hash: write name==version --hash=sha256:..."
    if not all(_HASH.fullmatch(each) for each in hashes):
        return f"{word} has a hash that is none: write --hash=sha256: and 64 hex digits"
    return ""
