"""What the operator makes of its environment, and what it never shows of it."""

from __future__ import annotations

import pytest

from trimtab.api.packages import NO_INDEX, PackageIndex
from trimtab.api.pod_user import DEFAULT_USER, PodUser
from trimtab.errors import BadInputError
from trimtab.settings import OperatorSettings

GIVEN = {"TRIMTAB_PIPELINE_IMAGE": "p", "TRIMTAB_KAFKA_IMAGE": "k"}


def settings(url: str = "http://prometheus:9090", **more: str) -> OperatorSettings:
    named = {f"TRIMTAB_PROMETHEUS_{name}": value for name, value in more.items()}
    return OperatorSettings.from_environment(GIVEN | {"TRIMTAB_PROMETHEUS_URL": url} | named)


@pytest.mark.parametrize(
    ("url", "shown", "login"),
    [
        ("http://prometheus:9090", "http://prometheus:9090", None),
        ("https://p.example/prom/", "https://p.example/prom", None),
        ("http://[fd00::1]:9090", "http://[fd00::1]:9090", None),
        ("http://me:s3cret@p:9090/x", "http://p:9090/x", ("me", "s3cret")),
        ("http://me:s%40cret@p", "http://p", ("me", "s@cret")),
        ("http://:s3cret@p", "http://p", ("", "s3cret")),
    ],
)
def test_a_login_in_the_address_is_kept_apart(url: str, shown: str, login: object) -> None:
    found = settings(url)
    assert (found.prometheus_url, found.prometheus_login) == (shown, login)
    assert not [word for word in ("s3cret", "s@cret", "s%40cret") if word in repr(found)]


def test_a_login_from_a_secret_wins() -> None:
    found = settings("http://a:b@p", USERNAME="me", PASSWORD="s3cret")
    assert found.prometheus_login == ("me", "s3cret")


@pytest.mark.parametrize(
    "url",
    [
        "prometheus:9090", "ftp://me:s3cret@p", "http://me:s3cret@", "http://me:s3cret@p:port",
        "http://p?token=s3cret", "http://p#s3cret", "http://me:s3cret@[p",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_not_shown(url: str) -> None:
    with pytest.raises(BadInputError) as raised:
        settings(url)
    assert "TRIMTAB_PROMETHEUS_URL is not an address" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_matchers_are_read_as_json() -> None:
    assert settings().prometheus_matchers == {}
    found = settings(MATCHERS='{"cluster": "eu-1", "job": ""}')
    assert found.prometheus_matchers == {"cluster": "eu-1", "job": ""}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cluster=eu-1", "is not a JSON object of strings"),
        ('["cluster"]', "is not a JSON object of strings"),
        ('{"cluster": 1}', "is not a JSON object of strings"),
        ('{"the cluster": "eu-1"}', "'the cluster' is not a label name"),
        ('{"a\\"} or up": "x"}', "is not a label name"),
        ('{"namespace": "x"}', "use the label 'namespace' themselves"),
        ('{"__name__": "x"}', "use the label '__name__' themselves"),
        ('{"role": "x"}', "use the label 'role' themselves"),
    ],
)
def test_matchers_that_cannot_be_used_are_refused(text: str, words: str) -> None:
    with pytest.raises(BadInputError) as raised:
        settings(MATCHERS=text)
    assert words in str(raised.value)


def test_pods_pull_their_images_as_the_chart_says() -> None:
    given = GIVEN | {"TRIMTAB_PROMETHEUS_URL": "http://p"}
    plain = OperatorSettings.from_environment(given)
    assert (plain.image_pull_policy, plain.image_pull_secrets) == ("IfNotPresent", ())
    told = {"TRIMTAB_IMAGE_PULL_POLICY": "Always", "TRIMTAB_IMAGE_PULL_SECRETS": "a,b"}
    found = OperatorSettings.from_environment(given | told)
    assert (found.image_pull_policy, found.image_pull_secrets) == ("Always", ("a", "b"))
    with pytest.raises(BadInputError, match="'Often' is not one of Always, IfNotPresent, Never"):
        OperatorSettings.from_environment(given | {"TRIMTAB_IMAGE_PULL_POLICY": "Often"})


