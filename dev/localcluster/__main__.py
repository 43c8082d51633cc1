"""``python3 -m dev.localcluster <command>``: the command line of the local cluster."""

from __future__ import annotations

import argparse
import sys

from dev.localcluster import console
from dev.localcluster.binaries import ensure_tools
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import from_environment


def main() -> int:
    """Run one command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m dev.localcluster")
    parser.add_argument("command", choices=["tools"])
    parser.parse_args()
    try:
        ensure_tools(from_environment())
    except LocalClusterError as error:
        console.warn(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
