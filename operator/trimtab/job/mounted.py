"""Whether the files are there that a pipeline's spec mounts from Secrets and ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from trimtab.api.v1alpha1.volumes import Volume
from trimtab.job.termination import JobFailureError, Reason

_KINDS = {"secrets": "Secret", "configmaps": "ConfigMap"}


def require_mounted(volumes: Iterable[Volume], root: Path = Path("/")) -> None:
    """Raise a healing JobFailureError if a Secret, a ConfigMap or one of their keys is missing.

    `root` is the pod's root folder. A claim is the scheduler's business: without it no pod starts.
    """
    missing = [words for volume in volumes for words in _missing(volume, root)]
    if missing:
        raise JobFailureError(
            Reason.VOLUME_MISSING,
            f"{'; '.join(missing)}: create it in the pipeline's namespace, or correct volumes; the"
            " driver goes on when the kubelet has mounted it, within two minutes",
            heals=True,
        )


def _missing(volume: Volume, root: Path) -> Iterator[str]:
    if volume.files is None or volume.named is None:
        return
    resource, name = volume.named
    what, folder = f"{_KINDS[resource]} {name!r}", root / volume.mount_path.lstrip("/")
    for item in volume.files.items or ():
        if not (folder / item.path).exists():
            yield f"key {item.key!r} of {what} does not exist (volume {volume.name!r})"
    if volume.files.items is None and not _holds_files(folder):
        yield f"{what} does not exist, or is empty (volume {volume.name!r})"


def _holds_files(folder: Path) -> bool:
    """Whether a mount has files; the kubelet keeps names of its own, which begin with two dots."""
    try:
        return any(not path.name.startswith("..") for path in folder.iterdir())
    except OSError:
        return False
