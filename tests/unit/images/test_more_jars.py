"""The example's image takes the jars of its list, and no others."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples/97-more-jars"
LISTED = {"geohash-1.4.0.jar": b"a class", "other-2.jar": b"another"}


def held_to_the_list(folder: Path, jars: dict[str, bytes]) -> subprocess.CompletedProcess[str]:
    """Run the step of the Dockerfile that compares what Maven resolved with the list."""
    lines = (EXAMPLE / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    (step,) = (line.removeprefix("RUN ") for line in lines if "sha256sum" in line)
    sums = [f"{hashlib.sha256(held).hexdigest()}  {name}\n" for name, held in LISTED.items()]
    (folder / "jars.sha256").write_text("".join(sums))
    (folder / "jars").mkdir()
    for name, held in jars.items():
        (folder / "jars" / name).write_bytes(held)
    return subprocess.run(
        ["sh", "-c", step], cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )


def test_what_is_listed_gets_in(tmp_path: Path) -> None:
    run = held_to_the_list(tmp_path, LISTED)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("jars", "named"),
    [
        (LISTED | {"sneaked-1.jar": b"in"}, "> sneaked-1.jar"),
        ({"other-2.jar": b"another"}, "< geohash-1.4.0.jar"),
        (LISTED | {"other-2.jar": b"not that"}, "other-2.jar: FAILED"),
    ],
)
def test_all_else_fails_the_build_and_is_named(
    tmp_path: Path, jars: dict[str, bytes], named: str
) -> None:
    run = held_to_the_list(tmp_path, jars)
    assert run.returncode != 0
    assert named in run.stdout
