"""How a driver or an executor starts as a user whom the image does not know."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

IMAGE = Path(__file__).parents[3] / "images/pipeline"
NOBODY = 54321
VARIABLES = {"HOME", "LD_PRELOAD", "NSS_WRAPPER_PASSWD", "NSS_WRAPPER_GROUP"}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory that every user can write to, as /tmp in the pods."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o777)
        shutil.copy2(IMAGE / "entrypoint.sh", directory)
        yield directory


def run(scratch: Path, user: int, *command: str) -> str:
    done = subprocess.run(
        ["bash", "entrypoint.sh", *command], cwd=scratch, user=user, group=0, extra_groups=[],
        env={"PATH": os.environ["PATH"], "TMPDIR": str(scratch)},
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    return done.stdout


def variables(scratch: Path, user: int) -> dict[str, str]:
    pairs = (line.partition("=") for line in run(scratch, user, "env").splitlines())
    return {name: value for name, _, value in pairs if name in VARIABLES}


def test_a_user_without_a_name_gets_one(scratch: Path) -> None:
    found = variables(scratch, NOBODY)
    assert found.keys() == VARIABLES
    assert (found["LD_PRELOAD"], found["HOME"]) == ("libnss_wrapper.so", str(scratch))
    (user,) = Path(found["NSS_WRAPPER_PASSWD"]).read_text().splitlines()
    assert user == f"trimtab:x:{NOBODY}:0::{scratch}:/bin/false"
    assert Path(found["NSS_WRAPPER_GROUP"]).read_text() == "trimtab:x:0:\n"


def test_a_container_that_starts_again_gets_it_again(scratch: Path) -> None:
    assert variables(scratch, NOBODY) == variables(scratch, NOBODY)


def test_a_user_with_a_name_keeps_it(scratch: Path) -> None:
    assert variables(scratch, 0) == {}


def test_installed_packages_come_behind_what_the_image_has_on_the_path(scratch: Path) -> None:
    def path(**env: str) -> str:
        done = subprocess.run(
            ["bash", "entrypoint.sh", "printenv", "PYTHONPATH"], cwd=scratch, timeout=30,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(scratch)} | env,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout.strip()

    assert path() == ""
    assert path(TRIMTAB_PACKAGES="/var/p") == "/var/p"
    assert path(TRIMTAB_PACKAGES="/var/p", PYTHONPATH="/opt/app") == "/opt/app:/var/p"
