from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.job.samples import job
from tests.unit.tuning.test_reflex import TABLE

from trimtab.api import endpoints
from trimtab.api.contract import Settings
from trimtab.errors import ContractError
from trimtab.job import definition
from trimtab.job.batches.batches import Batches
from trimtab.job.lifecycle import machine, runner
from trimtab.job.lifecycle.backoff import GIVE_UP_S, LONGEST_WAIT_S, Backoff
from trimtab.job.lifecycle.boundary import RESTART_TIMEOUT_S, Gate
from trimtab.job.lifecycle.runner import TICK_S, Runner
from trimtab.job.lifecycle.stop_signal import StopSignal
from trimtab.job.query.culprits import Culprit, Span
from trimtab.job.query.sinks import open_sink
from trimtab.job.query.writer import Live
from trimtab.job.telemetry.driver_state import DriverState, PartitionLag
from trimtab.job.termination import ExitCode, JobFailureError, Reason
from trimtab.kafka.admin import KafkaIdentity


def settings(**knobs: object) -> Settings:
    return Settings.model_validate({"generation": 1, "pipelineUid": "uid", "settings": knobs})


def test_the_back_off_grows_is_bounded_and_begins_anew() -> None:
    backoff = Backoff()
    now, waits = 0.0, []
    while True:
        wait, backoff = backoff.next(now)
        if wait is None:
            break
        waits.append(wait)
        now += wait
    assert waits[:4] == [1, 2, 4, 8]
    assert max(waits) == LONGEST_WAIT_S
    assert GIVE_UP_S <= now < GIVE_UP_S + LONGEST_WAIT_S
    assert Backoff().next(now)[0] == 1


def test_what_is_not_said_has_its_default() -> None:
    own = job()
    assert definition.effective(settings(trigger="2s"), own) == {
        "trigger": 2.0,
        "maxOffsetsPerTrigger": 10_000.0,
    }
    pods = job(executors={"image": "i", "memoryBytes": 10**9})
    assert definition.effective(settings(executors=3), pods)["executors"] == 3


def test_refuses_to_start_on_the_settings_of_another_pipeline(tmp_path) -> None:
    own = job()
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"generation": 1, "pipelineUid": "else", "settings": {}}))
    with pytest.raises(ContractError, match="else"):
        definition.load_settings(file, own)
    with pytest.raises(ContractError, match="cannot read"):
        definition.load_settings(tmp_path / "nowhere", own)


def test_the_stop_signal_counts_from_the_first_call() -> None:
    moments = iter([10.0, 20.0])
    signal = StopSignal(lambda: next(moments))
    assert signal.at is None
    signal.request()
    signal.request()
    assert signal.at == 10.0


AWAY = JobFailureError(Reason.KAFKA_UNREACHABLE, "Kafka does not answer", heals=True)


class FakeQuery:
    """A query of Spark that has committed so many batches."""

    def __init__(self) -> None:
        self.isActive = True
        self.committed: int | None = None
        self._jsq = self

    def stop(self) -> None:
        self.isActive = False

    def lastProgress(self) -> Any:  # noqa: N802
        if self.committed is None:
            return None
        ran = SimpleNamespace(containsKey=lambda _: True)
        return SimpleNamespace(batchId=lambda: self.committed, durationMs=lambda: ran)


class FakeBuilder:
    """Starts fake queries and keeps what each was started with."""

    def __init__(self) -> None:
        self.live = Live(open_sink(endpoints.NoopSinkDocument()))
        self.stages = SimpleNamespace(take=dict)
        self.can_be_timed = self.one_to_one = self.uses_python = self.real_time = False
        self.writer = SimpleNamespace(failure=None)
        self.knobs: list[Mapping[str, float]] = []
        self.queries: list[FakeQuery] = []
        self.gate = Gate()
        self.culprits: dict[int, Culprit] = {}

    def inherit(self, _: KafkaIdentity) -> None:
        return None

    def blamed(self, batch_id: int) -> Culprit | None:
        return self.culprits.get(batch_id)

    def start(self, knobs: Mapping[str, float], _how: Any, gate: Gate, *_: Any) -> FakeQuery:
        self.knobs.append(knobs)
        self.queries.append(FakeQuery())
        self.gate = gate
        return self.queries[-1]


