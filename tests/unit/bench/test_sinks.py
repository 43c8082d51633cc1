"""The page of the bench of sinks."""

from __future__ import annotations

from bench.sinks.__main__ import START, UNLIMITED, Row, page

from trimtab.api.knobs import MAX_OFFSETS


def test_the_page_says_which_knob_moved_and_what_it_gave() -> None:
    row = Row(
        "Delta", "no batch ended in 240 s", 900.0, 27_000.0, "trigger 2 s",
        ["Change BatchLimitRaised: 1000 -> 4000"],
    )  # fmt: skip
    text = page([row], "abc", 1.2)
    assert (
        "| Delta | no batch ended in 240 s | 900 records/s | **27,000 records/s** | × 30.0" in text
    )
    assert "- Change BatchLimitRaised: 1000 -> 4000" in text
    assert "commit abc" in text


def test_sparks_defaults_have_no_limit() -> None:
    assert UNLIMITED.max_offsets == int(MAX_OFFSETS.maximum) > START.max_offsets
