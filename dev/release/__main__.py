"""``python3 -m dev.release VERSION``: makes build/release; `make release` calls it."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import REPO, from_environment
from dev.localcluster.run import run
from dev.release import archives, chart, krew, plugin
from dev.release.bill import bill
from dev.release.files import sha256
from dev.release.names import Release, checked_version, sums

FOLDER = REPO / "build" / "release"
NO_URL = "https://example.com/trimtab"


def make(release: Release, *, plugins: bool, images: bool) -> None:
    """Make all files of a release in its folder, which is emptied first."""
    paths = from_environment()
    shutil.rmtree(release.folder, ignore_errors=True)
    release.folder.mkdir(parents=True)
    with console.step("chart"):
        chart.package(paths, release)
    with console.step("wheel and sdist"):
        plugin.build_python(release)
    if plugins:
        make_plugins(release)
    release.bill("cli").write_text(bill(release, paths, "cli"))
    if images:
        archives.write_images(release, paths)
    made = {each.name: sha256(each) for each in release.folder.iterdir()}
    (release.folder / "SHA256SUMS").write_text(sums(made))


def make_plugins(release: Release) -> None:
    """Make the kubectl plugin for each platform, and its manifest for krew."""
    digests = {}
    for system, processor in plugin.PLATFORMS:
        with console.step(f"kubectl plugin for {system}/{processor}"):
            plugin.build_plugin(release, system, processor)
        digests[system, processor] = sha256(release.plugin(system, processor))
    manifest = krew.manifest(release, digests)
    (release.folder / "trimtab.yaml").write_text(krew.render(manifest))


def epoch(environment: Mapping[str, str]) -> int:
    """The time that files bear: SOURCE_DATE_EPOCH, else that of the last commit."""
    given = environment.get("SOURCE_DATE_EPOCH")
    return int(given or run(["git", "log", "-1", "--format=%ct"], cwd=REPO))


def check_images_version(version: str) -> None:
    """Refuse a version that the images would not have: they are built from the repository itself.

    Raises:
        ValueError: it is another; says what to do.
    """
    own = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["version"]
    if version != own:
        raise ValueError(
            f"the images would be of version {own}: write {version} into pyproject.toml and"
            " Chart.yaml, or set RELEASE_IMAGES=0"
        )


def main(arguments: Sequence[str]) -> int:
    """Make the release of a version; returns the exit code."""
    environment = os.environ
    try:
        (version,) = arguments
        plugins, images = (environment.get(f"RELEASE_{e}") != "0" for e in ("PLUGINS", "IMAGES"))
        url = environment.get("RELEASE_URL") or NO_URL
        release = Release(
            checked_version(version), epoch(environment), FOLDER, url.rstrip("/"),
            environment.get("RELEASE_HOME", ""),
        )  # fmt: skip
        if images:
            check_images_version(version)
        make(release, plugins=plugins, images=images)
    except (LocalClusterError, ValueError) as error:
        console.warn(f"error: {error}")
        return 1
    for file in sorted(FOLDER.iterdir()):
        console.say(f"{file.stat().st_size / 2**20:9.2f} MiB  {Path(file).relative_to(REPO)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
