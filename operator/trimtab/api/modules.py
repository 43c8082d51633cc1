"""Python modules that the driver's pod copies out of an image before it starts."""

from __future__ import annotations

COPIED_DIRECTORY = "/var/lib/trimtab/modules"
"""Where they are; the driver hands them to the executors."""
COPIER = "modules"
"""The init container that copies them."""
