"""Memory and disk of the pods, in bytes.

The API refuses less memory than a pod can work with, and so does Spark.
"""

from __future__ import annotations

_MIB = 1 << 20

OVERHEAD_MIN_BYTES, OVERHEAD_SHARE = 384 * _MIB, 0.2
"""Outside the heap a driver or executor holds the Python workers, the network buffers and the JVM
itself: at least this many bytes, or this share of the pod."""

HEAP_MIN_BYTES = 450 * _MIB
"""Spark refuses to start with a smaller heap."""

POD_MIN_BYTES = HEAP_MIN_BYTES + OVERHEAD_MIN_BYTES
"""Of a driver or an executor."""

BROKER_HEAP_SHARE = 0.5
"""The part of a broker's memory that is its heap; the rest is the JVM's and the page cache's."""

BROKER_MIN_BYTES = 512 * _MIB
"""Of a broker: with less, what the JVM holds beside the heap does not fit beside it."""

SCRATCH_BYTES = 20 << 30
"""Of an executor's local directory, unless the spec says otherwise."""
