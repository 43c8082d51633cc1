"""Builds the images with buildah, again only when their inputs change."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dev.localcluster import console, layout
from dev.localcluster.binaries import binary, ensure_tools
from dev.localcluster.failures import CommandError, LocalClusterError
from dev.localcluster.jars import ensure_jars
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import REPO, Paths
from dev.localcluster.recipes import RECIPES, REGISTRY, Recipe, needed_for, recipe, tag
from dev.localcluster.run import run
from dev.localcluster.versions import DEBIAN_SUITE

BUILD_LIMIT_S = 1200
BUSYBOX = Path("/bin/busybox")
BUSYBOX_LINKS = ("sh", "sleep", "mkdir", "rm", "cat", "echo", "ls", "id", "nslookup", "wget", "nc")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")


def buildah(paths: Paths, *arguments: str | Path, limit_s: float = 120) -> str:
    """Run buildah on our own storage and return its output."""
    own = ["--root", str(paths.buildah / "root"), "--runroot", str(paths.buildah / "run")]
    return run(["buildah", *own, "--storage-driver", "overlay", *arguments], limit_s=limit_s)


def build_images(paths: Paths, names: Sequence[str] = ()) -> dict[str, str]:
    """Build the missing ones of the named images (or of all), and return name -> tag.

    Raises:
        CommandError: a build failed.
        KeyError: there is no such image.
    """
    chosen = needed_for(list(names) or [each.name for each in RECIPES])
    index = read_index(paths)
    tags = {each.name: tag(REPO, each) for each in chosen}
    # Checked without the lock, so that `up` need not wait for other builds.
    if tags.items() <= index.items() and all(is_built(paths, each) for each in tags.values()):
        return index
    with exclusive(paths.cache / "images.lock", "another command is building images", 1800):
        return _build_chosen(paths, chosen)


def _build_chosen(paths: Paths, chosen: list[Recipe]) -> dict[str, str]:
    """Build what is missing, in order; the index is correct after each step."""
    index = read_index(paths)
    for each in chosen:
        wanted = tag(REPO, each)
        if not is_built(paths, wanted):
            discard_leftovers(paths)
            with console.step(f"image {wanted}", BUILD_LIMIT_S):
                build_image(paths, each, wanted)
        index[each.name] = wanted
        write_index(paths, index)
    forget_old(paths, {*index.values(), *layout.manifests(paths.layouts)})
    return index


def forget_old(paths: Paths, kept: set[str]) -> None:
    """Remove the images of older inputs from the storage, so that it does not grow forever."""
    listed = buildah(paths, "images", "--format", "{{.Name}}:{{.Tag}}").split()
    for each in listed:
        if each.startswith(REGISTRY) and each not in kept:
            with contextlib.suppress(CommandError):  # another image is built on it: next time
                buildah(paths, "rmi", each)


def discard_leftovers(paths: Paths) -> None:
    """Remove leftovers of killed builds; we hold the lock, so no build is running."""
    if buildah(paths, "containers", "--quiet").strip():
        buildah(paths, "rm", "--all")
    for entry in work_directory(paths).iterdir():
        shutil.rmtree(entry, ignore_errors=True)


def build_image(paths: Paths, wanted: Recipe, target: str) -> None:
    """Build one image and add it to the layout from which clusters load it."""
    with named_contexts(paths, wanted) as prepared:
        arguments: list[str | Path] = []
        for name, directory in prepared.items():
            arguments += ["--build-context", f"{name}={directory}"]
        for argument, image in wanted.images.items():
            arguments += ["--build-arg", f"{argument}={tag(REPO, recipe(image))}"]
        if AUTHORITIES.exists() and wanted.images.get("BASE"):
            # A machine behind a mirror has its own CA bundle: use it for the build only.
            arguments += ["--volume", f"{AUTHORITIES}:{AUTHORITIES}:ro"]
        dockerfile = REPO / wanted.directory / "Dockerfile"
        buildah(
            paths, "bud", "--isolation", "chroot", "--network", "host", "--layers",
            "--pull=never", "--timestamp", "0", "--identity-label=false", "--format", "oci",
            *arguments, "--file", dockerfile, "--tag", target,
            prepared.get(wanted.main_context, REPO), limit_s=BUILD_LIMIT_S,
        )  # fmt: skip
    if wanted.loaded:
        export_image(paths, target)


def export_image(paths: Paths, target: str) -> None:
    """Add an image to the layout; blobs that exist already are not stored twice.

    It is first written as a plain directory, the only form in which buildah leaves layers
    uncompressed: compressing and decompressing a gigabyte would take longer than all the rest.
    """
    with tempfile.TemporaryDirectory(dir=work_directory(paths)) as work:
        plain = Path(work) / "image"
        buildah(paths, "push", "--quiet", "--disable-compression", target, f"dir:{plain}",
                limit_s=300)  # fmt: skip
        layout.add(paths.layouts, target, plain)


def is_built(paths: Paths, target: str) -> bool:
    """Return whether the image is in the storage, and exported if pods need it."""
    name = target.rpartition("/")[2].partition(":")[0]
    stored = buildah(paths, "images", "--quiet", "--filter", f"reference={target}").strip()
    exported = target in layout.manifests(paths.layouts)
    return bool(stored) and (exported or not recipe(name).loaded)


def read_index(paths: Paths) -> dict[str, str]:
    """Return name -> tag of the latest images; another checkout may have built some more."""
    try:
        found: dict[str, str] = json.loads(paths.image_index.read_text())
    except OSError:
        return {}
    known = {each.name for each in RECIPES}
    return {name: built for name, built in found.items() if name in known}


def write_index(paths: Paths, index: dict[str, str]) -> None:
    """Replace the index atomically."""
    paths.image_index.parent.mkdir(parents=True, exist_ok=True)
    making = paths.image_index.with_suffix(".new")
    making.write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")
    making.rename(paths.image_index)


def push_images(paths: Paths, registry: str, names: Sequence[str] = ()) -> dict[str, str]:
    """Push the built images to the user's registry; return name -> reference there."""
    pushed = {}
    for name, local in read_index(paths).items():
        if recipe(name).loaded and (not names or name in names):
            remote = f"{registry.rstrip('/')}/trimtab-{name}:{local.rpartition(':')[2]}"
            with console.step(f"push {remote}", 600):
                buildah(paths, "push", "--quiet", local, f"docker://{remote}", limit_s=600)
            pushed[name] = remote
    if not pushed:
        raise LocalClusterError("nothing to push: run `python3 -m dev.localcluster images` first")
    return pushed


