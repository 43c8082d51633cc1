"""The operator-driver contract: what is refused or ignored, with words that say what that is."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.released import LAST
from tests.unit.workloads.manifests import pipeline_children

from trimtab.api.contract import Job, Settings
from trimtab.api.knobs import KNOBS, KnobValues
from trimtab.errors import BadInputError, ContractError

SETTINGS = {
    "schema": 1, "generation": 3, "pipelineUid": "u-1",
    "settings": {"executors": 2, "trigger": "10s", "maxOffsetsPerTrigger": 2500},
    "source": {"startingOffsets": "earliest", "failOnDataLoss": False}, "reason": "why",
}  # fmt: skip
JOB = {
    "schema": 1, "namespace": "n", "pipeline": "p", "pipelineUid": "u-1",
    "source": {"bootstrapServers": "k:9092", "topics": ["a"]},
    "transform": {"sql": "SELECT * FROM source"}, "sink": {"kind": "noop"},
    "checkpointUri": "file:///c",
}  # fmt: skip


def test_settings_survive_the_way_through_json() -> None:
    read = Settings.from_json(json.dumps(SETTINGS))
    assert (read.generation, read.settings.executors, read.settings.trigger) == (3, 2, 10.0)
    assert json.loads(read.to_json()) == SETTINGS
    assert Settings.from_json(read.to_json()).to_json() == read.to_json()


def test_source_options_that_are_not_said_have_their_defaults() -> None:
    unsaid = {k: v for k, v in SETTINGS.items() if k != "source"}
    source = Settings.from_json(json.dumps(unsaid)).source
    assert (source.starting_offsets, source.fail_on_data_loss) == ("latest", True)


def test_a_job_survives_the_way_through_json() -> None:
    read = Job.from_json(json.dumps(JOB))
    assert Job.from_json(read.to_json()) == read


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"schema": 2}, "schema"),
        ({"schema": "1"}, "schema"),
        ({"surprise": 1}, "surprise"),
        ({"settings": {"warp": 9}}, "settings.warp"),
        ({"settings": {"executors": -1}}, "settings.executors"),
        ({"settings": {"trigger": "soon"}}, "settings.trigger"),
        ({"settings": {"maxOffsetsPerTrigger": 0}}, "maxOffsetsPerTrigger"),
        ({"settings": {"producer": {"maxInFlight": 6}}}, "settings.producer.maxInFlight: .* 5"),
        ({"settings": {"producer": {"acks": 1}}}, "settings.producer.acks"),
        ({"settings": {"producer": {"compression": "rar"}}}, "settings.producer.compression"),
        ({"settings": {"producer.lingerMs": 5}}, "settings.producer.lingerMs"),
        ({"settings": {"locality": {"scope": "Rack"}}}, "settings.locality.scope"),
        ({"source": {"startingOffsets": "somewhere"}}, "source.startingOffsets"),
        ({"source": {"failOnDataLoss": "no idea"}}, "source.failOnDataLoss"),
        ({"source": {"topics": ["b"]}}, "source.topics"),
        ({"generation": -1}, "generation"),
        ({"pipelineUid": None}, "pipelineUid"),
    ],
)
def test_settings_with_anything_unknown_are_refused(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ContractError, match=named) as caught:
        Settings.from_json(json.dumps(SETTINGS | change))
    assert isinstance(caught.value, BadInputError)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 3}, {"schema": 3, "surprise": 1}, {"sink": {"kind": "paper"}},
        {"outputMode": "complete", "surprise": 1}, {"pipeline": None},
    ],
)  # fmt: skip
def test_a_job_that_is_not_understood_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match=next(iter(change))):
        Job.from_json(json.dumps(JOB | change))


NEWER: list[tuple[dict[str, Any], str]] = [
    ({"surprise": {"a": 1}}, "surprise"),
    ({"source": JOB["source"] | {"surprise": 1}}, "source.kafka.surprise"),
    ({"sink": {"kind": "noop", "surprise": 1}}, "sink.noop.surprise"),
    ({"executors": {"image": "i", "memoryBytes": 1, "podTemplate": {"surprise": []}}},
     "executors.podTemplate.surprise"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "named"), NEWER, ids=[named for _, named in NEWER])
def test_a_key_of_a_newer_operator_is_ignored_with_a_word(
    change: dict[str, Any], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    read = Job.from_json(json.dumps(JOB | change))
    assert (read.pipeline, read.source.topics) == ("p", ["a"])
    assert "surprise" not in read.to_json()
    assert f"ignored: {named}" in caplog.text


def test_a_job_of_its_own_release_is_read_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    Job.from_json(json.dumps(JOB))
    assert caplog.text == ""


def keys(schema: dict[str, Any], node: dict[str, Any], path: str = "") -> Iterator[str]:
    """The keys that a reader knows, as dotted paths; those of a map are the user's own."""
    for option in (node, *node.get("anyOf", ()), *node.get("oneOf", ())):
        found = schema["$defs"][option["$ref"].rsplit("/", 1)[1]] if "$ref" in option else option
        if found is not node:
            yield from keys(schema, found, path)
    for name, part in node.get("properties", {}).items():
        yield f"{path}{name}"
        yield from keys(schema, part, f"{path}{name}.")


