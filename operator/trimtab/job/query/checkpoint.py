"""Reads a checkpoint directory: the batch that will be replayed, its ranges, the run number.

Spark logs a batch's offsets in `offsets/N` before it runs and marks it in `commits/N` afterwards.
Both hold a version line, then JSON. The run number is stored beside the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark import SparkContext

from trimtab.api.topics import matching
from trimtab.job import gateway
from trimtab.job.query.culprits import Span
from trimtab.job.query.offset_log import Offsets, offsets_in
from trimtab.job.query.storage import HadoopStorage, LocalStorage, Storage, local_path
from trimtab.job.termination import JobFailureError, Reason
from trimtab.kafka.admin import KafkaIdentity

RUN_NUMBER = "run_number"


class Checkpoint:
    """One checkpoint directory; a missing file is no error.

    Every method raises JobFailureError if a remote file system does not answer.
    """

    def __init__(self, beside: Storage, name: str) -> None:
        """`name` is that of the directory, `beside` its parent."""
        self._beside, self._name = beside, name
        self._last_read: tuple[int, Offsets | None] = (-1, None)
        self._sources: list[str] | None = None

    @classmethod
    def of(cls, uri: str, context: SparkContext | None = None) -> Checkpoint:
        """The checkpoint of a job; a remote one needs the SparkContext.

        Raises:
            JobFailureError: the file system of the URI cannot be reached.
        """
        if (path := local_path(uri)) is not None:
            return cls(LocalStorage(path.parent), path.name)
        root, _, name = uri.rpartition("/")
        assert context is not None
        conf = gateway.hadoop_configuration(context)
        return cls(HadoopStorage(gateway.classes(context), conf, root), name)

    def next_run_number(self) -> int:
        """Increment and return the run number; atomic, so a crash loses nothing."""
        try:
            number = 1 + int(self._beside.read(RUN_NUMBER) or 0)
        except ValueError:
            number = 1
        self._beside.replace(RUN_NUMBER, str(number))
        return number

    def replay_batch(self) -> int | None:
        """The batch that was planned but not committed: it will run again with its old range."""
        planned, committed = self._last("offsets"), self._last("commits")
        return planned if planned is not None and planned != committed else None

    def count_replay(self, batch_id: int) -> int:
        """Count and return the replays of a batch, this one included; survives a crash."""
        file = f"{self._name}.replays.json"
        try:
            known = json.loads(self._beside.read(file) or "")
            before = int(known["replays"]) if known["batch"] == batch_id else 0
        except (ValueError, KeyError, TypeError):
            before = 0
        self._beside.replace(file, json.dumps({"batch": batch_id, "replays": before + 1}))
        return before + 1

    def last_committed(self) -> int | None:
        """The newest committed batch; None before the first."""
        return self._last("commits")

    def last_commit_time(self) -> float | None:
        """When the newest batch was committed, in seconds since 1970."""
        committed = self._last("commits")
        if committed is None:
            return None
        return self._beside.modified_s(f"{self._name}/commits/{committed}")

    def committed_offsets(self) -> Offsets | None:
        """Where the committed batches end; before the first one, where the source began."""
        committed = self._last("commits")
        return self._initial_offsets() if committed is None else self._offsets(committed)

    def batch_records(self, batch_id: int) -> int | None:
        """Number of records in a planned batch, by its offsets; None if the log is missing.

        The offsets are cached for the next batch, which begins there.
        """
        known_id, before = self._last_read
        if before is None or known_id != batch_id - 1:
            before = self._initial_offsets() if batch_id == 0 else self._offsets(batch_id - 1)
        after = self._offsets(batch_id)
        self._last_read = (batch_id, after)
        if before is None or after is None:
            return None
        return sum(end - before.get(key, 0) for key, end in after.items())

    def position(self, batch_id: int) -> int | None:
        """Where a planned batch of a source without topics ends; None if the log is missing."""
        try:
            log = self._beside.read(f"{self._name}/offsets/{batch_id}") or ""
            return int(log.strip().splitlines()[-1])
        except (ValueError, IndexError):
            return None

    def spans(self, batch_id: int) -> list[Span]:
        """What a planned batch reads; empty if the log of its offsets is missing."""
        before = (self._initial_offsets() if batch_id == 0 else self._offsets(batch_id - 1)) or {}
        after = self._offsets(batch_id) or {}
        spans = (Span(*key, before.get(key, 0), end) for key, end in sorted(after.items()))
        return [each for each in spans if each.size > 0]

    def pinned(self) -> Mapping[str, str]:
        """The Spark configuration logged with the newest planned batch; empty before the first."""
        planned = self._last("offsets")
        if planned is None:
            return {}
        try:
            lines = (self._beside.read(f"{self._name}/offsets/{planned}") or "").splitlines()
            return {str(k): str(v) for k, v in json.loads(lines[1])["conf"].items()}
        except (ValueError, IndexError, KeyError, AttributeError, TypeError):
            return {}

    def begun_stateless(self) -> bool:
        """Whether batches were committed and none of them kept state."""
        kept = self._beside.names(f"{self._name}/state") is not None
        return self._last("commits") is not None and not kept

    def state_operators(self, spark: str) -> list[str] | None:
        """The operators that wrote the state, as this Spark describes them; None if unknown.

        Unknown before the first commit, so that a query that failed before it can be corrected.
        """
        if self._last("commits") is None:
            return None
        try:
            document = json.loads(self._beside.read(self._state_file) or "")
            return list(document["operators"]) if document["spark"] == spark else None
        except (ValueError, KeyError, TypeError):
            return None

    def remember_state_operators(self, operators: list[str], spark: str) -> None:
        """Store the operators beside the checkpoint; atomic, so a crash loses nothing."""
        document = {"spark": spark, "operators": operators}
        self._beside.replace(self._state_file, json.dumps(document))

    @property
    def _state_file(self) -> str:
        return f"{self._name}.state.json"

    def require_kafka(self, now: KafkaIdentity) -> None:
        """Raise JobFailureError if its offsets belong to another cluster, or to another topic.

        Addresses may change. An id that is unknown on either side is not compared.
        """
        before = self.kafka()
        if before is None:
            self._remember_kafka(now)
            return
        if before.cluster and now.cluster and before.cluster != now.cluster:
            raise JobFailureError(
                Reason.CHECKPOINT_INCOMPATIBLE,
                f"the checkpoint belongs to the Kafka cluster with the id {before.cluster}, and the"
                f" one at the source's address is {now.cluster}: correct the address, or raise"
                " checkpoint.generation to begin a new checkpoint",
            )
        anew = sorted(t for t, i in before.topics.items() if now.topics.get(t, i) != i)
        if anew:
            raise JobFailureError(
                Reason.CHECKPOINT_INCOMPATIBLE,
                f"{', '.join(anew)} was deleted and created again since the checkpoint was written;"
                " its first records would be skipped: raise checkpoint.generation to begin at the"
                " new topic's own offsets",
            )
        known = KafkaIdentity(now.cluster or before.cluster, {**before.topics, **now.topics})
        if known != before:
            self._remember_kafka(known)

    def kafka(self) -> KafkaIdentity | None:
        """What its offsets belong to; None if that is not known."""
        try:
            document = json.loads(self._beside.read(self._kafka_file) or "")
            topics = {str(name): str(each) for name, each in document["topics"].items()}
            return KafkaIdentity(document["cluster"], topics)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def _remember_kafka(self, now: KafkaIdentity) -> None:
        document = {"cluster": now.cluster, "topics": dict(now.topics)}
        self._beside.replace(self._kafka_file, json.dumps(document))

    @property
    def _kafka_file(self) -> str:
        return f"{self._name}.kafka.json"

    def owner(self) -> str | None:
        """The process that uses it, see `fence`; None if none ever did."""
        return self._beside.read(self._owner_file)

    def own(self, owner: str) -> None:
        """Write the process that uses it."""
        self._beside.replace(self._owner_file, owner)

    @property
    def _owner_file(self) -> str:
        return f"{self._name}.owner"

    @property
    def begun(self) -> bool:
        """Whether a query has ever planned a batch here."""
        return self._last("offsets") is not None

    def sources(self) -> list[str]:
        """The names of the query's sources, in the order of its offset log.

        One that the query reads twice is there twice. A single one has no name.
        """
        if self._sources is None:
            try:
                said = json.loads(self._beside.read(self._sources_file) or "")
                self._sources = [str(name) for name in said["sources"]]
            except (ValueError, KeyError, TypeError):
                return [""]
        return self._sources

    def require_sources(self, names: list[str]) -> None:
        """Remember the sources in the order of the offset log.

        Raises JobFailureError if the log that there is has them in another one: Spark would take
        the offsets of one for those of another.
        """
        known = self.sources()
        if known == names:
            return
        if self.begun:
            raise JobFailureError(
                Reason.CHECKPOINT_INCOMPATIBLE,
                f"the checkpoint has the query read {_listed(known)}, and it now reads"
                f" {_listed(names)}: restore the order in which the query names its sources, or"
                " raise checkpoint.generation to begin a new checkpoint where this one ended",
            )
        self._beside.replace(self._sources_file, json.dumps({"sources": names}))
        self._sources = names

    @property
    def _sources_file(self) -> str:
        return f"{self._name}.sources.json"

    def require_topics(self, topics: list[str]) -> None:
        """Raises JobFailureError if the checkpoint has offsets of a topic that is not read now.

        Or of something else than topics, although some are read.
        """
        known = self.committed_offsets()
        held = {topic for topic, _ in known or {}}
        foreign = sorted(held - matching(topics, held))
        if known is None and topics and self.begun:
            foreign = ["a source without topics"]
        if foreign:
            raise JobFailureError(
                Reason.CHECKPOINT_INCOMPATIBLE,
                f"the checkpoint holds offsets of {', '.join(foreign)}, but the source reads "
                f"{', '.join(topics) or 'no topic'}: bump checkpoint.generation to begin a new one",
            )

    def _last(self, log: str) -> int | None:
        names = self._beside.names(f"{self._name}/{log}") or []
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _offsets(self, batch_id: int) -> Offsets | None:
        return offsets_in(self._beside.read(f"{self._name}/offsets/{batch_id}"), self.sources())

    def _initial_offsets(self) -> Offsets | None:
        found: dict[tuple[str, int], int] = {}
        for number, name in enumerate(dict.fromkeys(self.sources())):
            log = self._beside.read(f"{self._name}/sources/{number}/0")
            found |= offsets_in(log, [name]) or {}
        return found or None


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names != [""] else "a single source"
