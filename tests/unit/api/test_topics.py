from __future__ import annotations

from trimtab.api.topics import is_pattern, matching, pattern

NAMES = {"clicks", "clicks-eu", "old-clicks", "views"}


def test_a_name_means_itself() -> None:
    assert matching(["clicks", "gone"], NAMES) == {"clicks"}
    assert not is_pattern("clicks")


def test_a_pattern_means_what_matches_as_a_whole() -> None:
    every = pattern("clicks(-.*)?|view.")
    assert is_pattern(every)
    assert matching([every], NAMES) == {"clicks", "clicks-eu", "views"}
    assert matching([pattern("clicks")], NAMES) == {"clicks"}
