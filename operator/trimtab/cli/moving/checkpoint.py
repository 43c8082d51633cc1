"""The offsets that an existing checkpoint has committed, as where a pipeline begins.

Spark logs the ranges of a batch in `offsets/N` before it runs, and marks it in `commits/N`
afterwards: a version line, then JSON; in `offsets`, a line of metadata and one for each source.
"""

from __future__ import annotations

import json
from pathlib import Path

from trimtab.cli.moving.found import Found
from trimtab.errors import BadInputError


def from_checkpoint(directory: Path) -> Found:
    """Where the committed batches end, as `source.kafka.startingOffsets`.

    Raises:
        BadInputError: the directory is no checkpoint of a query on Kafka, or has no commit.
    """
    if not (directory / "offsets").is_dir():
        raise BadInputError(
            f"{directory} is no checkpoint: it has no folder `offsets`. Of a remote one, copy the"
            " folders offsets and commits into a folder here"
        )
    planned, committed = (_last(directory / name) for name in ("offsets", "commits"))
    if committed is None:
        raise BadInputError(f"{directory} has committed no batch: let the job commit one")
    found = Found()
    offsets = _offsets(directory / "offsets" / str(committed), found)
    found.set("source.kafka.topics", sorted(offsets))
    found.set("source.kafka.startingOffsets", json.dumps(offsets, sort_keys=True))
    if planned is not None and planned > committed:
        found.note(
            f"batch {planned} of {directory}",
            "it was begun and not committed, so the sink may have some of its records, and the"
            " pipeline writes them again: let the old job commit it and stop, then import anew",
        )
    if (directory / "state").is_dir():
        found.note(
            f"the state in {directory}/state",
            "a pipeline begins with none. If the transform is the same: to take it over, copy the"
            " whole checkpoint to CHECKPOINT_URI/NAMESPACE/NAME/g1/query, of the spec's"
            " checkpoint.uri, before the pipeline is created. Otherwise windows and sets of keys"
            " start empty; to fill them, write earlier startingOffsets",
        )
    return found


def _last(directory: Path) -> int | None:
    if not directory.is_dir():
        return None
    return max(
        (int(file.name) for file in directory.iterdir() if file.name.isdigit()), default=None
    )


def _offsets(file: Path, found: Found) -> dict[str, dict[str, int]]:
    """The end of a batch, by topic and partition."""
    try:
        _version, _metadata, *sources = file.read_text(encoding="utf-8").splitlines()
        ends = [json.loads(line) for line in sources if line.strip() not in {"", "-"}]
    except (OSError, ValueError) as error:
        raise BadInputError(f"{file} cannot be read: {error}") from error
    ends = [end for end in ends if _of_kafka(end)]
    if not ends:
        raise BadInputError(f"{file} has no offsets of Kafka: the job reads something else")
    if len(ends) > 1:
        found.note(
            f"{len(ends)} sources in the checkpoint",
            "a pipeline has one: the topics of all are read in one query, told apart by the column"
            " topic",
        )
    return {topic: parts for end in ends for topic, parts in end.items()}


def _of_kafka(end: object) -> bool:
    return isinstance(end, dict) and all(
        isinstance(parts, dict) and all(type(offset) is int for offset in parts.values())
        for parts in end.values()
    )
