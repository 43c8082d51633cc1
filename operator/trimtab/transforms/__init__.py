"""What Python transforms may import from trimtab: the public part of the driver.

    from trimtab.transforms import pending_map

Nothing else that runs in the driver is promised to stay.
"""

from __future__ import annotations

from trimtab.job.pending.pending_map import pending_map

__all__ = ["pending_map"]