class Checkpoint:
    """A checkpoint without batches."""

    def __init__(self) -> None:
        self.number = 0

    def require_topics(self, _: list[str]) -> None:
        return None

    def require_kafka(self, _: KafkaIdentity) -> None:
        return None

    def last_commit_time(self) -> float | None:
        return None

    def next_run_number(self) -> int:
        self.number += 1
        return self.number

    planned: int | None = None
    read: Sequence[Span] = (Span("in", 0, 3, 5),)

    def replay_batch(self) -> int | None:
        return self.planned

    def spans(self, batch_id: int) -> Sequence[Span]:
        assert batch_id == 7
        return self.read


class Shell:
    """A runner among fakes, in virtual time: every wait passes at once, then the script acts."""

    def __init__(self, script: Callable[[Shell], None]) -> None:
        self.now = 0.0
        self.script = script
        self.away_until = 0.0
        self.driver = DriverState()
        self.builder = FakeBuilder()
        self.checkpoint = Checkpoint()
        self.signal = StopSignal(self.clock)
        parts: dict[str, Any] = {
            "builder": self.builder,
            "driver": self.driver,
            "batches": Batches(self.driver, self.clock),
            "checkpoint": self.checkpoint,
            "source": self,
            "sink": self.builder.live.sink,
            "executors": None,
            "locality": SimpleNamespace(set_scope=lambda _: None),
        }
        self.runner = Runner(
            job(), settings(), signal=self.signal,
            clock=self.clock, wait=self.wait, **parts,
        )  # fmt: skip

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.script(self)
        assert self.now < 1000, "it never ends"

    topics = ("in",)
    on_replay = "the same offsets are read again"

    def fitted(self, *_: Any) -> dict[str, float]:
        return {}

    def require(self) -> None:
        if self.now < self.away_until:
            raise AWAY

    def meaning(self, causes: Any) -> None:
        """Nothing: no failure is the source's own."""

    belongs_to: KafkaIdentity | None = KafkaIdentity("kafka", {"in": "id"})

    def identity(self) -> KafkaIdentity | None:
        return self.belongs_to

    def planned(self, _checkpoint: Any, _batch_id: int) -> int | None:
        return 40


def test_a_checkpoint_is_compared_with_a_kafka_only_if_there_is_one() -> None:
    for belongs_to in (KafkaIdentity("kafka", {}), None):
        asked: list[KafkaIdentity] = []
        shell = Shell(lambda shell: shell.signal.request())
        shell.belongs_to = belongs_to
        shell.runner._checkpoint.require_kafka = asked.append  # type: ignore[method-assign]
        shell.builder.inherit = asked.append  # type: ignore[method-assign]
        assert shell.runner.run() is ExitCode.CLEAN
        assert asked == [belongs_to] * 2 if belongs_to else asked == []


def test_runs_until_the_signal_and_ends_cleanly() -> None:
    def script(shell: Shell) -> None:
        if shell.now > 5:
            shell.signal.request()

    shell = Shell(script)
    assert shell.runner.run() is ExitCode.CLEAN
    assert shell.driver.not_ready == "stopping"
    assert [query.isActive for query in shell.builder.queries] == [False]


def test_says_what_it_waits_for_and_starts_when_it_is_there() -> None:
    said = set()

    def script(shell: Shell) -> None:
        said.add(shell.driver.not_ready)
        if shell.driver.not_ready is None:
            shell.signal.request()

    shell = Shell(script)
    shell.away_until = 40
    assert shell.runner.run() is ExitCode.CLEAN
    assert said == {"KafkaUnreachable: Kafka does not answer", None, "stopping"}
    assert shell.now >= 40


def test_gives_up_with_the_failure_that_did_not_heal() -> None:
    shell = Shell(lambda _: None)
    shell.away_until = 10_000
    with pytest.raises(JobFailureError, match="does not answer"):
        shell.runner.run()
    assert 300 <= shell.now <= 311
    assert shell.builder.queries == []


