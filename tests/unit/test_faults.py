"""The parts of the proof of reliability that need no API server."""

from __future__ import annotations

import ast
import json
import random
import socket
import threading
from itertools import islice
from pathlib import Path

import pytest
from dev.localcluster import cgroups, daemons, power
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import Paths
from dev.localcluster.run import wait_until
from tests.faults import record as kept
from tests.faults.calls import Call
from tests.faults.catalogue import CATALOGUE
from tests.faults.door import refusals, stored
from tests.faults.generated import paths, spec_schema
from tests.faults.lines import BY_TEST, LINES
from tests.faults.operators import Operator
from tests.faults.record import Book, Row, record, recorded
from tests.faults.rules import Disorder, Fault, Repeat, drop
from tests.faults.table import END, NOT_RUN, PAGE, TABLES, rendered
from tests.faults.victims import REST_S, VICTIMS, Tries, order
from tests.unit.workloads.manifests import example


@pytest.mark.parametrize(
    ("method", "path", "query", "words"),
    [
        ("GET", "/version", {}, "get discovery"),
        ("GET", "/apis/apps/v1", {}, "get discovery"),
        ("GET", "/api/v1/pods", {"limit": "500"}, "list pods"),
        ("GET", "/api/v1/namespaces/n/pods", {"watch": "true"}, "watch pods"),
        ("GET", "/api/v1/namespaces/n/pods/a", {}, "get pods/a"),
        ("DELETE", "/api/v1/namespaces/n/pods/a", {}, "delete pods/a"),
        ("PATCH", "/apis/trimtab.dev/v1alpha1/namespaces/n/streampipelines/a/status", {},
         "patch streampipelines/a/status"),
        ("POST", "/api/v1/namespaces/n/events", {}, "post events"),
    ],
)  # fmt: skip
def test_a_url_is_read_as_a_call(method: str, path: str, query: dict[str, str], words: str) -> None:
    call = Call.of(method, path, query)
    assert call.words == words
    assert call.mutates == (method != "GET")


def test_a_fault_hits_what_it_names_and_only_so_often() -> None:
    patch, get = Call("PATCH", "pods", "a"), Call("GET", "pods", "a")
    fault = Fault(500, verbs={"patch"}, resources={"pods"}, times=2)
    assert [fault.takes(each) for each in (get, patch, Call("PATCH", "jobs", "a"))] == [
        False, True, False,
    ]  # fmt: skip
    assert [fault.takes(patch) for _ in range(3)] == [True, False, False]


def event(type_: str, version: int, kind: str = "Pod") -> bytes:
    return json.dumps({"type": type_, "object": {"kind": kind, "version": version}}).encode()


def test_bookmarks_stay_and_events_are_lost_or_repeated() -> None:
    watch = Call("GET", "pods", query={"watch": "true"})
    lost = Disorder(drop, resources={"pods"})
    assert lost.lines(watch, event("BOOKMARK", 1)) is None
    assert lost.lines(watch, event("ADDED", 1)) == []
    assert lost.lines(Call("GET", "jobs", query={"watch": "true"}), event("ADDED", 1)) is None
    first, second, again = event("ADDED", 1), event("MODIFIED", 2), Repeat()
    assert again(first) == [first, first]
    assert again(second) == [second, second, first]
    other = event("ADDED", 3, "Job")
    assert again(other) == [other, other], "a watch of jobs sends no pods"


SPEC = spec_schema("StreamPipeline")


def test_the_door_takes_the_quickstart_and_fills_it_in() -> None:
    spec = example("pipeline")["spec"]
    assert list(refusals(SPEC, spec, "spec")) == []
    whole = stored(SPEC, spec | {"unheardOf": 1, "env": None})
    assert "unheardOf" not in whole
    assert whole["tuning"]["mode"] == "Auto"
    assert whole["limits"]["executors"] == spec["limits"]["executors"]


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("suspend", "yes", "spec.suspend"), ("env", [{}], "spec.env[0].name"),
        ("goal", {"latency": {"percentile": 90, "target": "1s"}}, "spec.goal.latency.percentile"),
        ("limits", {"executors": {"min": 1, "max": 10**9}}, "spec.limits.executors.max"),
        ("drainTimeout", "x" * 100, "spec.drainTimeout"),
        ("tuning", {"bounds": {"higher": 0, "lower": True}}, "spec.tuning.bounds.lower"),
    ],
)  # fmt: skip
def test_the_door_says_what_it_refuses(field: str, value: object, where: str) -> None:
    spec = example("pipeline")["spec"] | {field: value}
    assert any(why.startswith(where) for why in refusals(SPEC, spec, "spec"))


def test_every_field_of_a_schema_may_be_changed() -> None:
    found = {".".join(map(str, path)) for path, _ in paths(SPEC)}
    assert {"goal.latency.target", "source.kafka.topics.0", "nodeSelector.team"} <= found
    assert len(found) > 150


def test_victims_come_equally_often_and_in_another_order_each_time() -> None:
    first, second = (list(islice(order(random.Random(seed)), 50)) for seed in (1, 2))
    for drawn in (first, second):
        for at in range(0, 50, len(VICTIMS)):
            assert {victim for victim, _ in drawn[at : at + len(VICTIMS)]} == set(VICTIMS)
        assert all(REST_S[0] <= rest_s <= REST_S[1] for _, rest_s in drawn)
    assert first != second
    assert first == list(islice(order(random.Random(1)), 50))


