"""Writes the exact, hashed requirements of one extra: run inside the image builds.

constraints.txt pins and hashes everything that any extra needs, but pip's hash checking wants each
requirement of a run pinned by name. So pip first tells which packages the extra comes to (without
installing them), and then their pins are copied out of constraints.txt. The result changes only
when those pins change, and with it the image layer that holds them.

    python3 lock.py PIP EXTRA|NAME... > locked.txt
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def normal(name: str) -> str:
    """Return a package name in the form in which all spellings of it are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(constraints: str) -> dict[str, str]:
    """Return for each package its whole line: pin and hashes."""
    joined = constraints.replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in joined.splitlines() if "==" in line]
    return {normal(line.split("==")[0]): line for line in lines}


def wanted(project: dict[str, object], what: list[str]) -> list[str]:
    """Return the requirements for a list of extras of the project, or of bare package names."""
    extras = project.get("optional-dependencies")
    requirements: list[str] = []
    for name in what:
        if isinstance(extras, dict) and name in extras:
            base = project.get("dependencies")
            requirements += [*(base if isinstance(base, list) else []), *extras[name]]
        else:
            requirements.append(name)
    return requirements


def closure(pip: str, requirements: list[str], pins: dict[str, str]) -> list[str]:
    """Return the names of all packages that pip would install for the requirements."""
    with tempfile.TemporaryDirectory() as work:
        versions = Path(work) / "versions.txt"
        versions.write_text("\n".join(line.split()[0] for line in pins.values()) + "\n")
        report = Path(work) / "report.json"
        options = ["-q", "--dry-run", "--ignore-installed", "--report", str(report)]
        subprocess.run(
            [pip, "install", *options, "-c", str(versions), *requirements],
            check=True,
            stdout=sys.stderr,
        )
        found = json.loads(report.read_text())["install"]
    return sorted(normal(entry["metadata"]["name"]) for entry in found)


def main() -> None:
    """Print the locked requirements."""
    pip, *what = sys.argv[1:]
    pins = read_pins((HERE / "constraints.txt").read_text())
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    lines = [pins[name] for name in closure(pip, wanted(project, what), pins)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
