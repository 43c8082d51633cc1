"""What can go wrong in the local cluster, as one small exception tree."""

from __future__ import annotations


class LocalClusterError(Exception):
    """A failure with a message that says what to do; printed without a traceback."""


class CommandError(LocalClusterError):
    """A command failed or exceeded its time limit."""


class TimeoutWaitingError(LocalClusterError):
    """A condition did not become true within its time limit."""


class DaemonError(LocalClusterError):
    """A process that has to keep running has exited."""


class MissingToolError(LocalClusterError):
    """A required tool or package is missing and cannot be obtained."""
