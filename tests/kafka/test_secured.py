"""A secured Kafka: every kind of login, the rights of a pipeline, and Secrets that change."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from dev.loadgen.produce import Summary, produce
from dev.loadgen.verify import read_all, verify
from tests.kafka.classes import class_path
from tests.kafka.driver import Driver
from tests.kafka.secured import PASSWORD, USER, Authority, SecuredBroker, secret
from tests.long import LONG

from trimtab.api.connection import KafkaConnection
from trimtab.api.v1alpha1.kafka_client import Security
from trimtab.cli import main
from trimtab.errors import (
    CredentialsInvalidError,
    CredentialsMissingError,
    DeniedError,
    UnavailableError,
)
from trimtab.kafka.admin import KafkaAdmin
from trimtab.kafka.librdkafka import SIGNER
from trimtab.kafka.secrets import VARIABLE

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]

Json = dict[str, Any]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    running = SecuredBroker(tmp_path_factory.mktemp("secured"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def places(kafka: SecuredBroker) -> tuple[str, str]:
    """Two topics of their own, which nobody has rights to."""
    kafka.forbid_all()
    kafka.set_password(PASSWORD)
    number = next(_numbers)
    names = f"from-{number}", f"to-{number}"
    for name in names:
        kafka.create_topic(name, 2)
    return names


@pytest.fixture
def held(kafka: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Secrets as pods mount them."""
    directory = tmp_path / "secrets"
    monkeypatch.setenv(VARIABLE, str(directory))
    certificate, key = kafka.clients.sign(USER)
    other = Authority(tmp_path / "tls", "other").certificate
    secret(directory, "kafka-ca", ca_crt=kafka.authority.certificate)
    secret(directory, "two", ca_crt=other + kafka.authority.certificate)
    secret(directory, "other-ca", ca_crt=other)
    secret(directory, "issuer-ca", ca_crt=kafka.issuer.authority.certificate)
    secret(directory, "user", password=PASSWORD, wrong="another", line=PASSWORD + "\n")
    secret(directory, "own", tls_crt=certificate, tls_key=key)
    return directory


def trusting(ca: str = "kafka-ca") -> Json:
    return {"tls": {"trustedCertificates": [{"secretName": ca, "certificate": "ca.crt"}]}}


def by_password(kind: str, key: str = "password") -> Json:
    held = {"secretName": "user", "password": key}
    return {"type": kind, "username": USER, "passwordSecret": held}


def by_token(kafka: SecuredBroker, key: str = "password") -> Json:
    return {
        "type": "oauthbearer", "tokenEndpointUri": kafka.issuer.token_url, "clientId": USER,
        "clientSecret": {"secretName": "user", "key": key}, "scope": "kafka",
        "tlsTrustedCertificates": [{"secretName": "issuer-ca", "certificate": "ca.crt"}],
    }  # fmt: skip


BY_CERTIFICATE = {
    "type": "tls",
    "certificateAndKey": {"secretName": "own", "certificate": "tls.crt", "key": "tls.key"},
}


def login(kafka: SecuredBroker, kind: str) -> Json:
    """How source and sink connect with one kind of login."""
    if kind == "tls":
        return {"bootstrapServers": kafka.tls, **trusting(), "authentication": BY_CERTIFICATE}
    said = by_token(kafka) if kind == "oauthbearer" else by_password(kind)
    return {"bootstrapServers": kafka.sasl, **trusting(), "authentication": said}


@pytest.fixture
def made(
    kafka: SecuredBroker, places: tuple[str, str], held: Path, tmp_path: Path,
    drivers: list[Driver],
) -> Callable[..., Driver]:  # fmt: skip
    """A driver that reads the first topic and writes the second."""

    def make(kind: str = "scram-sha-512", said: Json | None = None, **job: Any) -> Driver:
        reached = login(kafka, kind) | ({"authentication": said} if said else {})
        driver = Driver(
            tmp_path / f"driver-{len(drivers)}", kafka.sasl, schema=2,
            source={**reached, "topics": [places[0]]},
            sink={**reached, "kind": "kafka", "topic": places[1]}, **job,
        )  # fmt: skip
        driver.settings(trigger="100ms")
        drivers.append(driver)
        return driver

    return make


