"""The statements for a table, and what the words of a database mean."""

from __future__ import annotations

import pytest

from trimtab.job.query import tables
from trimtab.job.query.sinks.jdbc import meaning
from trimtab.job.query.sinks.postgres import Target, stage_name, stage_prefix
from trimtab.job.termination import Cause

TARGET = Target('shop.Ord"ers', ("id", "item", "at"), ("id",), "at")


def test_names_are_quoted() -> None:
    assert TARGET.name == '"shop"."Ord""ers"'
    assert TARGET.batches == '"shop"."trimtab_batches"'
    assert Target("orders", (), ()).batches == '"trimtab_batches"'


def test_the_latest_row_of_a_key_updates_the_others() -> None:
    assert TARGET.upsert("stage") == (
        'INSERT INTO "shop"."Ord""ers" ("id", "item", "at") SELECT DISTINCT ON ("id") "id", "item",'
        ' "at" FROM stage ORDER BY "id", "at" DESC NULLS LAST ON CONFLICT ("id") DO UPDATE SET'
        ' "item" = EXCLUDED."item", "at" = EXCLUDED."at"'
    )


def test_a_table_of_keys_alone_has_nothing_to_update() -> None:
    alone = Target("seen", ("id",), ("id",))
    assert alone.upsert("stage").endswith('ORDER BY "id" ON CONFLICT ("id") DO NOTHING')


def test_each_start_has_a_stage_of_its_own_and_knows_the_others() -> None:
    query = "8a0c51ad-7c1b-4a58-8d4e-94f2a0bf0b26"
    one, other = stage_name(query, "aa"), stage_name(query, "bb")
    assert one != other
    assert one.startswith(stage_prefix(query))
    assert other.startswith(stage_prefix(query))
    assert not one.startswith(stage_prefix("another"))
    assert len(one) < 63


@pytest.mark.parametrize(
    ("text", "reason", "heals"),
    [
        ("Connection to 10.0.0.1:5432 refused. Check that", "SinkUnreachable", True),
        ("FATAL: the database system is starting up", "SinkUnreachable", True),
        ("FATAL: sorry, too many clients already", "SinkUnreachable", True),
        ('FATAL: password authentication failed for user "a"', "SinkDenied", True),
        ("ERROR: permission denied for schema public", "SinkDenied", True),
        ('ERROR: relation "nowhere" does not exist', "SinkNotFound", False),
        ('FATAL: database "shop" does not exist', "SinkNotFound", False),
        ('ERROR: column "a" of relation "b" does not exist', "SinkFailed", False),
        ("ERROR: there is no unique or exclusion constraint matching", "SinkFailed", False),
        ('ERROR: null value in column "a" violates not-null constraint', "SinkFailed", False),
    ],
)
def test_the_words_of_a_database_are_understood(text: str, reason: str, heals: bool) -> None:
    failure = meaning(f"Caused by: org.postgresql.util.PSQLException: {text}", "orders")
    assert failure is not None
    assert (failure.reason, failure.heals) == (reason, heals)


def test_other_failures_are_left_to_others() -> None:
    assert meaning("java.lang.OutOfMemoryError: Java heap space", "orders") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Connection to 10.0.0.1:5432 refused. Check that", "TableUnreachable"),
        ('FATAL: password authentication failed for user "a"', "TableDenied"),
    ],
)
def test_a_batch_that_cannot_read_a_table_heals_with_its_database(text: str, reason: str) -> None:
    failure = tables.meaning([Cause("org.postgresql.util.PSQLException", text)])
    assert failure is not None
    assert (failure.reason, failure.heals) == (reason, True)


def test_what_heals_not_by_itself_is_left_to_others() -> None:
    wrong = Cause("org.postgresql.util.PSQLException", 'ERROR: column "a" does not exist')
    assert tables.meaning([wrong]) is None
    assert tables.meaning([Cause("java.lang.OutOfMemoryError", "Java heap space")]) is None
