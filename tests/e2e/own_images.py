"""Images such as users build: one with Python modules alone, and one on the pipeline's."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

import pytest
from dev.localcluster import images, layout, registry
from dev.localcluster.cluster import sockets
from dev.localcluster.imageload import import_images
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import REPO, Paths
from dev.localcluster.recipes import REGISTRY
from tests.kafka.java import packed
from tests.kafka.test_jvm_transform import CLICKS

BUILD_S = 600
EXAMPLE = REPO / "examples/97-more-jars"
MAVEN = ("/usr/share/maven", "/usr/share/java", "/etc/maven", "/etc/ssl/certs")
"""What Debian's Maven consists of, and whom this machine's Java trusts."""


def of_modules(paths: Paths, archive: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Push an image with a folder /modules to the cluster's registry; its reference by digest."""
    monkeypatch.setenv("SSL_CERT_FILE", str(registry.trusted(paths)))
    small = images.read_index(paths)["pause"]  # busybox, as a user would take it
    digest = archive.with_name("digest")
    with exclusive(paths.cache / "images.lock", "another command is building images", 1800):
        copy = 'RUN ["/bin/busybox", "ln", "-s", "busybox", "/bin/cp"]\nENV PATH=/bin'
        file = f"FROM {small}\n{copy}\nCOPY {archive.name} /modules/\n"
        _build(paths, file, archive, "jobs:1")
        push = ("push", "--quiet", "--digestfile", digest, f"{REGISTRY}/jobs:1")
        images.buildah(paths, *push, f"docker://{registry.address()}/jobs:1", limit_s=BUILD_S)
    return f"{registry.address()}/jobs@{digest.read_text().strip()}"


def of_jars(paths: Paths, today: str) -> str:
    """Build the example's image on `today`'s, with a jar more; load it into every node; its tag."""
    sources = [today, CLICKS, *(file.read_text() for file in sorted(EXAMPLE.iterdir()))]
    name = f"jars:{hashlib.sha256(''.join(sources).encode()).hexdigest()[:12]}"
    target = f"{REGISTRY}/{name}"
    with exclusive(paths.cache / "images.lock", "another command is building images", 1800):
        if target not in layout.manifests(paths.layouts):
            example = _with_maven(paths, today)
            with tempfile.TemporaryDirectory() as folder:
                jar = packed(Path(folder), {"Clicks": CLICKS})
                _build(paths, f"FROM {example}\nCOPY {jar.name} /opt/spark/jars/\n", jar, name)
            images.export_image(paths, target)
    for socket in sockets(paths):
        import_images(paths, socket, [target])
    return target


def _with_maven(paths: Paths, today: str) -> str:
    """Build the example as it lies there; its Maven is this machine's, with the image's Java."""
    maven, target = f"{REGISTRY}/maven:1", f"{REGISTRY}/example:1"
    with tempfile.TemporaryDirectory(dir=images.work_directory(paths)) as folder:
        file = Path(folder) / "Dockerfile"
        file.write_text(f"FROM {today}\nUSER 0\nENV PATH=/usr/share/maven/bin:/usr/bin:/bin\n")
        _bud(paths, "--file", file, "--tag", maven, folder)
    arguments = ("--build-arg", f"PIPELINE={today}", "--build-arg", f"MAVEN={maven}")
    mounts = [f"--volume={folder}:{folder}:ro" for folder in MAVEN]
    _bud(paths, *arguments, *mounts, "--network", "host", "--tag", target, EXAMPLE)
    return target


def _build(paths: Paths, dockerfile: str, file: Path, name: str) -> None:
    with tempfile.TemporaryDirectory(dir=images.work_directory(paths)) as folder:
        shutil.copy(file, folder)
        written = Path(folder) / "Dockerfile"
        written.write_text(dockerfile)
        _bud(paths, "--file", written, "--tag", f"{REGISTRY}/{name}", folder)


def _bud(paths: Paths, *arguments: str | Path) -> None:
    own = ("--isolation", "chroot", "--pull=never", "--format", "oci")
    images.buildah(paths, "bud", *own, *arguments, limit_s=BUILD_S)