def test_network_policies_are_read_as_the_chart_writes_them() -> None:
    given = GIVEN | {"TRIMTAB_PROMETHEUS_URL": "http://prometheus:9090"}
    assert OperatorSettings.from_environment(given).network is None
    text = '{"metricsFrom": [], "kafkaFrom": [{"podSelector": {}}], "egress": {"allow": [{}]}}'
    network = OperatorSettings.from_environment(given | {"TRIMTAB_NETWORK_POLICIES": text}).network
    assert network is not None
    assert (network.metrics_from, network.kafka_from) == ((), ({"podSelector": {}},))
    assert network.egress is not None
    assert (network.egress.api_server, network.egress.allow) == ((), ({},))
    assert network.spark_ui_from == ()
    text = '{"sparkUIFrom": [{"podSelector": {}}]}'
    network = OperatorSettings.from_environment(given | {"TRIMTAB_NETWORK_POLICIES": text}).network
    assert network is not None
    assert network.spark_ui_from == ({"podSelector": {}},)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "the document"),
        ('{"kafka": []}', "kafka"),
        ('{"egress": {"allow": 1}}', "egress.allow"),
    ],
)
def test_network_policies_that_cannot_be_read_name_the_place(text: str, where: str) -> None:
    given = GIVEN | {"TRIMTAB_PROMETHEUS_URL": "http://p", "TRIMTAB_NETWORK_POLICIES": text}
    with pytest.raises(BadInputError, match=f"TRIMTAB_NETWORK_POLICIES is wrong at {where}"):
        OperatorSettings.from_environment(given)


def test_pods_run_as_whom_the_chart_says() -> None:
    given = GIVEN | {"TRIMTAB_PROMETHEUS_URL": "http://p"}

    def user(text: str) -> PodUser:
        told = {"TRIMTAB_POD_SECURITY_CONTEXT": text}
        return OperatorSettings.from_environment(given | told).pod_user

    assert OperatorSettings.from_environment(given).pod_user == DEFAULT_USER
    assert user('{"runAsUser": 1000700000}') == PodUser(run_as_user=1000700000)
    assert user("{}") == PodUser(), "the cluster chooses"
    with pytest.raises(BadInputError, match=r"_CONTEXT is wrong at runAsUser: see podSecurityC"):
        user('{"runAsUser": 0}')


def test_drivers_are_read_directly_only_on_request() -> None:
    assert settings().direct_tick_s is None
    assert settings().pause_s == settings().tick_s == 10
    url = {"TRIMTAB_PROMETHEUS_URL": "http://p", "TRIMTAB_DIRECT_TICK_SECONDS": "2"}
    on = OperatorSettings.from_environment(GIVEN | url)
    assert (on.direct_tick_s, on.pause_s, on.tick_s) == (2.0, 2.0, 10.0)


def packages_from(text: str) -> PackageIndex:
    given = GIVEN | {"TRIMTAB_PROMETHEUS_URL": "http://p", "TRIMTAB_PYTHON": text}
    return OperatorSettings.from_environment(given).package_index


def test_packages_come_from_where_the_chart_says() -> None:
    assert settings().package_index == NO_INDEX
    text = '{"indexUrl": "https://i/simple", "proxy": "http://p:3128", "secretName": "index"}'
    found = packages_from(text)
    assert found == PackageIndex(
        index_url="https://i/simple", proxy="http://p:3128", secret_name="index"
    )
    assert packages_from('{"indexUrl": "", "proxy": "", "secretName": ""}') == NO_INDEX


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"indexUrl": "https://me:s3cret@i/simple"}', "indexUrl"),
        ('{"proxy": "http://me:s3cret@p:3128"}', "proxy"),
        ('{"indexUrl": "file:///simple"}', "indexUrl"),
    ],
)
def test_an_index_with_a_login_is_refused_and_not_repeated(text: str, where: str) -> None:
    with pytest.raises(BadInputError, match=f"TRIMTAB_PYTHON is wrong at {where}") as caught:
        packages_from(text)
    assert "s3cret" not in str(caught.value)
