"""Durations and quantities: read and written again, a value does not change."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trimtab.api.quantities import (
    CPU_PATTERN,
    DURATION_PATTERN,
    QUANTITY_PATTERN,
    format_duration,
    format_quantity,
    format_rate,
    parse_cpu,
    parse_duration,
    parse_quantity,
)

UNITS = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip


@given(st.integers(1, 10**9))
def test_a_duration_survives_to_the_millisecond(milliseconds: int) -> None:
    text = format_duration(milliseconds / 1000)
    assert re.match(DURATION_PATTERN, text)
    assert round(parse_duration(text) * 1000) == milliseconds


@given(st.from_regex(DURATION_PATTERN, fullmatch=True).filter(lambda text: len(text) <= 32))
def test_a_duration_is_whole_milliseconds(text: str) -> None:
    seconds = parse_duration(text)
    assume(seconds < 10**6)  # far above every bound
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-12, abs=1e-6)


@given(st.integers(1, 10**6), st.sampled_from(sorted(UNITS)))
def test_a_quantity_survives(number: int, unit: str) -> None:
    size = parse_quantity(f"{number}{unit}")
    assert size == number * UNITS[unit]
    text = format_quantity(size)
    assert re.match(QUANTITY_PATTERN, text)
    assert parse_quantity(text) == size
    assert len(text) <= len(f"{number}{unit}")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("90s", 90), ("1m30s", 90), ("1.5h", 5400), ("0.2s", 0.2), (3, 3.0)],
)
def test_durations_as_people_write_them(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "200ms"), (60, "60s"), (120, "2m"), (7200, "2h"), (90, "90s")]
)
def test_durations_as_we_write_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    "text",
    ["", "10", "s", "-1s", "1 s", "1d", "1s ", "1s\n", "1,5s", "0.4ms", "1.5ms", "1s0.5ms", True],
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 500ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5Gi", "1 Gi", "1gi", "1KB", "2Gi\n", False])
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 512Mi"):
        parse_quantity(text)


@pytest.mark.parametrize(("text", "cores"), [("100m", 0.1), ("2", 2.0), ("1.5", 1.5)])
def test_cpu(text: str, cores: float) -> None:
    assert re.match(CPU_PATTERN, text)
    assert parse_cpu(text) == cores


@pytest.mark.parametrize(
    ("per_s", "text"),
    [(0, "0"), (0.346, "0.35"), (3.2, "3.2"), (3, "3"), (9.49, "9.5"), (9.6, "10"), (160.4, "160")],
)
def test_a_rate_is_written_in_digits_that_tell_it_from_another(per_s: float, text: str) -> None:
    assert format_rate(per_s) == text
