"""The pure parts of a release, and its files where they are made in no time."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev.release import __main__ as release_main
from dev.release import chart, krew, maven, names
from dev.release.bill import document, part
from dev.release.debian import installed, packages
from dev.release.files import sha256, write_tar_gz
from dev.release.packages import closure, pins
from dev.release.plugin import PLATFORMS, PROGRAM, PYTHONS, build_python, compiled, install_own
from packageurl import PackageURL

ROOT = Path(__file__).parents[3]
Json = dict[str, Any]


@pytest.fixture
def release(tmp_path: Path) -> names.Release:
    return names.Release("1.2.3-rc.1", 1_700_000_000, tmp_path, "https://example.com/v1")


@pytest.mark.parametrize("version", ["0.1.0", "1.2.3", "10.0.0-rc.12"])
def test_versions(version: str) -> None:
    assert names.checked_version(version) == version


@pytest.mark.parametrize("version", ["", "v1.2.3", "1.2", "1.2.3-", "01.2.3", "1.2.3+a", "1.2.3\n"])
def test_what_is_no_version(version: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        names.checked_version(version)


def test_the_version_of_the_project_is_replaced_once() -> None:
    before = (ROOT / "pyproject.toml").read_text()
    after = names.with_version(before, "9.8.7")
    assert [b for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b] == [
        'version = "9.8.7"'
    ]
    with pytest.raises(ValueError, match="0 lines"):
        names.with_version("[project]\n", "1.0.0")


def test_images_are_only_released_in_their_own_version() -> None:
    own = yaml.safe_load((ROOT / "charts/trimtab/Chart.yaml").read_text())
    assert own["version"] == own["appVersion"]
    release_main.check_images_version(own["version"])
    with pytest.raises(ValueError, match="RELEASE_IMAGES=0"):
        release_main.check_images_version("99.0.0")


def test_files_bear_the_time_that_is_asked_for() -> None:
    assert release_main.epoch({"SOURCE_DATE_EPOCH": "17"}) == 17
    assert release_main.epoch({}) > 1_700_000_000


def test_the_checksums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    text = names.sums({name: sha256(tmp_path / name) for name in ("b", "a")})
    assert [line.split("  ")[1] for line in text.splitlines()] == ["a", "b"]
    done = subprocess.run(["sha256sum", "--check", "--strict"], input=text, cwd=tmp_path,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout


def archive(release: names.Release, folder: Path) -> Path:
    program, license_ = folder / "program", folder / "license"
    program.write_text("#!/bin/sh\n")
    license_.write_text("Apache\n")
    target = release.plugin("linux", "amd64")
    write_tar_gz(target, {PROGRAM: program, "LICENSE": license_}, release.epoch, PROGRAM)
    return target


def test_the_plugins_archive_is_the_same_each_time(release: names.Release, tmp_path: Path) -> None:
    made = archive(release, tmp_path)
    first = sha256(made)
    assert sha256(archive(release, tmp_path)) == first
    assert int.from_bytes(made.read_bytes()[4:8], "little") == release.epoch  # gzip's own
    with tarfile.open(made) as opened:
        modes = {each.name: each.mode for each in opened}
    assert modes == {PROGRAM: 0o755, "LICENSE": 0o644}


def test_krew_accepts_the_manifest(release: names.Release, tmp_path: Path) -> None:
    """The rules that krew's developer guide and its validation state."""
    digest = sha256(archive(release, tmp_path))
    found = yaml.safe_load(krew.render(krew.manifest(release, dict.fromkeys(PLATFORMS, digest))))
    spec = found["spec"]
    assert (found["apiVersion"], found["kind"]) == (krew.API_VERSION, "Plugin")
    assert re.fullmatch(r"[\w-]+", found["metadata"]["name"])
    assert spec["version"] == "v1.2.3-rc.1"
    assert 0 < len(spec["shortDescription"]) <= 50
    assert "\n" not in spec["shortDescription"]
    assert spec["homepage"].startswith("https://")
    at_home = krew.manifest(replace(release, home="https://example.com/trimtab"), {})
    assert at_home["spec"]["homepage"] == "https://example.com/trimtab"
    assert len(spec["platforms"]) == len(PLATFORMS)
    for each in spec["platforms"]:
        assert each.keys() == {"selector", "uri", "sha256", "bin"}
        assert each["selector"]["matchLabels"].keys() == {"os", "arch"}
        assert re.fullmatch(r"[0-9a-f]{64}", each["sha256"])
        assert each["uri"].startswith("https://")
        assert each["uri"].endswith(".tar.gz")
        # krew unpacks the archive and links to this file, which must be in it
        assert each["bin"] == PROGRAM
    assert spec["platforms"][0]["uri"] == (
        "https://example.com/v1/kubectl-trimtab-1.2.3-rc.1-linux-amd64.tar.gz"
    )


