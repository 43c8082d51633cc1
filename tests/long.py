"""The mark of a test that is left to `make test-long`.

It is for what takes minutes and is seen in another way in every run: what a real cluster shows too,
or another test of the same part with fewer kills, stores or sinks.
"""

from __future__ import annotations

import os

import pytest

LONG = pytest.mark.skipif(not os.environ.get("TRIMTAB_LONG"), reason="make test-long")
