"""The mark of a test that is left to `make test-long`.

It is for what takes minutes and is seen in another way in every run: what a real cluster shows too,
or another test of the same part with fewer kills, stores or sinks.
"""

from __future__ import annotations

import os

import pytest

LONG = pytest.mark.long
WHOLE = bool(os.environ.get("TRIMTAB_LONG"))
"""Whether this run has them."""


def skip(tests: list[pytest.Item]) -> None:
    """Skip them, unless this run has them."""
    for test in tests:
        if not WHOLE and test.get_closest_marker("long"):
            test.add_marker(pytest.mark.skip(reason="make test-long"))
