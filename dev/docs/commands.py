"""The page of the command line: the help of every command."""

from __future__ import annotations

from collections.abc import Iterator

import click

from trimtab.cli import main

WIDTH = 88
"""Characters of a line."""


def page() -> str:
    """The page."""
    head = (
        "# Command line",
        "",
        "<!-- generated from the commands by `make generate`: edit their help -->",
        "",
        "`trimtab` and `kubectl trimtab` are the same program. In a checkout,",
        "`pip install '.[cli]'` installs it without Spark and without the operator.",
    )
    return "\n".join([*head, *_told(main, "trimtab", None)]) + "\n"


def _told(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """The help of a command, then of those below it."""
    context = click.Context(command, parent, info_name=name, terminal_width=WIDTH)
    help_ = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield from ("", f"## {context.command_path}", "", "```text", help_, "```")
    if isinstance(command, click.Group):
        for below, each in command.commands.items():
            yield from _told(each, below, context)
