"""Shares of a budget: within it, fair by need, nobody below its minimum."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.tuning.governance.budget import Claim, shares


def claim(name: str, **changes: Any) -> Claim:
    values = {"least": 1, "most": 8, "now": 1, "need": 1, "cores": 1, "memory": 1000} | changes
    return Claim(("n", name), **values)


def shared(cores: int | None, *claims: Claim, memory: int | None = None) -> dict[str, int]:
    return {name: most for (_, name), most in shares(cores, memory, claims).items()}


def test_with_room_for_all_everybody_keeps_what_runs_and_may_grow() -> None:
    found = shared(12, claim("a", now=3, need=2), claim("b", now=4, need=6))
    assert found == {"a": 6, "b": 6}


def test_a_need_goes_before_what_another_has_to_spare() -> None:
    """Of eight, b needs six; a holds its goal with two of its four."""
    assert shared(8, claim("a", now=4, need=2), claim("b", now=4, need=6)) == {"a": 2, "b": 6}


def test_too_little_for_all_is_shared_by_need() -> None:
    assert shared(6, claim("a", now=6, need=8), claim("b", now=0, need=4)) == {"a": 4, "b": 2}


def test_a_lowered_budget_takes_first_what_nobody_needs() -> None:
    found = shared(6, claim("a", now=6, need=2), claim("b", now=4, need=4))
    assert found == {"a": 2, "b": 4}


def test_nobody_goes_below_its_minimum_even_if_the_budget_is_smaller() -> None:
    assert shared(3, claim("a", least=2), claim("b", least=2)) == {"a": 2, "b": 2}


def test_memory_limits_as_cores_do() -> None:
    large, small = claim("a", need=4, memory=4000), claim("b", need=4, memory=1000)
    assert shared(None, large, small, memory=11_000) == {"a": 2, "b": 3}


def test_an_executor_that_does_not_fit_leaves_its_room_to_smaller_ones() -> None:
    assert shared(5, claim("a", need=4, cores=4), claim("b", need=4)) == {"a": 1, "b": 1}
    assert shared(6, claim("a", need=4, cores=4), claim("b", need=4)) == {"a": 1, "b": 2}


def test_without_a_budget_all_may_run_their_most() -> None:
    assert shared(None, claim("a"), claim("b")) == {"a": 8, "b": 8}


CLAIMS = st.lists(
    st.builds(
        lambda least, more, now, need, cores: claim(
            "x", least=least, most=least + more, now=now, need=need, cores=cores
        ),
        st.integers(1, 4), st.integers(0, 20), st.integers(0, 24), st.integers(1, 30),
        st.integers(1, 4),
    ),
    max_size=8,
).map(lambda found: [  # each has a name of its own
    Claim(("n", str(i)), c.least, c.most, c.now, c.need, c.cores, c.memory)
    for i, c in enumerate(found)
])  # fmt: skip


@given(st.integers(1, 200), CLAIMS)
def test_shares_fit_together_and_leave_nothing_that_fits(cores: int, claims: list[Claim]) -> None:
    found = shares(cores, None, claims)
    used = sum(found[c.name] * c.cores for c in claims)
    least = sum(c.least * c.cores for c in claims)
    assert used <= max(cores, least)
    for c in claims:
        assert c.least <= found[c.name] <= c.most
        assert found[c.name] == c.most or used + c.cores > cores


@given(st.integers(1, 200), CLAIMS)
def test_where_all_needs_fit_nobody_gets_less(cores: int, claims: list[Claim]) -> None:
    needs = {c.name: max(c.least, min(c.need, c.most)) for c in claims}
    if sum(needs[c.name] * c.cores for c in claims) <= cores:
        found = shares(cores, None, claims)
        assert all(found[name] >= need for name, need in needs.items())
