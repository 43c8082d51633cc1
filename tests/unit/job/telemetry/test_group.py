"""The consumer group that shows a query's position."""

from __future__ import annotations

import logging

import pytest

from trimtab.errors import UnavailableError
from trimtab.job.query.offset_log import Offsets
from trimtab.job.telemetry.group import GroupCommits


class Group:
    def __init__(self) -> None:
        self.commits: list[Offsets] = []
        self.position: Offsets | None = None
        self.away = False

    def commit(self, position: Offsets) -> None:
        if self.away:
            raise UnavailableError("Kafka does not answer")
        self.commits.append(position)


def test_it_commits_what_is_new_and_nothing_twice() -> None:
    group = Group()
    commits = GroupCommits(group.commit, lambda: group.position)
    commits.look()
    assert group.commits == []
    for end in (10, 10, 20):
        group.position = {("clicks", 0): end}
        commits.look()
    assert [each["clicks", 0] for each in group.commits] == [10, 20]


def test_a_kafka_that_is_away_is_told_once_and_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = Group()
    group.position, group.away = {("clicks", 0): 10}, True
    commits = GroupCommits(group.commit, lambda: group.position)
    with caplog.at_level(logging.WARNING):
        commits.look()
        commits.look()
    assert len(caplog.records) == 1
    group.away = False
    commits.look()
    assert len(group.commits) == 1
