"""Secrets in the pods of a pipeline: the keys that its spec names, and nothing else of them."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.v1alpha1.kafka_client import SECRETS_DIRECTORY, SecretKey
from trimtab.ports import Manifest


def secret_volumes(
    keys: Iterable[SecretKey], *, optional: bool
) -> tuple[list[Manifest], list[Manifest]]:
    """Volumes and their mounts, one for each Secret.

    They are `optional` for the driver, which starts without them and says what is missing.
    Executors wait for them.
    """
    named: dict[str, list[str]] = {}
    for each in keys:
        named.setdefault(each.secret, []).append(each.key)
    volumes, mounts = [], []
    for number, (secret, wanted) in enumerate(sorted(named.items())):
        name = f"secret-{number}"
        items = [{"key": key, "path": key} for key in sorted(set(wanted))]
        source: Manifest = {"secretName": secret, "items": items}
        if optional:
            source["optional"] = True
        volumes.append({"name": name, "secret": source})
        path = f"{SECRETS_DIRECTORY}/{secret}"
        mounts.append({"name": name, "mountPath": path, "readOnly": True})
    return volumes, mounts