READ, WRITE = "read", "write"


def needed(places: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    """The rights of a pipeline, as docs/kafka-security.md has them."""
    return ("topic", places[0], READ), ("topic", places[1], WRITE)


def leaks(directory: Path, process: int, *texts: str) -> list[str]:
    """Where a secret is: in the files below a directory, in the arguments of a process tree."""
    found = [
        str(path)
        for path in directory.rglob("*")
        if path.is_file() and any(text.encode() in path.read_bytes() for text in texts)
    ]
    for each in family(process):
        for part in ("cmdline", "environ"):
            with suppress(OSError):  # it has ended meanwhile
                said = Path(f"/proc/{each}/{part}").read_bytes()
                found += [f"{part} of {each}" for text in texts if text.encode() in said]
    return found


def family(process: int) -> list[int]:
    """A process and those that it has begun."""
    children: list[str] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children += task.read_text().split()
    return [process, *(each for child in children for each in family(int(child)))]


@pytest.mark.parametrize("kind", [
    "scram-sha-512", pytest.param("scram-sha-256", marks=LONG), pytest.param("plain", marks=LONG),
    "tls", "oauthbearer",
])  # fmt: skip
def test_a_pipeline_runs_with_every_login_and_exactly_its_rights(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver], held: Path,
    kind: str,
) -> None:  # fmt: skip
    kafka.allow(*needed(places))
    sent = produce(kafka.bootstrap, places[0], [(0.5, 2000)])
    driver = made(kind)
    driver.start()
    metrics = driver.until(driver.committed(sent.acknowledged))
    assert metrics["ledger_mismatch_total"] == 0
    metrics = driver.until(lambda metrics: "missing_records" in metrics)
    assert metrics["missing_records"] == 0, "the driver's own client reads the sink too"
    _, told = driver.get("/metrics")
    key = (held / "own" / "tls.key").read_text().splitlines()[1]
    assert PASSWORD not in told
    assert leaks(driver.directory, driver.process.pid, PASSWORD, key) == []
    assert driver.terminate() == 0
    whole(kafka, places, sent)


def whole(kafka: SecuredBroker, places: tuple[str, str], sent: Summary) -> None:
    """Every record arrived, and once."""
    found = verify(kafka.bootstrap, places[1], sent.run, sent.sequences, frozenset())
    assert (found.lost, found.duplicated, found.delivered) == (0, 0, sent.acknowledged)


TELLING = """
def transform(df, params):
    session, plan = df.sparkSession, df._jdf.queryExecution()
    print(session.sparkContext.getConf().getAll(), session.conf.getAll)
    print(plan.toString(), plan.logical().toJSON())
    options = plan.analyzed().collectLeaves().head().extraOptions()
    print(options.asCaseSensitiveMap().toString(), flush=True)
    return df.select("key", "value")
"""


def test_spark_itself_knows_no_secret(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver]
) -> None:
    kafka.allow(*needed(places))
    driver = made(transform={"module": "jobs_telling:transform"})
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "jobs_telling.py").write_text(TELLING)
    sent = produce(kafka.bootstrap, places[0], [(0.2, 500)])
    driver.start()
    driver.until(driver.committed(sent.acknowledged))
    told = driver.log.read_text()
    assert "spark.app.name" in told, "it tells its settings"
    assert "/secrets/user:password}" in told, "and the options of the source"
    assert leaks(driver.directory, driver.process.pid, PASSWORD) == []
    assert driver.terminate() == 0


def test_executors_read_the_files_themselves(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver], held: Path
) -> None:
    """As in pods of their own: processes that get the references, and no secret."""
    kafka.allow(*needed(places))
    apart = {
        "spark.master": "local-cluster[1,1,900]",
        "spark.executor.memory": "600m",
        "spark.executor.extraClassPath": class_path(),
    }
    driver = made("tls", defaults=apart)
    sent = produce(kafka.bootstrap, places[0], [(0.2, 500)])
    driver.start(SPARK_WORKER_DIR=str(driver.directory / "work"))
    driver.until(driver.committed(sent.acknowledged))
    executors = [each for each in family(driver.process.pid) if BACKEND in arguments(each)]
    assert executors, "a process of its own"
    key = (held / "own" / "tls.key").read_text().splitlines()[1]
    assert leaks(driver.directory, driver.process.pid, key) == []
    assert driver.terminate() == 0
    whole(kafka, places, sent)