def test_what_nobody_can_tell_apart_is_unknown_and_not_zero() -> None:
    tries = Tries(600)
    tries.note("driver", 20, "DriverStarting: it starts")
    tries.note("driver", 40, "")
    tries.note("node", 90, "")
    driver, node, total = tries.rows(lost=0, duplicated=7)
    assert (driver.tried, driver.unwell_s, driver.said) == (2, 40, "DriverStarting: it starts")
    assert (driver.lost, driver.duplicated_crash) == (0, None)
    assert (total.tried, total.unwell_s, total.lost, total.duplicated_crash) == (3, 90, 0, 7)
    assert [row.lost for row in tries.rows(lost=1, duplicated=0)] == [None, None, 1]
    assert all(row.fault in CATALOGUE for row in (driver, node, total))


def test_only_whole_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    row = Row("operator-killed", 38, unwell_s=6.5, said="it goes on", commit="abc")
    monkeypatch.setattr(kept, "WHOLE", False)
    record(row)
    assert recorded(tmp_path) == {}
    monkeypatch.setattr(kept, "WHOLE", True)
    record(row)
    assert recorded(tmp_path) == {"operator-killed": row}
    book = Book()
    for seconds, said in ((1.0, ""), (3.0, "why"), (2.0, "else")):
        book.note("stale-list", seconds, said)
    book.close()
    (first, second) = recorded(tmp_path).values()
    assert first == row
    assert (second.tried, second.unwell_s, second.said) == (3, 3.0, "why")


def test_the_table_has_new_rows_and_keeps_those_of_before() -> None:
    tables = "\n\n".join(f"{begin}\n{END}" for begin in TABLES)
    once = rendered(f"# Title\n\n{tables}\n\nmore\n", {})
    assert once.count(NOT_RUN) == len(CATALOGUE) + len(LINES)
    assert once.startswith("# Title\n\n")
    assert once.endswith("\n\nmore\n")
    row = Row("live-node", 12, 3600, lost=0, unwell_s=131.4, said="a | b\nc", commit="abc123")
    twice = rendered(once, {"live-node": row})
    assert (
        f"| {CATALOGUE['live-node']} | 12 in 60 min | 0 | – | – | 131 s | a / b c | abc123 |"
        in (twice.splitlines())
    )
    assert rendered(twice, {}) == twice
    assert rendered(twice, {"live-node": row}) == twice


def test_the_page_has_a_row_for_each_fault() -> None:
    page = PAGE.read_text()
    assert rendered(page, {}) == page, "make test-faults, or python -m tests.faults.table"


def test_every_line_names_tests_that_are_there() -> None:
    assert len({line.title for line in LINES.values()} | set(CATALOGUE.values())) == len(
        LINES
    ) + len(CATALOGUE)
    for node in BY_TEST:
        file, _, function = node.partition("::")
        tree = ast.parse((kept.ROOT / file).read_text())
        defined = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
        assert function in defined, node


def test_a_line_adds_up_what_its_tests_have_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    monkeypatch.setattr(kept, "WHOLE", False)
    record(Row("quota", 1, lost=0, commit="abc"), "one")
    record(Row("quota", 1, unwell_s=3.0, lost=0, said="no room", commit="abc"), "two")
    for unwell_s in (9.0, 7.0):  # of one test, the last run counts
        record(Row("quota", 1, unwell_s=unwell_s, commit="abc"), "three")
    assert recorded(tmp_path) == {
        "quota": Row("quota", 3, unwell_s=7.0, lost=0, said="no room", commit="abc")
    }
    line = rendered(PAGE.read_text(), {"idle": Row("idle", 5, commit="abc")})
    assert f"| {LINES['idle'].title} | 5 | – | – | – | – | {LINES['idle'].said} | abc |" in line


def test_a_node_without_power_has_no_kubelet_and_no_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths_ = Paths(cache=tmp_path / "cache", state=tmp_path / "state")
    sleeper = daemons.start("kubelet-node1", ["sleep", "60"], logs=tmp_path, pids=paths_.pids)
    inside = daemons.start("inside", ["sleep", "60"], logs=tmp_path)
    wait_until("both", lambda: command(sleeper.pid) == command(inside.pid) != [], limit_s=10)

    def members(number: int) -> set[int]:
        assert number == 1
        return {inside.pid} if daemons.alive(inside.pid) else set()

    monkeypatch.setattr(cgroups, "members", members)
    outage = power.off(paths_, 1)
    assert not daemons.alive(sleeper.pid)
    assert not daemons.alive(inside.pid)
    with pytest.raises(LocalClusterError, match="kubelet-node1 does not run"):
        power.off(paths_, 1)
    again = power.on(paths_, outage)
    wait_until("the kubelet", lambda: command(again.pid) == ["sleep", "60"], limit_s=10)
    daemons.end([again.pid])


def command(pid: int) -> list[str]:
    return daemons.command_line(pid)


def test_an_operator_that_dies_within_its_answer_is_one_that_does_not_answer(
    tmp_path: Path,
) -> None:
    operator = Operator("dies", tmp_path / "kubeconfig", tmp_path)
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"

    def answer(server: socket.socket) -> None:
        for _ in range(3):
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(half)

    with socket.create_server(("127.0.0.1", operator.port)) as server:
        thread = threading.Thread(target=answer, args=(server,), daemon=True)
        thread.start()
        assert (operator.ticks(), operator.ready(), operator.healthy()) == (0, "", True)
        thread.join(10)
