"""Builds the Go tools from the committed modules, again only when their inputs change."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.failures import MissingToolError
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import Paths
from dev.localcluster.run import run
from dev.localcluster.toolchain import ensure_go
from dev.localcluster.versions import GO_TOOLS, GoTool, go_tool

# The API server alone took 200 s on two idle cores; a busy machine gets ten times as long.
BUILD_LIMIT_S = 2400
STALE_S = 24 * 3600


def built_path(paths: Paths, tool: GoTool) -> Path:
    """Return the path of a built tool, which has its version and a hash of its inputs."""
    return paths.bin / f"{tool.name}-{tool.version()}-{tool.key()}" / tool.name


def missing_tools(paths: Paths) -> list[GoTool]:
    """Return the tools that are not built yet."""
    return [tool for tool in GO_TOOLS if not built_path(paths, tool).exists()]


def binary(paths: Paths, name: str) -> Path:
    """Return a built tool.

    Raises:
        MissingToolError: it is not built; the message says how.
    """
    path = built_path(paths, go_tool(name))
    if not path.exists():
        raise MissingToolError(f"{name} is not built: run `python3 -m dev.localcluster tools`")
    return path


def ensure_tools(paths: Paths, names: Iterable[str] | None = None) -> None:
    """Build the missing ones of the named tools, or of all; waits for another command's build.

    Raises:
        CommandError: a build failed.
        LocalClusterError: the other command took too long.
        MissingToolError: there is no Go.
    """
    wanted = None if names is None else set(names)
    if not _todo(paths, wanted):
        return
    paths.bin.mkdir(parents=True, exist_ok=True)
    lock = paths.cache / "tools.lock"
    with exclusive(lock, "another command is building the tools", BUILD_LIMIT_S):
        remove_leftovers(paths, now_s=time.time())
        go = ensure_go(paths)
        for tool in _todo(paths, wanted):
            with console.step(f"build {tool.name} {tool.version()}", BUILD_LIMIT_S):
                build(go, tool, built_path(paths, tool))


def _todo(paths: Paths, wanted: set[str] | None) -> list[GoTool]:
    """The missing ones of the named tools, or of all."""
    return [t for t in missing_tools(paths) if wanted is None or t.name in wanted]


def build(go: str, tool: GoTool, target: Path) -> None:
    """Build one tool next to its final path and move it there at the end.

    A build that dies leaves only a directory with a leading dot, so a file with the final name is
    always complete.
    """
    making = target.parent.with_name(f".{target.parent.name}.{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    env = {
        "CGO_ENABLED": "0",
        "GOWORK": "off",
        "GOFLAGS": "-buildvcs=false",
        "GOTOOLCHAIN": "local",
        # garbage collection takes a fifth of a build's time, and the heap is small
        "GOGC": "400",
        "GOMEMLIMIT": "1500MiB",
    }
    run(
        ["nice", "-n", "10", go, "build", *tool.flags(), "-o", making / tool.name, tool.package],
        cwd=tool.gomod,
        env=env,
        limit_s=BUILD_LIMIT_S,
    )
    shutil.rmtree(target.parent, ignore_errors=True)
    making.rename(target.parent)


def remove_leftovers(paths: Paths, now_s: float) -> None:
    """Remove leftovers of builds that died over a day before `now_s` (seconds since 1970)."""
    for entry in paths.bin.glob(".*"):
        if now_s - entry.stat().st_mtime > STALE_S:
            shutil.rmtree(entry, ignore_errors=True)
