"""Copies, archives and checksums that are the same each time."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from dev.localcluster.paths import REPO
from dev.localcluster.run import run


def tracked(*wanted: str) -> list[str]:
    """The files of the repository at or below some paths, as git has them."""
    return run(["git", "ls-files", "-z", "--", *wanted], cwd=REPO).split("\0")[:-1]


def stage(folder: Path, epoch: int, *wanted: str) -> None:
    """Copy tracked files into a folder, with one time on all of them."""
    for name in tracked(*wanted):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPO / name, target)
        os.utime(target, (epoch, epoch))


def sha256(path: Path) -> str:
    """The digest of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def entry(name: str, size: int, epoch: int, mode: int = 0o644) -> tarfile.TarInfo:
    """The head of a file in an archive, the same on every machine."""
    head = tarfile.TarInfo(name)
    head.size, head.mtime, head.mode = size, epoch, mode
    return head


def write_tar(target: Path, content: Mapping[str, bytes], epoch: int) -> None:
    """Write an archive of plain files."""
    with tarfile.open(target, "w") as archive:
        for name, data in content.items():
            archive.addfile(entry(name, len(data), epoch), io.BytesIO(data))


def write_tar_gz(target: Path, files: Mapping[str, Path], epoch: int, runs: str) -> None:
    """Write a compressed archive; the file named `runs` is executable."""
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, path in files.items():
            head = entry(name, path.stat().st_size, epoch, 0o755 if name == runs else 0o644)
            with path.open("rb") as file:
                archive.addfile(head, file)
