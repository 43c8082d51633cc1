"""Selectors: quoted in one place, and with the operator's matchers in every query."""

from __future__ import annotations

import re

import pytest
from tests.unit.reconcile.stage import SCRAPE_S

from trimtab.reconcile.observe.promql import Selectors
from trimtab.reconcile.observe.queries import queries


def test_a_selector_names_a_metric_and_its_labels() -> None:
    plain, shared = Selectors({}), Selectors({"cluster": "eu-1"})
    assert plain.of("up") == "up"
    assert plain.of("up", level="A|B") == 'up{level=~"A|B"}'
    assert plain.named("trimtab_(a|b)") == '{__name__=~"trimtab_(a|b)"}'
    assert shared.of("up") == 'up{cluster="eu-1"}'
    assert shared.of("up", level="A|B") == 'up{level=~"A|B",cluster="eu-1"}'


@pytest.mark.parametrize(
    ("value", "quoted"),
    [('a"b', r'"a\"b"'), ("a\\b", r'"a\\b"'), ("a\nb", r'"a\nb"'), ("ä}", '"ä}"'), ("", '""')],
)
def test_a_value_cannot_end_its_quotes(value: str, quoted: str) -> None:
    assert Selectors({"cluster": value}).of("up") == f"up{{cluster={quoted}}}"


def test_every_selector_of_every_query_has_the_matchers() -> None:
    for what, promql in queries(SCRAPE_S, {"cluster": "eu-1"}).items():
        names = r"\b(?:trimtab|container)_[a-z_]+\b(?![|)])"
        selectors = len(re.findall(rf"{names}|__name__", promql))
        assert selectors == promql.count('cluster="eu-1"') > 0, what


def test_without_matchers_nothing_is_added() -> None:
    assert "cluster" not in "".join(queries(SCRAPE_S).values())
