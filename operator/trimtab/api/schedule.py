"""Windows in time: a cron expression in a time zone, and how long each window stays open.

A start at a time that a clock change leaves out is moved behind the gap, and a time that comes
twice starts once, as Debian's cron has it. A window lasts as many seconds as it says, whatever the
clock on the wall does meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, WithJsonSchema

CRON_PATTERN = r"^[-0-9a-zA-Z*,/#]+( [-0-9a-zA-Z*,/#]+){4}$"
"""Five fields; what they may hold is checked by `check_cron`."""
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
ZONE_PATTERN = r"^[A-Za-z0-9_+/-]+$"


@dataclass(frozen=True, slots=True)
class Opening:
    """Whether a window is open at a moment, and when that ends; seconds since 1970."""

    open: bool
    until_s: float | None
    """When it closes, or opens again; None: it never does."""


def check_cron(expression: str) -> str:
    """The expression, if it is one; raises ValueError."""
    try:
        CronSim(expression, _ANY_DAY)
    except CronSimError as error:
        words = str(error).removeprefix("Bad ")
        raise ValueError(
            f"{expression!r} is no cron expression ({words}): write minute, hour, day of month,"
            " month and day of week, like '0 2 * * SAT'"
        ) from error
    return expression


def check_zone(name: str) -> str:
    """The name of a time zone, if there is one; raises ValueError."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"there is no time zone {name!r}: write an IANA name, like Europe/Berlin or UTC"
        ) from error
    return name


Cron = Annotated[
    str,
    AfterValidator(check_cron),
    WithJsonSchema({"type": "string", "maxLength": 128, "pattern": CRON_PATTERN}),
]
Zone = Annotated[
    str,
    AfterValidator(check_zone),
    WithJsonSchema({"type": "string", "maxLength": 64, "pattern": ZONE_PATTERN, "default": "UTC"}),
]


def following(cron: str, zone: str, after_s: float) -> float | None:
    """The first start of this schedule after a moment; None: there is none."""
    start = next(CronSim(cron, datetime.fromtimestamp(after_s, ZoneInfo(zone))), None)
    return start.timestamp() if start else None


def opening(cron: str, duration_s: float, zone: str, now_s: float) -> Opening:
    """Whether the window of this schedule is open.

    Of windows that overlap, the one that closes last counts.
    """
    now = datetime.fromtimestamp(now_s, ZoneInfo(zone))
    earliest = (now.astimezone(UTC) - timedelta(seconds=duration_s)).astimezone(now.tzinfo)
    starts = (start.timestamp() for start in CronSim(cron, earliest))  # clock times come twice
    begun = list(takewhile(lambda start_s: start_s <= now_s, starts))
    if begun:
        return Opening(True, begun[-1] + duration_s)
    return Opening(False, following(cron, zone, now_s))