def test_a_restart_with_other_settings_waits_for_the_commit_of_the_batch_past_the_gate() -> None:
    def script(shell: Shell) -> None:
        first = shell.builder.queries[0]
        if shell.now == TICK_S:
            shell.builder.gate.enter(7)
            document = {"generation": 2, "pipelineUid": "uid", "settings": {"trigger": "9s"}}
            shell.runner.inbox.offer(json.dumps(document))
        elif shell.now < 8:
            assert first.isActive, "the batch is not committed"
        elif first.isActive:
            first.committed = 7
        if len(shell.builder.queries) == 2:
            shell.signal.request()

    shell = Shell(script)
    assert shell.runner.run() is ExitCode.CLEAN
    assert [knobs["trigger"] for knobs in shell.builder.knobs] == [10.0, 9.0]
    assert shell.driver.settings_generation == 2
    assert shell.driver.effective["trigger"] == 9.0
    assert shell.driver.totals.changes == {"query": 1}
    assert shell.driver.run_number == 2


def test_a_drain_that_takes_too_long_is_cut_short_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def script(shell: Shell) -> None:
        if shell.now < 1:
            shell.builder.gate.enter(0)
        elif shell.now < 2:
            shell.signal.request()

    shell = Shell(script)
    assert shell.runner.run() is ExitCode.UNCLEAN
    assert shell.driver.totals.unclean_stops == 1
    assert "will run again: the same offsets are read again; nothing is written" in caplog.text
    assert 61 <= shell.now <= 63


def test_a_query_that_died_of_a_kafka_that_is_away_is_started_again() -> None:
    words = "org.apache.kafka.common.errors.TimeoutException: no answer"

    def script(shell: Shell) -> None:
        if 1 < shell.now < 1.3:
            shell.builder.writer.failure = RuntimeError(words)
            shell.builder.queries[0].isActive = False
        if len(shell.builder.queries) == 2:
            shell.signal.request()

    shell = Shell(script)
    assert shell.runner.run() is ExitCode.CLEAN
    assert len(shell.builder.queries) == 2


@pytest.mark.parametrize(
    ("partitions", "words"),
    [(1, "from 3 to 4: "), (12, "and 4 more partitions: ")],
)
def test_a_query_that_its_records_may_have_ended_names_their_offsets(
    partitions: int, words: str
) -> None:
    def script(shell: Shell) -> None:
        shell.checkpoint.planned = 7
        shell.checkpoint.read = [Span("in", number, 3, 5) for number in range(partitions)]
        if 1 < shell.now < 1.3:
            shell.builder.writer.failure = RuntimeError("no such customer")
            shell.builder.queries[0].isActive = False

    with pytest.raises(JobFailureError, match=f"^batch 7, which reads in/0 .*{words}.*no such"):
        Shell(script).runner.run()


def test_the_record_at_which_a_batch_dies_is_named_if_it_is_found() -> None:
    def script(shell: Shell) -> None:
        if 1 < shell.now < 1.3:
            shell.checkpoint.planned = 7
            shell.builder.culprits[7] = Culprit("in", 0, 3, "no such customer: 12.")
            shell.builder.writer.failure = RuntimeError("no such customer: 8 or 12")
            shell.builder.queries[0].isActive = False

    words = r"^in/0 at 3, in batch 7: no such customer: 12\. Correct the transform, or write dead"
    with pytest.raises(JobFailureError, match=words):
        Shell(script).runner.run()


def test_no_record_is_blamed_for_what_heals() -> None:
    def script(shell: Shell) -> None:
        shell.checkpoint.planned = 7
        shell.builder.culprits[7] = Culprit("in", 0, 3, "no such customer: 12")
        if 1 < shell.now < 1.3:
            shell.builder.writer.failure = AWAY
            shell.builder.queries[0].isActive = False
        if shell.now > 60:
            shell.signal.request()

    shell = Shell(script)
    assert shell.runner.run() is ExitCode.CLEAN
    assert len(shell.builder.queries) == 2


