"""The login with which drivers reach a database of the tests."""

from __future__ import annotations

from typing import Any

from dev.postgres import USER

SECRET, KEY = "warehouse", "password"
LOGIN: dict[str, Any] = {
    "username": USER, "passwordSecret": {"secretName": SECRET, "password": KEY},
}  # fmt: skip
"""As a document has it; the fixture `password` is the file."""