def test_the_plugin_says_which_pythons_it_has() -> None:
    preamble = (ROOT / "dev/release/preamble.py").read_text()
    assert f"{PYTHONS[0]} to {PYTHONS[-1]}" in preamble
    assert f"{PYTHONS[0]} to {PYTHONS[-1]}" in krew.CAVEATS
    first, last = (tuple(map(int, each.split("."))) for each in (PYTHONS[0], PYTHONS[-1]))
    assert f"< {first}" in preamble
    assert f">= {(last[0], last[1] + 1)}" in preamble


def test_compiled_packages_are_told_from_their_wheels(tmp_path: Path) -> None:
    for name, pure in (("pydantic_core-2.5", "false"), ("click-8.0", "true")):
        folder = tmp_path / f"{name}.dist-info"
        folder.mkdir()
        (folder / "WHEEL").write_text(f"Root-Is-Purelib: {pure}\n")
    assert compiled(tmp_path) == ["pydantic-core"]


def test_the_wheel_has_the_version_and_no_path_of_this_machine(tmp_path: Path) -> None:
    wheels = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        made = names.Release("1.2.3-rc.1", 1_700_000_000, folder, "https://example.com")
        build_python(made)
        wheels.append(sha256(folder / "trimtab-1.2.3rc1-py3-none-any.whl"))
    assert wheels[0] == wheels[1]
    installed_to = tmp_path / "own"
    install_own(made, installed_to)
    kept = {each.name for each in (installed_to / "trimtab-1.2.3rc1.dist-info").iterdir()}
    assert "METADATA" in kept
    assert "direct_url.json" not in kept


def test_an_extra_comes_to_its_packages_and_theirs() -> None:
    found = closure("cli")
    assert {"click", "kubernetes", "pydantic-core", "urllib3"} <= set(found)
    assert not {"kopf", "pyspark", "pytest", "trimtab"} & set(found)
    assert set(found) <= pins().keys()
    assert set(found) < set(closure("cli", "operator"))


def test_the_chart_has_the_icon_of_the_site_and_the_address_that_a_release_is_told() -> None:
    text = (ROOT / "charts/trimtab/Chart.yaml").read_text()
    icon = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["theme"]["logo"]
    picture = base64.b64encode((ROOT / icon).read_bytes()).decode()
    about = yaml.safe_load(text)
    assert about["icon"] == f"data:image/svg+xml;base64,{picture}"
    assert about["maintainers"] == [{"name": "trimtab authors"}]
    assert not {"home", "sources"} & set(about)
    home = "https://example.com/trimtab"
    assert yaml.safe_load(chart.addressed(text, home)) == about | {"home": home, "sources": [home]}
    assert chart.addressed(text, "") == text


def test_a_chart_as_an_oci_layout() -> None:
    packed = b"a chart"
    files = chart.as_layout({"name": "trimtab", "version": "1.2.3"}, packed)
    index = json.loads(files["index.json"])

    def blob(descriptor: Json) -> bytes:
        algorithm, _, digest = descriptor["digest"].partition(":")
        data = files[f"blobs/{algorithm}/{digest}"]
        assert hashlib.sha256(data).hexdigest() == digest
        assert len(data) == descriptor["size"]
        return data

    (named,) = index["manifests"]
    assert named["annotations"]["org.opencontainers.image.ref.name"] == "1.2.3"
    manifest = json.loads(blob(named))
    assert json.loads(blob(manifest["config"]))["name"] == "trimtab"
    assert [blob(layer) for layer in manifest["layers"]] == [packed]
    assert len(files) == 5


