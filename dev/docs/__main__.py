"""`python -m dev.docs` builds the site; any dead link or anchor ends it with code 1.

The pages are copied as they lie in the repository, so a link is the same on the site as in the
repository, also one that leaves docs/: nothing is rewritten.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from dev.docs.check import faults
from dev.localcluster import console
from dev.localcluster.paths import REPO

PAGES = (
    "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "docs", "examples",
    "bench/peers/README.md", "charts/trimtab/values.yaml",
    "charts/trimtab/files/rules.yaml",
)  # fmt: skip
"""What the site holds: files, and folders with all that is in them."""

CONFIG = "mkdocs.yml"


def copied(repo: Path, build: Path) -> None:
    """Copy the pages and the configuration; nothing of an earlier build stays."""
    pages = build / "pages"
    for old in (pages, build / "site"):
        shutil.rmtree(old, ignore_errors=True)
    for name in PAGES:
        source, target = repo / name, pages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    shutil.copyfile(repo / CONFIG, build / CONFIG)


def built(build: Path) -> bool:
    """Build the copied pages; says what is wrong, without the tool's colours."""
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    done = subprocess.run(
        [*command, "-f", CONFIG], cwd=build, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    words = re.sub("\x1b\\[[0-9;]*m", "", done.stdout)
    if "--strict flag" in words:  # the stack says nothing beside what it has listed
        words, _, _ = words.partition("Traceback")
    console.say(words.strip())
    return done.returncode == 0


def main() -> int:
    """Build the site into build/site; returns the exit code."""
    build = REPO / "build"
    copied(REPO, build)
    if not built(build):
        return 1
    found = list(faults(build / "site"))
    for fault in found:
        console.warn(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
