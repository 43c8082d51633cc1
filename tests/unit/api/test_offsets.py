"""Where a source begins, as written in a spec."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from trimtab.api import offsets

START: TypeAdapter[str] = TypeAdapter(offsets.Start)


@pytest.mark.parametrize(
    "start",
    ["latest", "earliest", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+01:00",
     '{"clicks": {"0": 23, "1": -2}}', "{}"],
)  # fmt: skip
def test_what_can_be_written(start: str) -> None:
    assert START.validate_python(start) == start


@pytest.mark.parametrize(
    "start",
    ["", "newest", "-1", "2026-01-31", "2026-13-31T12:00:00Z", "1769860800000", '{"clicks": 23}',
     '{"clicks": {"0": -3}}', '{"clicks": {"0": true}}', '{"clicks": {"x": 1}}', '{"clicks": {'],
)  # fmt: skip
def test_anything_else_is_refused_with_what_to_write(start: str) -> None:
    with pytest.raises(ValidationError, match="write latest, earliest, a time like"):
        START.validate_python(start)


def test_times_and_offsets_are_told_apart() -> None:
    assert offsets.time_ms("1970-01-01T00:00:01.5Z") == 1500
    assert offsets.time_ms("1970-01-01T01:00:00+01:00") == 0
    assert offsets.time_ms("2026-11-26T07:00:00.249900Z") == 1795676400249, "no record is skipped"
    assert offsets.time_ms("2026-11-26T07:00:00.249Z") == 1795676400249
    assert offsets.time_ms("latest") is None
    assert offsets.by_partition('{"clicks": {"0": 23}}') == {"clicks": {0: 23}}
    assert offsets.by_partition("earliest") is None
