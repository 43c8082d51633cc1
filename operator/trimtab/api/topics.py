"""Names of topics, and patterns that stand for all topics that match."""

from __future__ import annotations

import re
from collections.abc import Collection


def pattern(regex: str) -> str:
    """A list of topics has this in place of names; Spark's source takes it too."""
    return f"^(?:{regex})$"  # Spark would also take a topic that has a match within


def is_pattern(topic: str) -> bool:
    """Whether it is a pattern: no name begins so."""
    return topic.startswith("^")


def qualified(source: str, topic: str) -> str:
    """A topic of one of several sources: their Kafkas may have topics of the same name.

    A single source has no name, and its topics keep theirs.
    """
    return f"{source}/{topic}" if source else topic


def unqualified(topic: str) -> tuple[str, str]:
    """The source and the topic's own name; no topic's own name has a slash."""
    source, _, own = topic.rpartition("/")
    return source, own


def matching(topics: Collection[str], names: Collection[str]) -> set[str]:
    """Which of some names the topics mean, as names or by a pattern."""
    patterns = [re.compile(each) for each in topics if is_pattern(each)]
    return {n for n in names if n in topics or any(each.match(n) for each in patterns)}