BACKEND = "CoarseGrainedExecutorBackend"


def arguments(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def refusal(driver: Driver, words: str, timeout_s: float = 90) -> str:
    """Wait until the driver says these words of why it is not ready."""
    deadline, said = time.monotonic() + timeout_s, ""
    while time.monotonic() < deadline:
        assert driver.process.poll() is None, driver.tail()
        try:
            _, said = driver.get("/ready")
        except OSError:
            continue
        if words in said:
            return said
        time.sleep(0.1)
    raise AssertionError(f"{words!r} was not said, but {said!r}\n{driver.tail()}")


def test_without_each_of_its_rights_a_pipeline_is_denied_with_words(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver]
) -> None:
    source, sink = places
    sent = produce(kafka.bootstrap, source, [(0.5, 1000)])
    driver = made()
    driver.start()
    said = refusal(driver, f"refuses access to topic '{source}'")
    assert said.startswith("KafkaDenied: ")
    kafka.allow(("topic", source, "describe"))
    refusal(driver, f"refuses access to topic '{sink}'")
    kafka.allow(("topic", sink, "describe"))
    said = refusal(driver, f"Not authorized to access topics: [{source}]")
    assert said.startswith("KafkaDenied: ")
    assert "grant Read for a source" in said
    kafka.allow(("topic", source, READ))
    said = refusal(driver, "Cluster authorization failed")
    assert "grant Write on the sink's topic" in said
    kafka.create_topic(f"{sink}-other")
    kafka.allow(("topic", f"{sink}-other", WRITE))
    said = refusal(driver, f"Not authorized to access topics: [{sink}]")
    assert "Write for a sink" in said
    kafka.allow(("topic", sink, WRITE))
    driver.until(driver.committed(sent.acknowledged))
    assert driver.terminate() == 0
    whole(kafka, places, sent)


def test_dead_letters_go_where_the_user_of_the_source_may_write(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver]
) -> None:
    kafka.allow(*needed(places))
    dead = f"dead-of-{places[0]}"
    kafka.create_topic(dead)
    sent = produce(kafka.bootstrap, places[0], [(0.2, 500)])
    driver = made(
        transform={"sql": "SELECT value, IF(offset < 3, 'too early', NULL) AS error FROM source"},
        deadLetters={"topic": dead, "maxPerBatch": 100},
    )
    driver.start()
    refusal(driver, f"refuses access to topic '{dead}'")
    kafka.allow(("topic", dead, WRITE))
    driver.until(driver.committed(sent.acknowledged))
    assert driver.terminate() == 0
    assert len(list(read_all(kafka.bootstrap, dead))) == 6, "three of each partition"


def test_a_changed_password_is_taken_at_a_batch_boundary(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver], held: Path
) -> None:
    kafka.allow(*needed(places))
    driver = made()
    driver.start()
    sent = produce(kafka.bootstrap, places[0], [(1.0, 3000)])
    driver.until(lambda metrics: metrics.get("records_total", 0) > 0)
    new = f"{PASSWORD}-new"
    kafka.set_password(new)
    secret(held, "user", password=new)
    assert driver.process.wait(60) == 0, driver.tail()
    assert "Secret user has changed" in driver.log.read_text()
    driver.start()
    driver.until(driver.committed(0))
    assert leaks(driver.directory, driver.process.pid, PASSWORD) == []
    assert driver.terminate() == 0
    whole(kafka, places, sent)


@LONG
def test_a_password_that_kafka_refuses_is_named_until_the_secret_has_another(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver], held: Path
) -> None:
    kafka.allow(*needed(places))
    sent = produce(kafka.bootstrap, places[0], [(0.2, 500)])
    secret(held, "user", password="of-before")
    driver = made()
    driver.start()
    words = refusal(driver, "KafkaDenied: ")
    assert "invalid credentials with SASL mechanism SCRAM-SHA-512" in words
    secret(held, "user", password=PASSWORD)
    assert driver.process.wait(60) == 0, "it starts anew, with what is there now"
    driver.start()
    driver.until(driver.committed(sent.acknowledged))
    assert driver.terminate() == 0
    whole(kafka, places, sent)


