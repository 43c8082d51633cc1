from __future__ import annotations

import json

import pytest

from trimtab.api.contract import Job, Settings
from trimtab.errors import ContractError
from trimtab.job import definition
from trimtab.job.backoff import GIVE_UP_S, LONGEST_WAIT_S, Backoff
from trimtab.job.runner import StopSignal

JOB = {
    "namespace": "shop",
    "pipeline": "clicks",
    "pipelineUid": "uid",
    "source": {"bootstrapServers": "kafka:9092", "topics": ["in"]},
    "transform": {"sql": "SELECT value FROM source"},
    "sink": {"kind": "noop"},
    "checkpointUri": "/checkpoint/1",
}


def settings(**knobs: object) -> Settings:
    return Settings.model_validate({"generation": 1, "pipelineUid": "uid", "settings": knobs})


def test_the_back_off_grows_is_bounded_and_begins_anew() -> None:
    backoff = Backoff()
    now, waits = 0.0, []
    while (wait := backoff.next(now)) is not None:
        waits.append(wait)
        now += wait
    assert waits[:4] == [1, 2, 4, 8]
    assert max(waits) == LONGEST_WAIT_S
    assert GIVE_UP_S <= now < GIVE_UP_S + LONGEST_WAIT_S
    backoff.reset()
    assert backoff.next(now) == 1


def test_what_is_not_said_has_its_default() -> None:
    job = Job.model_validate(JOB)
    assert definition.effective(settings(trigger="2s"), job) == {
        "trigger": 2.0,
        "maxOffsetsPerTrigger": 10_000.0,
    }
    pods = Job.model_validate(JOB | {"executors": {"image": "i", "memoryBytes": 10**9}})
    assert definition.effective(settings(executors=3), pods)["executors"] == 3


def test_refuses_to_start_on_the_settings_of_another_pipeline(tmp_path) -> None:
    job = Job.model_validate(JOB)
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"generation": 1, "pipelineUid": "else", "settings": {}}))
    with pytest.raises(ContractError, match="else"):
        definition.load_settings(file, job)
    with pytest.raises(ContractError, match="cannot read"):
        definition.load_settings(tmp_path / "nowhere", job)


def test_the_stop_signal_counts_from_the_first_call() -> None:
    signal = StopSignal()
    assert not signal.older_than(-1)
    signal.request()
    first = signal.at
    signal.request()
    assert signal.at == first
    assert signal.older_than(-1)
    assert not signal.older_than(60)