def written(document: Any, known: Collection[str], path: str = "") -> Iterator[str]:
    """The keys in a document, not looking into maps."""
    for name, part in document.items() if isinstance(document, dict) else ():
        yield f"{path}{name}"
        if any(key.startswith(f"{path}{name}.") for key in known):
            yield from written(part, known, f"{path}{name}.")


RELEASED = LAST / "job-keys.txt"
"""The keys that a driver of the last release reads, which refuses all others: `keys` of its Job."""
SPECS = sorted(Path("examples").glob("[0-9]*/*.yaml"))


SECURITY = ("authentication", "tls")
RATE = ("source.kind", "source.rowsPerSecond", "source.partitions")
ASKED = (
    "transform.script", "transform.args", "transform.tables", "transform.archives", "source.format",
    "deadLetters", "execution", "executors.envFrom", *RATE,
)  # fmt: skip
"""What a document has only where somebody asks for it."""


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_a_driver_of_the_last_release_reads_what_says_nothing_new(path: Path) -> None:
    """As in an image of one's own, which an upgrade of the operator does not change."""
    known = RELEASED.read_text().split()
    for manifest in yaml.safe_load_all(path.read_text()):
        if manifest["kind"] == "StreamPipeline":
            manifest["metadata"] |= {"namespace": "n", "uid": "u"}
            job = json.loads(pipeline_children(manifest)["ConfigMap"]["data"]["job.json"])
            if job["sink"]["kind"] not in {"kafka", "noop"}:
                del job["sink"]  # such a driver refuses the whole document for its kind
            new = [key for key in written(job, known) if key not in known]
            secured = [f"{end}.{field}" for end in ("source", "sink") for field in SECURITY]
            assert set(new) <= {*secured, *ASKED}
            assert job["schema"] == (2 if new else 1), "it must refuse what it must not ignore"


def test_the_keys_of_the_last_release_are_still_there() -> None:
    schema = Job.model_json_schema(by_alias=True)
    assert set(RELEASED.read_text().split()) <= set(keys(schema, schema))


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ContractError, match="settings document refused"):
        Settings.from_json(text)


def test_every_knob_has_its_field_and_no_other() -> None:
    fields = {f.alias or name for name, f in KnobValues.model_fields.items()}
    assert fields == {name.partition(".")[0] for name in KNOBS}
    values = {name: knob.default for name, knob in KNOBS.items()}
    assert KnobValues.of(values).numbers() == values


@pytest.mark.parametrize("name", KNOBS)
def test_a_knob_keeps_to_its_limits(name: str) -> None:
    knob = KNOBS[name]
    for value in {knob.minimum, knob.default, knob.maximum}:
        assert KnobValues.of({name: value}).numbers() == {name: value}
    if not knob.words:
        for value in (knob.minimum - 1, knob.maximum + 1):
            with pytest.raises(ValueError, match=r"equal to|from 0s to 60m"):
                KnobValues.of({name: value})


def test_groups_and_words_are_written_as_a_person_writes_them() -> None:
    said = {
        "fetch": {"maxBytes": 4096},
        "producer": {"lingerMs": 5, "compression": "zstd"},
        "locality": {"scope": "Zone"},
    }
    values = KnobValues.model_validate(said)
    numbers = {"fetch.maxBytes": 4096, "producer.lingerMs": 5, "producer.compression": 4,
               "locality.scope": 2}  # fmt: skip
    assert values.numbers() == numbers
    assert KnobValues.of(numbers).model_dump(by_alias=True, exclude_none=True) == said


def test_a_document_that_says_nothing_of_a_group_has_none() -> None:
    written = json.loads(Settings.from_json(json.dumps(SETTINGS)).to_json())
    assert written["settings"].keys() == {"executors", "trigger", "maxOffsetsPerTrigger"}


def test_every_word_of_a_knob_is_in_its_field() -> None:
    for name, knob in KNOBS.items():
        for word in knob.words:
            group, _, own = name.partition(".")
            assert KnobValues.model_validate({group: {own: word}}).numbers() == {
                name: knob.words.index(word)
            }
