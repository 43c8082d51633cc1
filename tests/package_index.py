"""An index of packages on this machine, and the folders of a pod that installs from it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from trimtab.job import packages


@dataclass(frozen=True)
class Pod:
    """The folders of a pod, and what the index serves."""

    root: Path
    url: str

    @property
    def file(self) -> Path:
        return self.root / "requirements.txt"

    @property
    def packages(self) -> Path:
        return self.root / "packages"

    def wheel(self, name: str, version: str = "1.0", needs: str = "") -> str:
        """Publish a wheel; returns its line of requirements."""
        folder = self.root / "index/simple" / name
        folder.mkdir(parents=True, exist_ok=True)
        file, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
        needed = f"Requires-Dist: {needs}\n" if needs else ""
        with zipfile.ZipFile(file, "w") as wheel:
            wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n")
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}"
            wheel.writestr(f"{info}/METADATA", about)
            tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            wheel.writestr(f"{info}/WHEEL", tag)
            wheel.writestr(f"{info}/RECORD", "")
        links = "".join(f'<a href="{each.name}">{each.name}</a>' for each in folder.glob("*.*"))
        (folder / "index.html").write_text(f"<!DOCTYPE html><body>{links}</body>")
        return f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"

    def install(self, requirements: str, sha256: str = "") -> int:
        """Run the installer as the init container does; returns its exit code."""
        self.file.write_text(requirements)
        return packages.main(
            [
                "--sha256", sha256 or hashlib.sha256(requirements.encode()).hexdigest(),
                "--requirements", str(self.file), "--packages", str(self.packages),
                "--pins", str(self.root / "pins.txt"), "--termination-log", str(self.root / "log"),
            ]
        )  # fmt: skip

    @property
    def words(self) -> str:
        """What the termination log says."""
        told = json.loads((self.root / "log").read_text())
        assert told["reason"] == "PackagesNotInstalled"
        return str(told["message"])

    def runs(self, code: str) -> str:
        """What Python prints in the container that starts after it."""
        env = {"PYTHONPATH": str(self.packages)}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@contextmanager
def serving(root: Path) -> Iterator[Pod]:
    """A pod, and an index that has no package yet."""
    for folder in ("index/simple", "packages"):
        (root / folder).mkdir(parents=True)
    (root / "pins.txt").write_text("pydantic==2.14.2 --hash=sha256:aa\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=root / "index"))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Pod(root, f"http://127.0.0.1:{server.server_address[1]}/simple")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def variables(pod: Pod) -> dict[str, str]:
    """What pip reads in the pod, and nothing that this machine says."""
    return {
        "PIP_INDEX_URL": pod.url,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "1",
        "no_proxy": "127.0.0.1",
    }
