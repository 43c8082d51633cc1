"""The manifest with which krew installs the kubectl plugin. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from dev.release.names import Release
from dev.release.plugin import PROGRAM

API_VERSION = "krew.googlecontainertools.github.com/v1alpha2"
DESCRIPTION = (
    "trimtab deploys Kafka + Spark pipelines and holds their goals. This plugin explains what it"
    " does and why, shows all pipelines in a table, lists past decisions, checks a cluster before"
    " and after the install, and simulates pipelines without one."
)
CAVEATS = (
    "It needs a python3 of version 3.11 to 3.14 on PATH, and unpacks itself into ~/.shiv at its"
    " first start. Begin with: kubectl trimtab doctor"
)


def manifest(release: Release, digests: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """The manifest; `digests` are the SHA-256 of the archives by system and processor."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Plugin",
        "metadata": {"name": "trimtab"},
        "spec": {
            "version": f"v{release.version}",
            "homepage": release.home or release.url,
            "shortDescription": "Explain and check Kafka + Spark pipelines",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": system, "arch": processor}},
                    "uri": f"{release.url}/{release.plugin(system, processor).name}",
                    "sha256": digest,
                    "bin": PROGRAM,
                }
                for (system, processor), digest in digests.items()
            ],
        },
    }


def render(document: Mapping[str, Any]) -> str:
    """The manifest as YAML."""
    return yaml.safe_dump(document, sort_keys=False, width=100)
