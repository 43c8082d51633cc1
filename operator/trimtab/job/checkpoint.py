"""What a checkpoint directory tells: the batch that will replay, its ranges, the run number.

Spark logs a batch's offsets in `offsets/N` before it runs and marks it in `commits/N` after.
Files are read as Spark writes them (a version line, then JSON). The run number lies beside the
checkpoint, in the directory on which the volume is mounted, so it grows over generations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from trimtab.job.termination import JobFailureError, Reason

Offsets = Mapping[tuple[str, int], int]
"""The next offset to read by (topic, partition)."""


class Checkpoint:
    """One checkpoint directory; every method reads it anew, a missing file is no error."""

    def __init__(self, uri: str) -> None:
        """Raises JobFailureError for anything but a local path."""
        path = uri.removeprefix("file://") if uri.startswith("file:///") else uri
        path = path.removeprefix("file:")
        if "://" in path:
            raise JobFailureError(
                Reason.SETTINGS_INVALID, f"checkpoint {uri} is not a mounted directory"
            )
        self.path = Path(path)

    def next_run_number(self) -> int:
        """1 + the number of the last start, and remembers it; atomic, so a crash loses nothing."""
        file = self.path.parent / "run_number"
        try:
            number = 1 + int(file.read_text())
        except (FileNotFoundError, ValueError):
            number = 1
        _replace(file, str(number))
        return number

    def replay_batch(self) -> int | None:
        """The batch that was planned but not committed: it runs again with its old range."""
        planned, committed = self._last("offsets"), self._last("commits")
        return planned if planned is not None and planned != committed else None

    def count_replay(self, batch_id: int) -> int:
        """How often that batch has begun again, this time included; a crash loses no count."""
        file = self.path.parent / f"{self.path.name}.replays.json"
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            before = int(known["replays"]) if known["batch"] == batch_id else 0
        except (OSError, ValueError, KeyError, TypeError):
            before = 0
        _replace(file, json.dumps({"batch": batch_id, "replays": before + 1}))
        return before + 1

    def last_commit_time(self) -> float | None:
        """When the newest batch was committed, in seconds since 1970."""
        committed = self._last("commits")
        if committed is None:
            return None
        return (self.path / "commits" / str(committed)).stat().st_mtime

    def committed_offsets(self) -> Offsets | None:
        """Where the committed batches end; before the first one, where the source began."""
        committed = self._last("commits")
        return self._initial_offsets() if committed is None else self._offsets(committed)

    def batch_records(self, batch_id: int) -> int | None:
        """How many records a planned batch holds, by its offsets; None when the log is away."""
        before = self._initial_offsets() if batch_id == 0 else self._offsets(batch_id - 1)
        after = self._offsets(batch_id)
        if before is None or after is None:
            return None
        return sum(end - before.get(key, 0) for key, end in after.items())

    def pinned(self) -> Mapping[str, str]:
        """Spark's keys that the newest planned batch was logged with; empty before the first."""
        planned = self._last("offsets")
        if planned is None:
            return {}
        try:
            lines = (self.path / "offsets" / str(planned)).read_text(encoding="utf-8").splitlines()
            return {str(k): str(v) for k, v in json.loads(lines[1])["conf"].items()}
        except (OSError, ValueError, IndexError, KeyError, AttributeError, TypeError):
            return {}

    def begun_stateless(self) -> bool:
        """Whether batches were committed and none of them kept state."""
        return self._last("commits") is not None and not (self.path / "state").is_dir()

    def state_operators(self, spark: str) -> list[str] | None:
        """What made the state, as this version of Spark describes it; None when not known.

        Before the first commit there is none: a query that failed then may be mended.
        """
        if self._last("commits") is None:
            return None
        try:
            document = json.loads(self._state_file.read_text(encoding="utf-8"))
            return list(document["operators"]) if document["spark"] == spark else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remember_state_operators(self, operators: list[str], spark: str) -> None:
        """Keep beside the checkpoint what makes its state; atomic, so a crash loses nothing."""
        _replace(self._state_file, json.dumps({"spark": spark, "operators": operators}))

    @property
    def _state_file(self) -> Path:
        return self.path.parent / f"{self.path.name}.state.json"

    def require_topics(self, topics: list[str]) -> None:
        """Raises JobFailureError when the checkpoint holds offsets of a topic not read now."""
        known = self.committed_offsets() or {}
        foreign = sorted({topic for topic, _ in known} - set(topics))
        if foreign:
            raise JobFailureError(
                Reason.CHECKPOINT_INCOMPATIBLE,
                f"the checkpoint holds offsets of {', '.join(foreign)}, but the source reads "
                f"{', '.join(topics)}: bump checkpoint.generation to begin a new one",
            )

    def _last(self, log: str) -> int | None:
        directory = self.path / log
        names = [f.name for f in directory.iterdir()] if directory.is_dir() else []
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _offsets(self, batch_id: int) -> Offsets | None:
        return _read_offsets(self.path / "offsets" / str(batch_id))

    def _initial_offsets(self) -> Offsets | None:
        return _read_offsets(self.path / "sources" / "0" / "0")


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(file)


def parse_offsets(document: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Spark's JSON map {topic: {partition: offset}} as one flat map."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in document.items()
        for partition, offset in partitions.items()
    }


def _read_offsets(path: Path) -> Offsets | None:
    try:
        last = path.read_text(encoding="utf-8").strip().splitlines()[-1]
        document = json.loads(last[last.index("{") :])
        return parse_offsets(document)
    except (OSError, ValueError, IndexError, AttributeError):
        return None
