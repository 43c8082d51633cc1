"""What the Dockerfiles pin: the jars by checksum, Debian's packages by the day of the base."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

IMAGES = Path(__file__).parents[3] / "images"


def sums(image: str) -> dict[str, str]:
    lines = (IMAGES / image / "jars.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


@pytest.mark.parametrize(
    ("image", "jar", "version"),
    [
        ("kafka", "kafka_2.13", "kafka.version"),
        ("kafka", "slf4j-simple", "slf4j.version"),
        ("pipeline", "spark-sql-kafka-0-10_2.13", "spark.version"),
        ("pipeline", "spark-avro_2.13", "spark.avro.version"),
        ("pipeline", "spark-token-provider-kafka-0-10_2.13", "spark.token.provider.version"),
    ],
)
def test_the_checksums_are_of_the_versions_in_the_pom(image: str, jar: str, version: str) -> None:
    found = re.search(f"<{version}>(.*)</{version}>", (IMAGES / "pom.xml").read_text())
    assert found
    assert f"{jar}-{found.group(1)}.jar" in sums(image), f"write images/{image}/jars.sha256 anew"


@pytest.mark.parametrize("image", ["kafka", "pipeline"])
def test_a_build_refuses_other_jars(image: str, tmp_path: Path) -> None:
    """The check of the Dockerfile, on jars of our own."""
    text = (IMAGES / image / "Dockerfile").read_text().replace("\\\n", " ")
    (check,) = re.findall(r"RUN cd \S+ && (sha256sum .*? \]) ", text)
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "a.jar").write_text("a")
    made = subprocess.run(["sha256sum", "a.jar"], cwd=jars, capture_output=True, check=True)
    (tmp_path / "jars.sha256").write_bytes(made.stdout)

    def accepted() -> bool:
        return not subprocess.run(["sh", "-c", check], cwd=jars, check=False).returncode

    assert accepted()
    (jars / "b.jar").write_text("one more")
    assert not accepted()
    (jars / "b.jar").unlink()
    (jars / "a.jar").write_text("another")
    assert not accepted()


SOURCES = """Types: deb
# http://snapshot.example/archive/debian/20250520T000000Z
URIs: http://deb.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
# http://snapshot.example/archive/debian-security/20250520T000000Z
URIs: http://deb.example/debian-security
Suites: bookworm-security
Components: main
"""


def test_the_packages_are_those_of_the_bases_day(tmp_path: Path) -> None:
    sed, grep = (shutil.which(each) for each in ("sed", "grep"))
    assert sed
    assert grep
    text = (IMAGES / "debian/Dockerfile").read_text()
    (change,) = re.findall(r"sed -Ei '(.*)' ", text)
    (wanted,) = re.findall(r"grep -q '(.*)' ", text)
    file = tmp_path / "debian.sources"
    file.write_text(SOURCES)
    assert subprocess.run([grep, "-q", wanted, file], check=False).returncode == 1
    subprocess.run([sed, "-Ei", change, file], check=True)
    assert subprocess.run([grep, "-q", wanted, file], check=False).returncode == 0
    assert [line for line in file.read_text().splitlines() if "URIs" in line] == [
        "URIs: http://snapshot.example/archive/debian/20250520T000000Z",
        "URIs: http://snapshot.example/archive/debian-security/20250520T000000Z",
    ]
    assert "deb.example" not in file.read_text()
