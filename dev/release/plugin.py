"""The kubectl plugin: one executable file with the command line and all that it imports.

It needs a Python on the user's machine. The compiled modules of all supported versions lie side by
side in it, since their file names differ, so each platform has one file.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from dev.localcluster.paths import REPO
from dev.localcluster.run import run
from dev.release.files import stage, write_tar_gz
from dev.release.names import Release, with_version
from dev.release.packages import closure, pins
from images.lock import normal

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    ("linux", "amd64"): ("manylinux2014_x86_64", "manylinux_2_28_x86_64"),
    ("linux", "arm64"): ("manylinux2014_aarch64", "manylinux_2_28_aarch64"),
    ("darwin", "amd64"): ("macosx_11_0_x86_64",),
    ("darwin", "arm64"): ("macosx_11_0_arm64",),
}
"""What krew calls a platform, and the tags of wheels that run there."""
PROGRAM = "kubectl-trimtab"
LIMIT_S = 600


def build_python(release: Release) -> None:
    """Build wheel and sdist with the version of the release."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        stage(folder, release.epoch, "operator/trimtab", "pyproject.toml", "README.md", "LICENSE",
              "CHANGELOG.md")  # fmt: skip
        project = folder / "pyproject.toml"
        project.write_text(with_version(project.read_text(), release.version))
        build = [sys.executable, "-m", "hatchling", "build", "-d", str(release.folder)]
        run(build, cwd=folder, env=release.environment)


def build_plugin(release: Release, system: str, processor: str) -> None:
    """Pack the plugin for one platform, with the wheel that is in the folder."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        modules = _modules(release, folder, PLATFORMS[system, processor])
        program = folder / PROGRAM
        run(
            [
                Path(sys.executable).with_name("shiv"), "--site-packages", modules,
                "--entry-point", "trimtab.cli:main", "--python", "/usr/bin/env python3",
                "--preamble", Path(__file__).with_name("preamble.py"),
                "--compressed", "--reproducible", "--output-file", program,
            ],
            limit_s=LIMIT_S, env=release.environment,
        )  # fmt: skip
        files = {PROGRAM: program, "LICENSE": REPO / "LICENSE"}
        write_tar_gz(release.plugin(system, processor), files, release.epoch, PROGRAM)


def _modules(release: Release, folder: Path, tags: tuple[str, ...]) -> Path:
    """A directory with all that the command line imports, for every Python."""
    modules, known = folder / "modules", pins()
    names = closure("cli")
    platforms = [option for tag in tags for option in ("--platform", tag)]
    for python in PYTHONS:
        locked, target = folder / "locked.txt", folder / python
        locked.write_text("\n".join(known[name] for name in names) + "\n")
        _pip(
            target, "--require-hashes", "--only-binary=:all:", "--implementation=cp",
            f"--python-version={python}", *platforms, "-r", locked,
        )  # fmt: skip
        shutil.copytree(target, modules, dirs_exist_ok=True)
        names = compiled(target)  # the others are the same for every Python
    install_own(release, folder / "own")
    shutil.copytree(folder / "own", modules, dirs_exist_ok=True)
    shutil.rmtree(modules / "bin", ignore_errors=True)
    return modules


def install_own(release: Release, target: Path) -> None:
    """Install the wheel of the release by its name, since pip would record the path of a file."""
    _pip(target, "--no-index", "--find-links", release.folder, f"trimtab=={release.version}")


def _pip(target: Path, *options: str | Path) -> None:
    """Install into a directory, exactly what is named."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--no-compile", "--target", target, *options], limit_s=LIMIT_S)


def compiled(installed: Path) -> list[str]:
    """The packages in a directory that are not pure Python."""
    wheels = sorted(installed.glob("*.dist-info/WHEEL"))
    found = [each for each in wheels if "Root-Is-Purelib: false" in each.read_text()]
    return [normal(each.parent.name.partition("-")[0]) for each in found]