def test_a_failed_runner_leaves_no_query_behind() -> None:
    def script(_: Shell) -> None:
        raise RuntimeError("out of nowhere")

    shell = Shell(script)
    with pytest.raises(RuntimeError):
        shell.runner.run()
    shell.runner.abort()
    assert not shell.builder.queries[0].isActive
    assert shell.builder.gate.close() is None


NEWER = settings(trigger="3s").model_copy(update={"generation": 2}).to_json()


def test_a_restart_waits_for_a_query_that_stops_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def slow(query: FakeQuery, timeout_s: float = 0.0) -> bool:
        asked.append(timeout_s)
        query.isActive = timeout_s < RESTART_TIMEOUT_S
        return not query.isActive

    monkeypatch.setattr(runner, "stop_now", slow)

    def script(shell: Shell) -> None:
        if shell.now < 1:
            shell.runner.inbox.offer(NEWER)
        if len(shell.builder.queries) == 2:
            shell.signal.request()

    shell = Shell(script)
    assert shell.runner.run() is ExitCode.CLEAN
    assert asked[1] == RESTART_TIMEOUT_S


def test_a_query_that_never_stops_ends_the_driver_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "stop_now", lambda *_: False)

    def script(shell: Shell) -> None:
        if shell.now < 1:
            shell.runner.inbox.offer(NEWER)

    with pytest.raises(JobFailureError, match="Spark has not stopped the query within 60 s"):
        Shell(script).runner.run()


def test_the_driver_waits_for_what_it_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = JobFailureError(Reason.VOLUME_MISSING, "Secret 's' does not exist", heals=True)
    said: list[str | None] = []

    def require(_: object) -> None:
        if len(said) < 20:
            raise missing

    def script(shell: Shell) -> None:
        said.append(shell.driver.not_ready)
        if shell.builder.queries:
            shell.signal.request()

    monkeypatch.setattr(runner, "require_mounted", require)
    shell = Shell(script)
    assert shell.runner.run() is ExitCode.CLEAN
    assert "VolumeMissing: Secret 's' does not exist" in said
    assert len(shell.builder.queries) == 1


def test_a_read_for_the_report_alone_fails_no_batch(caplog: pytest.LogCaptureFixture) -> None:
    shell = Shell(lambda _: None)

    def unreachable(*_: Any) -> int:
        raise JobFailureError(Reason.CHECKPOINT_UNREACHABLE, "the store does not answer")

    shell.planned = unreachable  # type: ignore[method-assign]
    assert shell.runner._each.begin(7) is False
    assert shell.driver.running is not None
    assert shell.driver.running.records is None
    assert "batch 7: its size could not be read: the store does not answer" in caplog.text


def test_the_reflex_asks_for_executors_that_run_before_newer_settings_come() -> None:
    asked: list[int] = []
    executors = SimpleNamespace(requested=1, places=dict, batch_ended=lambda: None)

    def scale(target: int) -> None:
        asked.append(target)
        executors.requested = target

    executors.scale = scale

    def script(shell: Shell) -> None:
        second = int(shell.now)
        end = 100 * min(second, 10) + 400 * max(0, second - 10)
        shell.driver.lag = {("in", 0): PartitionLag(end, 0, 0.0)}
        shell.driver.polled_s = TABLE.expires_s - 1000 + second
        if shell.now > 18:
            shell.signal.request()

    shell = Shell(script)
    shell.runner._executors = executors  # type: ignore[assignment]
    shell.runner._state = machine.State(
        job(executors={"image": "i", "memoryBytes": 10**9}), settings(executors=1)
    )
    shell.runner.reflex.offer(TABLE.to_json())
    assert shell.runner.run() is ExitCode.CLEAN
    assert asked[-1:] == [4]
    assert (shell.driver.raised_to, shell.driver.totals.reflex_raises) == (4, 1)
    assert shell.driver.effective["executors"] == 4
    assert shell.driver.settings_generation == 1