def test_the_jars_that_maven_lists() -> None:
    listed = """
The following files have been resolved:
   org.apache.kafka:kafka_2.13:jar:4.3.0:compile -- module kafka (auto)
   io.netty:netty-epoll:jar:linux-x86_64:4.1.1:runtime
   junit:junit:jar:4.0:test
"""
    assert list(maven.coordinates(listed)) == [
        ("org.apache.kafka", "kafka_2.13", "4.3.0", "kafka_2.13-4.3.0.jar"),
        ("io.netty", "netty-epoll", "4.1.1", "netty-epoll-4.1.1-linux-x86_64.jar"),
    ]


STATUS = """Package: tini
Status: install ok installed
Architecture: amd64
Version: 0.19.0-1
Description: a: b
 Package: no
 more

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1
"""


def test_the_installed_packages_of_an_image(tmp_path: Path) -> None:
    assert list(installed(STATUS)) == [("tini", "0.19.0-1", "amd64")]
    blobs = tmp_path / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    older = STATUS.replace("0.19.0-1", "0.18")
    for name, files in (("low", {"var/lib/dpkg/status": older}), ("up", {"./x": "x"}),
                        ("mid", {"./var/lib/dpkg/status": STATUS})):  # fmt: skip
        with tarfile.open(blobs / name, "w") as layer:
            for path, text in files.items():
                head = tarfile.TarInfo(path)
                head.size = len(text)
                layer.addfile(head, io.BytesIO(text.encode()))
    layers = [{"digest": f"sha256:{name}"} for name in ("low", "mid", "up")]
    (blobs / "image").write_text(json.dumps({"config": {"digest": "c"}, "layers": layers}))
    assert packages(tmp_path, {"digest": "sha256:image"}) == [("tini", "0.19.0-1", "amd64")]


def test_a_bill_names_its_parts_and_is_the_same_each_time(release: names.Release) -> None:
    def made() -> str:
        urls = ("pkg:deb/debian/tini@0.19.0-1", "pkg:pypi/click@8.5.1")
        jar = part(PackageURL.from_string("pkg:maven/org.x/y@1"), "ab" * 32)
        parts = [*(part(PackageURL.from_string(url)) for url in urls), jar]
        return document(release, "operator", parts)

    text = made()
    assert text == made()
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")
    assert found["metadata"]["component"]["version"] == "1.2.3-rc.1"
    assert {each["name"] for each in found["components"]} == {"tini", "click", "y"}
    (jar,) = (each for each in found["components"] if "hashes" in each)
    assert (jar["group"], jar["hashes"][0]["content"]) == ("org.x", "ab" * 32)


def workflow() -> Json:
    read: Json = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    return read


def test_only_the_job_that_builds_nothing_may_publish_and_sign() -> None:
    jobs = workflow()["jobs"]
    assert workflow()["permissions"] == {}
    assert jobs["build"]["permissions"] == {"contents": "read"}
    assert "secrets." not in json.dumps(jobs["build"])
    steps = json.dumps(jobs["publish"]["steps"])
    assert "make release" in json.dumps(jobs["build"]["steps"])
    assert "make " not in steps
    assert "dev/release/publish build/release" in steps


def test_what_is_pushed_and_signed_is_what_is_made(release: names.Release, tmp_path: Path) -> None:
    tools, log = tmp_path / "tools", tmp_path / "log"
    tools.mkdir()
    for tool in ("skopeo", "cosign"):  # a stand-in says what it was asked for, and gives a digest
        script = f'echo "{tool} $*" >> {log}\n[ {tool} = cosign ] || echo sha256:ab > "$4"\n'
        (tools / tool).write_text(f"#!/bin/sh\n{script}")
        (tools / tool).chmod(0o755)
    publish = [ROOT / "dev/release/publish", release.folder, release.version, "example.com/x/"]
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    subprocess.run(publish, env=environment, check=True)
    *copied, signed = (line.split() for line in log.read_text().splitlines())
    archives = [*map(release.image, names.IMAGES), release.chart_layout]
    pushed = [*(f"trimtab-{name}" for name in names.IMAGES), "charts/trimtab"]
    assert [line[-2:] for line in copied] == [
        [f"oci-archive:{file}", f"docker://example.com/x/{name}:{release.version}"]
        for file, name in zip(archives, pushed, strict=True)
    ]
    assert signed[3:] == [f"example.com/x/{name}@sha256:ab" for name in pushed]
