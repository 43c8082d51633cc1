"""What commands read of a cluster, where the client for it is installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from trimtab.errors import BadInputError


def reader(instead: str) -> ModuleType:
    """The adapter that reads pipelines.

    Raises:
        BadInputError: the client is not installed; names what to install, or `instead`, a command
            line that does without.
    """
    return _adapter("pipelines", f", or use {instead}")


def surveyor() -> ModuleType:
    """The adapter that reads what a cluster says of itself; raises like `reader`."""
    return _adapter("survey", "")


def _adapter(name: str, instead: str) -> ModuleType:
    try:
        return import_module(f"trimtab.adapters.{name}")  # a file needs no client
    except ImportError as error:
        raise BadInputError(
            f"{error.name} is not installed: pip install 'trimtab[cli]'{instead}"
        ) from error