def work_directory(paths: Paths) -> Path:
    """Return the directory for temporary files of builds, on the same disk as the cache."""
    directory = paths.cache / "work"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def named_contexts(paths: Paths, wanted: Recipe) -> Iterator[dict[str, Path]]:
    """Prepare the named contexts of a build, in a directory that is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=work_directory(paths)) as work:
        makers = {
            "busybox": _busybox,
            "rootfs": _root_filesystem,
            "jars": _jars,
            "prometheus": _prometheus,
        }
        prepared = {}
        for name in wanted.contexts:
            directory = Path(work) / name
            directory.mkdir()
            makers[name](paths, directory)
            prepared[name] = directory
        yield prepared


def _busybox(_paths: Paths, directory: Path) -> None:
    shutil.copy2(BUSYBOX, directory / "busybox")
    (directory / "links").mkdir()
    for name in BUSYBOX_LINKS:
        (directory / "links" / name).symlink_to("busybox")


def _root_filesystem(_paths: Paths, directory: Path) -> None:
    """Make the base with mmdebstrap; it keeps the man pages, which the JRE's installation needs."""
    lines = (REPO / "images" / "base" / "packages.txt").read_text().splitlines()
    packages = ",".join(line.strip() for line in lines if line and not line.startswith("#"))
    argv = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}"]
    run([*argv, DEBIAN_SUITE, directory / "base.tar"], limit_s=900,
        env={"TMPDIR": str(directory.parent)})  # fmt: skip


def _jars(paths: Paths, directory: Path) -> None:
    for profile in ("kafka", "spark"):
        shutil.copytree(ensure_jars(paths, profile), directory / profile)


def _prometheus(paths: Paths, directory: Path) -> None:
    ensure_tools(paths, ["prometheus"])
    os.link(binary(paths, "prometheus"), directory / "prometheus")
