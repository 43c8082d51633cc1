"""What commands read of a cluster, where the client for it is installed."""

from __future__ import annotations

from types import ModuleType

from trimtab.errors import BadInputError


def reader(instead: str) -> ModuleType:
    """The adapter that reads a cluster.

    Raises:
        BadInputError: the client is not installed; names what to install, or `instead`, a command
            line that does without.
    """
    try:
        from trimtab.adapters import pipelines  # noqa: PLC0415 - a file needs no client
    except ImportError as error:
        raise BadInputError(
            f"{error.name} is not installed: pip install 'trimtab[cli]', or use {instead}"
        ) from error
    return pipelines
