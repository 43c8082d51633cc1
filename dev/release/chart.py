"""The chart: packed by Helm, and as an OCI layout for registries and tools without Helm."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import yaml
from dev.localcluster import layout
from dev.localcluster.binaries import binary, ensure_tools
from dev.localcluster.paths import Paths
from dev.localcluster.run import run
from dev.release.files import stage, write_tar
from dev.release.names import Release

CHART = "charts/trimtab"
CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
CONTENT_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


def package(paths: Paths, release: Release) -> None:
    """Pack the chart with what its copy in the repository cannot have: version and address."""
    ensure_tools(paths, ["helm"])
    with tempfile.TemporaryDirectory() as work:
        stage(Path(work), release.epoch, CHART)
        about = Path(work) / CHART / "Chart.yaml"
        about.write_text(addressed(about.read_text(), release.home))
        os.utime(about, (release.epoch, release.epoch))
        version = [f"--version={release.version}", f"--app-version={release.version}"]
        helm: list[str | Path] = [binary(paths, "helm"), "package", Path(work) / CHART]
        run([*helm, *version, f"--destination={release.folder}"])
    packed = release.chart.read_bytes()
    write_tar(release.chart_layout, as_layout(metadata(release.chart), packed), release.epoch)


def addressed(about: str, home: str) -> str:
    """A Chart.yaml with the project's address, if it has one."""
    return about + yaml.safe_dump({"home": home, "sources": [home]}) if home else about


def metadata(chart: Path) -> dict[str, Any]:
    """The Chart.yaml in a packed chart."""
    with tarfile.open(chart) as archive:
        file = archive.extractfile("trimtab/Chart.yaml")
        assert file is not None
        read: dict[str, Any] = yaml.safe_load(file)
    return read


def as_layout(about: dict[str, Any], packed: bytes) -> dict[str, bytes]:
    """The files of an OCI layout with one chart, as Helm pushes and pulls it."""
    config = _json(about)
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _descriptor(CONFIG_TYPE, config),
            "layers": [_descriptor(CONTENT_TYPE, packed)],
        }
    )
    named = {"annotations": {layout.NAME: about["version"]}}
    index = {"schemaVersion": 2, "manifests": [_descriptor(MANIFEST_TYPE, manifest) | named]}
    blobs = {layout.blob_name(_digest(blob)): blob for blob in (config, packed, manifest)}
    version = {"imageLayoutVersion": "1.0.0"}
    return {"oci-layout": _json(version), "index.json": _json(index), **blobs}


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(data), "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
