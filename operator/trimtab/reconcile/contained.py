"""An error in one object is logged and does not affect the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.errors import TrimtabError
from trimtab.ports import Manifest, key_of

log = logging.getLogger(__name__)


@contextmanager
def contained(parent: Manifest) -> Iterator[None]:
    """Contain the errors of one object; the next tick tries again."""
    try:
        yield
    except TrimtabError as error:
        log.warning("%s: %s", "/".join(key_of(parent)), error)
    except Exception:
        # a bug or a broken status: the other pipelines must still be served
        log.exception("%s: not reconciled", "/".join(key_of(parent)))
