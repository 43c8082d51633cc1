"""An index of one package in a namespace, from which pods install it."""

from __future__ import annotations

import base64
from pathlib import Path

from dev.demo.load import job
from tests.e2e.conftest import INDEX_SECRET, Json, Stage
from tests.package_index import Pod

NAME, PORT = "packages", 8000


def serve(stage: Stage, folder: Path, package: str) -> str:
    """Serve a wheel of the package in the namespace; returns its line of requirements."""
    published = Pod(folder, "")
    line = published.wheel(package)
    files = sorted((folder / "index/simple" / package).iterdir())
    encoded = {file.name: base64.b64encode(file.read_bytes()).decode() for file in files}
    address = f"http://{NAME}.{stage.kube.namespace}.svc:{PORT}"
    config = f"[global]\nindex-url = {address}/simple\ntrusted-host = {address[7:]}\n"
    stage.apply(
        _named("ConfigMap", NAME, binaryData=encoded),
        _named("Secret", INDEX_SECRET, stringData={"pip.conf": config}),
        _server(stage, package, list(encoded)),
        _named(
            "Service", NAME,
            spec={"selector": {"app": NAME}, "ports": [{"port": PORT, "targetPort": PORT}]},
        ),
    )  # fmt: skip
    stage.wait_long("the index", 60, lambda: _running(stage))
    return line


def _server(stage: Stage, package: str, files: list[str]) -> Json:
    """A pod in which Python serves the files as `/simple/<package>/`."""
    pod: Json = job(stage.kube, NAME, stage.image, [])["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    container["args"] = ["python", "-m", "http.server", str(PORT), "--directory", "/srv"]
    container["volumeMounts"] = [{"name": "index", "mountPath": f"/srv/simple/{package}"}]
    pod["volumes"] = [{"name": "index", "configMap": {"name": NAME}}]
    served = _named("Pod", NAME, spec=pod)
    served["metadata"]["labels"] = {"app": NAME}
    return served


def _running(stage: Stage) -> bool:
    found = stage.kube.get("pod", NAME) or {}
    return (found.get("status") or {}).get("phase") == "Running"


def _named(kind: str, name: str, **rest: object) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **rest}
