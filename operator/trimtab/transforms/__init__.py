"""What Python transforms may import from trimtab.

    from trimtab.transforms import pending_map

Nothing else that runs in the driver is part of the public API.
"""

from __future__ import annotations

from trimtab.job.pending.pending_map import pending_map

__all__ = ["pending_map"]