def test_a_missing_secret_is_named_and_taken_when_it_is_there(
    kafka: SecuredBroker, places: tuple[str, str], made: Callable[..., Driver], held: Path
) -> None:
    kafka.allow(*needed(places))
    later = {"secretName": "later", "password": "password"}
    said = {"type": "scram-sha-512", "username": USER, "passwordSecret": later}
    driver = made(said=said)
    driver.start()
    words = refusal(driver, "CredentialsMissing: ")
    assert "key 'password' of Secret 'later' does not exist" in words
    secret(held, "later", password=PASSWORD)
    assert driver.process.wait(60) == 0, "it starts anew, with what is there now"
    driver.start()
    driver.until(lambda metrics: metrics.get("run_number") == 1)
    assert driver.terminate() == 0


LOGINS = [
    ("wrong password", DeniedError, "refused the login: .*invalid credentials.* SCRAM-SHA-512"),
    ("wrong client secret", DeniedError, "refused the login: .*invalid_client"),
    (
        "another authority",
        DeniedError,
        "no TLS connection .*certificate verify failed.*trustedCert",
    ),
    ("public authorities", DeniedError, "no TLS connection .*certificate verify failed"),
    ("no certificate", DeniedError, "no TLS connection .*bad certificate.*certificateAndKey"),
    ("no tls", UnavailableError, "does not answer to SASL_PLAINTEXT: "),
    ("no right", DeniedError, "refuses access to topic 'from-.*grant Read"),
    ("no key", CredentialsMissingError, "key 'nothing' of Secret 'user' does not exist"),
    ("no secret", CredentialsMissingError, "key 'ca.crt' of Secret 'nothing' does not exist"),
    ("a line break", CredentialsInvalidError, "key 'line' of Secret 'user' has a line break"),
    ("no PEM", CredentialsInvalidError, "key 'password' of Secret 'user' is no certificate"),
]


def badly(kafka: SecuredBroker, case: str) -> tuple[str, Json]:
    """An address, and the security of a connection to it."""
    return {
        "wrong password": (
            kafka.sasl, trusting() | {"authentication": by_password("scram-sha-512", "wrong")}),
        "wrong client secret": (
            kafka.sasl, trusting() | {"authentication": by_token(kafka, "wrong")}),
        "another authority": (
            kafka.sasl, trusting("other-ca") | {"authentication": by_password("plain")}),
        "public authorities": (kafka.tls, {"tls": {}, "authentication": BY_CERTIFICATE}),
        "no certificate": (kafka.tls, trusting()),
        "no tls": (kafka.sasl, {"authentication": by_password("scram-sha-512")}),
        "no right": (kafka.sasl, trusting() | {"authentication": by_password("plain")}),
        "no key": (kafka.sasl, trusting() | {"authentication": by_password("plain", "nothing")}),
        "no secret": (
            kafka.sasl, trusting("nothing") | {"authentication": by_password("plain")}),
        "a line break": (kafka.sasl, trusting() | {"authentication": by_password("plain", "line")}),
        "no PEM": (
            kafka.tls,
            trusting() | {"authentication": {"type": "tls", "certificateAndKey": {
                "secretName": "user", "certificate": "password", "key": "password"}}}),
    }[case]  # fmt: skip


@pytest.mark.parametrize(("case", "kind", "words"), LOGINS, ids=[row[0] for row in LOGINS])
def test_what_keeps_the_drivers_client_out_is_named(
    kafka: SecuredBroker, places: tuple[str, str], held: Path, case: str, kind: type[Exception],
    words: str,
) -> None:  # fmt: skip
    address, said = badly(kafka, case)
    admin = KafkaAdmin(KafkaConnection(address, Security.model_validate(said)), 4)
    with pytest.raises(kind, match=words) as caught:
        admin.partitions([places[0]])
    assert PASSWORD not in str(caught.value)
    assert os.environ[VARIABLE] == str(held)


