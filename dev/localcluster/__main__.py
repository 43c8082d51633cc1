"""``python3 -m dev.localcluster <command>``: the command line of the local cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from dev.localcluster import cluster, console, doctor, images, registry, seed
from dev.localcluster.binaries import binary, ensure_tools
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import Paths, from_environment


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="python3 -m dev.localcluster",
        description="A real Kubernetes on this machine, for development and tests.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    check = commands.add_parser("doctor", help="report what this machine lacks")
    check.add_argument("--install", action="store_true", help="install what apt and PyPI have")
    commands.add_parser("tools", help="build the programs (20 min the first time)")
    boot = commands.add_parser("up", help="boot a fresh cluster")
    boot.add_argument("--nodes", type=int, default=1)
    commands.add_parser("down", help="remove everything except the caches")
    commands.add_parser("status", help="report what runs; exits 0 if all is healthy")
    commands.add_parser("env", help="print shell variables for the cluster and its tools")
    build = commands.add_parser("images", help="build the images that changed")
    build.add_argument("--only", action="append", default=[], metavar="NAME")
    load = commands.add_parser("load", help="load the built images into the cluster")
    load.add_argument("--only", action="append", default=[], metavar="NAME")
    push = commands.add_parser("push", help="push the built images to a registry")
    push.add_argument("--registry", required=True)
    push.add_argument("--only", action="append", default=[], metavar="NAME")
    return top


def _doctor(paths: Paths, options: argparse.Namespace) -> int:
    return doctor.doctor(paths, install=options.install)


def _tools(paths: Paths, _options: argparse.Namespace) -> int:
    ensure_tools(paths)
    return 0


def _up(paths: Paths, options: argparse.Namespace) -> int:
    cluster.up(paths, options.nodes)
    console.say(str(paths.kubeconfig))
    return 0


def _down(paths: Paths, _options: argparse.Namespace) -> int:
    cluster.down(paths)
    return 0


def _status(paths: Paths, _options: argparse.Namespace) -> int:
    findings = cluster.status(paths)
    for finding in findings:
        mark = "ok " if finding.healthy else "BAD"
        console.say(f"{mark} {finding.what:<28} {finding.detail}")
    return 0 if all(finding.healthy for finding in findings) else 1


def _env(paths: Paths, _options: argparse.Namespace) -> int:
    console.say(f"export KUBECONFIG={paths.kubeconfig}")
    tools = [binary(paths, name).parent for name in ("kubectl", "helm")]
    console.say(f"export REGISTRY={registry.address()} SSL_CERT_FILE={registry.trusted(paths)}")
    console.say(f"export PATH={':'.join(str(t) for t in tools)}{os.pathsep}$PATH")
    return 0


def _images(paths: Paths, options: argparse.Namespace) -> int:
    built = images.build_images(paths, options.only)
    seed.refresh(paths)
    for name, tag in built.items():
        console.say(f"{name} {tag}")
    return 0


def _load(paths: Paths, options: argparse.Namespace) -> int:
    for tag in cluster.load(paths, options.only):
        console.say(tag)
    return 0


def _push(paths: Paths, options: argparse.Namespace) -> int:
    for reference in images.push_images(paths, options.registry, options.only).values():
        console.say(reference)
    return 0


COMMANDS: dict[str, Callable[[Paths, argparse.Namespace], int]] = {
    "doctor": _doctor,
    "tools": _tools,
    "up": _up,
    "down": _down,
    "status": _status,
    "env": _env,
    "images": _images,
    "load": _load,
    "push": _push,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = parser().parse_args(arguments)
    try:
        return COMMANDS[options.command](from_environment(), options)
    except (LocalClusterError, ValueError, KeyError) as error:
        console.warn(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
