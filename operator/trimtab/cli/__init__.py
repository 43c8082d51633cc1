"""The command line: `trimtab` and `kubectl trimtab`."""

from __future__ import annotations

from trimtab.cli.commands import main

__all__ = ["main"]
