"""Schemas of a registry: which are read, when, and what an answer that is none means."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from tests.bounds import LOGIN
from tests.kafka.registry import Registry
from tests.kafka.secured import Authority

from trimtab.api.v1alpha1.formats import RegistryLogin, SchemaRegistry
from trimtab.job.query.formats.registry import Schemas
from trimtab.job.termination import JobFailureError, Reason

ORDER = {"type": "record", "name": "Order", "fields": []}


def test_schemas_are_kept_by_id_and_asked_for_once() -> None:
    with Registry() as registry:
        registry.add(7, ORDER, "orders-value")
        registry.add(8, ORDER, "orders-value")
        registry.add(9, ORDER)
        schemas = Schemas(SchemaRegistry(url=f"{registry.url}/"))
        schemas.learn_topics(["orders", "other"])
        assert set(schemas.known) == {7, 8}
        schemas.learn([7, 9])
        schemas.learn([7, 9, 404])
        schemas.learn([404])
    assert set(schemas.known) == {7, 8, 9}
    assert schemas.unusable == {404}
    assert [path for path in registry.asked if "ids" in path] == [
        "/schemas/ids/9",
        "/schemas/ids/404",
    ]


def test_what_is_no_avro_by_itself_is_unusable() -> None:
    with Registry() as registry:
        registry.add(1, ORDER, "orders-value", schemaType="PROTOBUF")
        registry.add(2, ORDER, references=[{"name": "Item", "subject": "items", "version": 1}])
        registry.add(3, ORDER, schemaType="AVRO")
        schemas = Schemas(SchemaRegistry(url=registry.url))
        schemas.learn_topics(["orders"])
        schemas.learn([2, 3])
    assert (set(schemas.known), schemas.unusable) == ({3}, {1, 2})


def test_it_logs_in_with_what_the_secret_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_SECRETS", str(tmp_path))
    login = RegistryLogin.model_validate(LOGIN)
    with Registry() as registry:
        # the API takes a login over https only
        document = SchemaRegistry(url=registry.url).model_copy(update={"authentication": login})
        with pytest.raises(JobFailureError, match="'p' of Secret 's' does not exist") as missing:
            Schemas(document).learn([1])
        assert (missing.value.reason, missing.value.heals) == (Reason.CREDENTIALS_MISSING, True)
        (tmp_path / "s").mkdir()
        (tmp_path / "s" / "p").write_text("pässword\n")
        Schemas(document).learn([1])
    assert registry.logins == {"Basic " + base64.b64encode("u:pässword".encode()).decode()}


def test_over_https_it_trusts_the_authorities_that_are_named_and_logs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_SECRETS", str(tmp_path))
    own, other = (Authority(tmp_path / name, name) for name in ("own", "other"))
    pair = tmp_path / "registry.pem"
    pair.write_text("".join(reversed(own.sign("registry"))))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "p").write_text("password")
    (tmp_path / "s" / "own.crt").write_text(own.certificate)
    (tmp_path / "s" / "other.crt").write_text(other.certificate)
    with Registry(pair) as registry:
        registry.add(1, ORDER)

        def schemas(*named: str) -> Schemas:
            trusted = [{"secretName": "s", "certificate": f"{name}.crt"} for name in named]
            said = {"url": registry.url, "authentication": LOGIN, "trustedCertificates": trusted}
            return Schemas(SchemaRegistry.model_validate(said))

        for named in ((), ("other",)):
            with pytest.raises(JobFailureError, match="certificate verify failed") as refused:
                schemas(*named).learn([1])
            assert refused.value.reason == Reason.SCHEMA_REGISTRY_UNREACHABLE
        known = schemas("own", "other")
        known.learn([1])
    assert set(known.known) == {1}
    assert registry.logins == {"Basic " + base64.b64encode(b"u:password").decode()}


@pytest.mark.parametrize("status", [401, 500])
def test_a_registry_that_refuses_or_is_gone_may_come_back(status: int) -> None:
    with Registry() as registry:
        registry.status = status
        schemas = Schemas(SchemaRegistry(url=registry.url))
        with pytest.raises(JobFailureError, match=rf"answered {status} .* to GET") as refused:
            schemas.learn_topics(["orders"])
    with pytest.raises(JobFailureError, match="does not answer") as gone:
        schemas.learn([1])
    for each in (refused.value, gone.value):
        assert (each.reason, each.heals) == (Reason.SCHEMA_REGISTRY_UNREACHABLE, True)
    assert not schemas.unusable
