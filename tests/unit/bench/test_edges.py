"""A grid grows where its best variant is on an edge."""

from __future__ import annotations

import pytest
from bench.control import NAMES, OURS, retuned
from bench.edges import WITHIN, beyond, edges
from bench.grids import GRIDS, Variant, variants
from bench.peers.catalogue import PEERS
from tests.unit.bench.test_grids import SCENARIO


def keda(lag: object, stabilisation: object) -> Variant:
    given = (("lag_threshold", str(lag)), ("stabilisation_s", str(stabilisation)))
    return Variant("keda", "keda", given)


GRID = variants("keda")


def test_a_best_value_on_the_edge_of_its_grid_is_named() -> None:
    assert edges(keda(1400, 30), GRID) == []
    assert edges(keda(2000, 30), GRID) == ["lag_threshold"]


def test_a_value_with_none_beyond_is_no_edge() -> None:
    assert edges(keda(1400, 0), GRID) == []


def test_the_next_value_goes_on_as_the_last_ones_do() -> None:
    assert beyond(keda(2000, 15), GRID) == [keda(2600, 15)]
    assert beyond(keda(1400, 300), GRID) == [keda(1400, 1500)]
    assert beyond(keda(2600, 15), [*GRID, keda(2600, 15)]) == [keda(3200, 15)]


def test_two_edges_give_two_variants() -> None:
    assert beyond(keda(1000, 300), GRID) == [keda(600, 300), keda(1000, 1500)]


def test_shares_keep_their_digits_and_end_where_they_must() -> None:
    spark = Variant("spark", "spark", (
        ("scaling_interval_s", "10"), ("scaling_up_ratio", "0.95"), ("scaling_down_ratio", "0.45"),
    ))  # fmt: skip
    moved = [dict(variant.given) for variant in beyond(spark, variants("spark"))]
    assert [(row["scaling_up_ratio"], row["scaling_down_ratio"]) for row in moved] == [
        ("0.99", "0.45"), ("0.95", "0.4"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", GRIDS)
def test_what_lies_beyond_an_edge_is_valid(name: str) -> None:
    for row in variants(name):
        for variant in beyond(row, variants(name)):
            given = dict(variant.given)
            if name == OURS:
                assert retuned(SCENARIO, given)
            elif name in PEERS:
                assert PEERS[name].parameters(given)


def test_bounds_are_those_of_parameters_that_exist() -> None:
    known = {key for rows in GRIDS.values() for row in rows for key in row}
    assert WITHIN.keys() <= known
    assert set(GRIDS) <= set(NAMES)
