"""The volumes that a pipeline's spec asks for, as its pods have them."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.v1alpha1.volumes import Volume
from trimtab.ports import Manifest


def user_volumes(
    asked: Iterable[Volume], *, optional: bool
) -> tuple[list[Manifest], list[Manifest]]:
    """Volumes and their mounts; the names are none that trimtab or Spark use.

    Secrets and ConfigMaps are `optional` for the driver, which starts without them and says what
    is missing. Executors wait for them: a task would read an empty folder.
    """
    volumes, mounts = [], []
    for each in asked:
        name = f"user-{each.name}"
        volumes.append({"name": name, **_source(each, optional=optional)})
        mount: Manifest = {"name": name, "mountPath": each.mount_path}
        claim = each.persistent_volume_claim
        if each.files or (claim and claim.read_only):
            mount["readOnly"] = True
        mounts.append(mount)
    return volumes, mounts


def _source(volume: Volume, *, optional: bool) -> Manifest:
    written = volume.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"name", "mount_path"}
    )
    for kind in ("secret", "configMap"):
        if kind in written and optional:
            written[kind]["optional"] = True
    return dict(written)
