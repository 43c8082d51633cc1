"""The chart of a release, packed by the real Helm and rendered from the package."""

from __future__ import annotations

import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev.localcluster.binaries import binary
from dev.localcluster.paths import from_environment
from dev.release import chart
from dev.release.files import sha256
from dev.release.names import Release
from tests.apiserver.conftest import ROOT, Kubectl
from tests.apiserver.test_chart import NAMED, OWN, of

pytestmark = pytest.mark.apiserver

EPOCH = 1_700_000_000


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    made = Release("9.8.7", EPOCH, tmp_path_factory.mktemp("release"), "https://example.com",
                   "https://example.com/home")  # fmt: skip
    chart.package(from_environment(), made)
    return made


def helm(release: Release, *values: str) -> subprocess.CompletedProcess[str]:
    program = binary(from_environment(), "helm")
    options = [f"--set={value}" for value in values]
    return subprocess.run(
        [program, "template", "t", release.chart, "--namespace", "home", *options],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_packed_chart_has_the_version_and_the_repository_keeps_its_own(
    release: Release,
) -> None:
    about = chart.metadata(release.chart)
    assert (about["version"], about["appVersion"]) == ("9.8.7", "9.8.7")
    assert (about["home"], about["sources"]) == (release.home, [release.home])
    assert "9.8.7" not in (ROOT / "charts/trimtab/Chart.yaml").read_text()


def test_packed_again_it_is_the_same(release: Release, tmp_path: Path) -> None:
    again = replace(release, folder=tmp_path)
    chart.package(from_environment(), again)
    for first, second in (
        (release.chart, again.chart),
        (release.chart_layout, again.chart_layout),
    ):
        assert sha256(first) == sha256(second)


def test_the_packed_chart_holds_all_files_of_the_repository(release: Release) -> None:
    with tarfile.open(release.chart) as archive:
        held = {name.removeprefix("trimtab/") for name in archive.getnames()}
    folder = ROOT / "charts/trimtab"
    assert held == {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}


def test_without_images_it_says_which_are_missing(release: Release) -> None:
    done = helm(release, OWN)
    assert done.returncode != 0
    assert "set images.operator, images.pipeline, images.kafka (" in done.stderr


def test_the_api_server_accepts_what_it_renders(release: Release, kubectl: Kubectl) -> None:
    done = helm(release, *NAMED, OWN)
    assert done.returncode == 0, done.stderr
    manifests: list[dict[str, Any]] = [m for m in yaml.safe_load_all(done.stdout) if m]
    (deployment,) = of(manifests, "Deployment", "t-operator")
    assert deployment["metadata"]["labels"]["app.kubernetes.io/version"] == "9.8.7"
    assert (
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == NAMED[0].split("=")[1]
    )
    kubectl("create", "namespace", "home", check=False)
    for manifest in manifests:
        kubectl("apply", "--dry-run=server", "-n", "home", "-f", "-", manifest=manifest)