def test_a_group_that_shows_the_position_needs_read(
    kafka: SecuredBroker, places: tuple[str, str], held: Path
) -> None:
    kafka.allow(*needed(places))
    said = Security.model_validate(trusting() | {"authentication": by_password("plain")})
    admin = KafkaAdmin(KafkaConnection(kafka.sasl, said), 10)
    position = {(places[0], 0): 3}
    with pytest.raises(DeniedError, match="refuses access to consumer group 'shown': grant Read"):
        admin.commit_group("shown", position)
    kafka.allow(("group", "shown", READ))
    deadline, done = time.monotonic() + 60, False
    while not done:  # a broker's first group takes its time
        assert time.monotonic() < deadline
        with suppress(UnavailableError):
            admin.commit_group("shown", position)
            done = True
    assert kafka.group_offset("shown", places[0]) == 3


def test_what_a_topic_keeps_is_known_with_describe_configs(
    kafka: SecuredBroker, places: tuple[str, str], held: Path
) -> None:
    kafka.allow(*needed(places))
    said = Security.model_validate(trusting() | {"authentication": by_password("plain")})
    admin = KafkaAdmin(KafkaConnection(kafka.sasl, said), 10)
    assert admin.retention([places[0]]) == {}
    kafka.allow(("topic", places[0], "describe_configs"))
    assert admin.retention([places[0]]).keys() == {places[0]}


def test_the_drivers_client_logs_in_with_tokens_that_are_signed_in_the_pod(
    kafka: SecuredBroker, places: tuple[str, str], held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for Amazon MSK, but for what a token is: one of the tests' issuer."""

    class Provider:
        @staticmethod
        def generate_auth_token(_region: str) -> tuple[str, int]:
            return kafka.issuer.token(USER), int((time.time() + 600) * 1000)

    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    signer = ModuleType(SIGNER)
    signer.MSKAuthTokenProvider = Provider  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, SIGNER, signer)
    kafka.allow(*needed(places))
    produce(kafka.bootstrap, places[0], [(0.1, 100)])
    said = Security.model_validate(trusting() | {"authentication": {"type": "aws-msk-iam"}})
    admin = KafkaAdmin(KafkaConnection(kafka.sasl, said), 10)
    assert admin.partitions([places[0]]) == {places[0]: 2}
    assert admin.timestamps({(places[0], number): 0 for number in range(2)})


def test_one_of_several_authorities_is_enough(
    kafka: SecuredBroker, places: tuple[str, str], held: Path
) -> None:
    kafka.allow(*needed(places))
    both = trusting("two")
    both["tls"]["trustedCertificates"] *= 2
    said = Security.model_validate(both | {"authentication": by_password("plain")})
    admin = KafkaAdmin(KafkaConnection(kafka.sasl, said), 10)
    assert admin.partitions([places[0]]) == {places[0]: 2}
    produce(kafka.bootstrap, places[0], [(0.2, 500)])
    first = {(places[0], number): 0 for number in range(2)}
    for _ in range(3):
        assert admin.timestamps(first).keys() == first.keys(), "no right on a group is needed"


def test_a_load_by_hand_logs_in(
    kafka: SecuredBroker, places: tuple[str, str], tmp_path: Path
) -> None:
    kafka.allow(("topic", places[0], "write"))
    authority, config = tmp_path / "ca.crt", tmp_path / "client.properties"
    authority.write_text(kafka.authority.certificate)
    config.write_text(
        f"security.protocol=SASL_SSL\nssl.ca.location={authority}\n"
        f"sasl.mechanism=SCRAM-SHA-512\nsasl.username={USER}\nsasl.password={PASSWORD}\n"
    )
    told = ["produce", "-b", kafka.sasl, "-t", places[0], "--seconds", "1", "--json"]
    done = CliRunner().invoke(main, [*told, "-F", str(config)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["records_per_s"] > 0
    config.write_text(config.read_text().replace(PASSWORD, "another"))
    refused = CliRunner().invoke(main, [*told, "-F", str(config)])
    assert refused.exit_code == 1
    assert PASSWORD not in refused.output
