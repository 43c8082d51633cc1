"""What can go wrong in the local cluster, as one small exception tree."""

from __future__ import annotations


class LocalClusterError(Exception):
    """A failure with a message that says what to do; printed without a traceback."""


class CommandError(LocalClusterError):
    """A command ended with a code other than 0, or ran out of its time."""


class TimeoutWaitingError(LocalClusterError):
    """Something did not become true within its time limit."""


class DaemonError(LocalClusterError):
    """A process that has to keep running has ended."""


class MissingToolError(LocalClusterError):
    """A needed tool or package is neither here nor to be had."""
