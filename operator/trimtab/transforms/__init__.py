"""What Python transforms may import from trimtab.

    from trimtab.transforms import pending_map, try_udf

Nothing else that runs in the driver is part of the public API.
"""

from __future__ import annotations

from trimtab.job.pending.pending_map import pending_map
from trimtab.transforms.try_udf import try_udf

__all__ = ["pending_map", "try_udf"]
