"""One call of the operator to an API server that refuses, hangs or resets."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apiserver.conftest import Kubectl
from tests.faults.operators import login
from tests.faults.proxy import Proxy, proxied
from tests.faults.rules import HANG, RESET, Fault

from trimtab.adapters import calls
from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.adapters.memory import ManualClock
from trimtab.errors import BadInputError, UnavailableError
from trimtab.workloads.common import MANAGED_BY

pytestmark = pytest.mark.apiserver

Json = dict[str, object]
NAMESPACE = "default"
KEY = ("ConfigMap", NAMESPACE, "of-a-call")
READS, WRITES = {"list", "get"}, {"patch"}


@pytest.fixture(scope="module")
def proxy(kubeconfig: Path, kubectl: Kubectl) -> Iterator[Proxy]:
    with proxied(kubeconfig) as made:
        yield made


@pytest.fixture
def cluster(proxy: Proxy, kubeconfig: Path, token: str, tmp_path: Path) -> KubernetesCluster:
    config = login(kubeconfig, token, tmp_path / "kubeconfig", proxy.url)
    made = KubernetesCluster((NAMESPACE,), ManualClock(), str(config))
    made.list_all("ConfigMap")  # what the server has is known from here on
    made.list_all("StreamPipeline")
    return made


def config_map(value: str) -> Json:
    meta = {"name": KEY[2], "namespace": NAMESPACE, "labels": dict(MANAGED_BY)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": value}}


@pytest.mark.parametrize("answer", [RESET, 500, 429])
@pytest.mark.parametrize("verbs", [READS, WRITES], ids=["reads", "writes"])
def test_what_may_heal_is_tried_three_times(
    proxy: Proxy, cluster: KubernetesCluster, answer: int | str, verbs: set[str]
) -> None:
    fault = Fault(answer, verbs)
    with proxy.fault(fault), pytest.raises(UnavailableError, match="the API server"):
        cluster.list_all("Pod") if verbs == READS else cluster.apply(config_map("1"))
    assert len(fault.hit) == 3


def test_a_call_that_hangs_is_not_repeated(
    proxy: Proxy, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next tick tries again; repeated at once, one object would keep all others waiting."""
    monkeypatch.setattr(calls, "TIMEOUT_S", (5.0, 0.5))
    for verbs in (READS, WRITES):
        fault = Fault(HANG, verbs)
        with proxy.fault(fault), pytest.raises(UnavailableError, match=r"0\.5"):
            cluster.list_all("Pod") if verbs == READS else cluster.apply(config_map("1"))
        assert len(fault.hit) == 1


FIRST = {
    HANG: (UnavailableError, "did not answer"), RESET: (UnavailableError, "did not answer"),
    500: (UnavailableError, "500"), 403: (BadInputError, "made by a test"),
}  # fmt: skip


@pytest.mark.parametrize("answer", FIRST)
def test_even_the_first_call_ends(
    kubeconfig: Path, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    answer: int | str,
) -> None:  # fmt: skip
    monkeypatch.setattr(calls, "TIMEOUT_S", (5.0, 0.5))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # keeps what was known of an address
    error, words = FIRST[answer]
    with proxied(kubeconfig) as proxy:
        config = login(kubeconfig, token, tmp_path / "kubeconfig", proxy.url)
        with proxy.fault(Fault(answer)), pytest.raises(error, match=words):
            KubernetesCluster((NAMESPACE,), ManualClock(), str(config))


def test_long_lists_are_read(cluster: KubernetesCluster, kubectl: Kubectl) -> None:
    """The API server compresses what is longer than 128 KiB, for whoever asks for that."""
    names = [f"long-{number}" for number in range(3)]
    for name in names:
        long = config_map("x" * 100_000)
        cluster.apply(long | {"metadata": long["metadata"] | {"name": name}})
    listed = {each["metadata"]["name"] for each in cluster.list_all("ConfigMap")}
    kubectl("delete", "configmap", "-n", NAMESPACE, *names)
    assert listed >= set(names)


@pytest.mark.parametrize(("answer", "words"), [("<html>", "no JSON: '<html>'"), (None, "no text")])
def test_what_nobody_can_read_is_no_answer(answer: str | None, words: str) -> None:
    """As from a gateway on the way, which has a page of its own, or compresses unasked."""
    with pytest.raises(UnavailableError, match=words):
        calls.made(lambda: answer or b"\x1f\x8b".decode())


@pytest.mark.parametrize("verbs", [READS, WRITES], ids=["reads", "writes"])
def test_the_server_says_when_to_try_again(
    proxy: Proxy, cluster: KubernetesCluster, verbs: set[str]
) -> None:
    cluster.apply(config_map("0"))
    fault, began_s = Fault(429, verbs, times=1, retry_after_s=2), time.monotonic()
    with proxy.fault(fault):
        cluster.get(KEY) if verbs == READS else cluster.apply(config_map("2"))
    assert 2 <= time.monotonic() - began_s < 20
    with proxy.fault(Fault(429, verbs, retry_after_s=600)) as long, pytest.raises(UnavailableError):
        cluster.get(KEY) if verbs == READS else cluster.apply(config_map("3"))
    assert len(long.hit) == 1, "the tick does not wait for so long, and does not ask before"


def test_a_server_that_does_not_serve_a_kind_does_not_say_that_an_object_is_gone(
    proxy: Proxy, cluster: KubernetesCluster
) -> None:
    """It does so for a moment when it starts, and when somebody deletes the CRD."""
    cluster.apply(config_map("1"))
    for code in (404, 409):
        with proxy.fault(Fault(code)), pytest.raises(UnavailableError, match=str(code)):
            cluster.get(KEY)
    assert cluster.get(KEY) is not None
    assert cluster.get((*KEY[:2], "another")) is None


@pytest.mark.parametrize("code", [401, 403, 404, 409, 410, 422, 500])
def test_a_list_that_fails_says_which(proxy: Proxy, cluster: KubernetesCluster, code: int) -> None:
    words = "streampipelines were not listed: the "
    with proxy.fault(Fault(code, READS)), pytest.raises(UnavailableError, match=words):
        cluster.list_all("StreamPipeline")
