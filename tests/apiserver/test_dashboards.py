"""Every panel asks a real Prometheus, which scrapes what operator and drivers really export."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from dev.dashboards.board import Json
from dev.dashboards.panels import grown
from tests import exposition
from tests.apiserver.promtool import promtool
from tests.apiserver.servers import serving
from tests.unit.reconcile.stage import NAMESPACE

from trimtab import http

pytestmark = pytest.mark.apiserver

FILES = Path("charts/trimtab/files").absolute()
WAIT_S = 60.0
ENOUGH = "count_over_time(trimtab_operator_pipelines[1m]) > 3 and on () (ALERTS == 1)"
"""As many scrapes as a rate needs, and an alert."""


def rules_at_once(folder: Path) -> Path:
    """The alerts without a duration, so that they fire in the test."""
    rules = yaml.safe_load((FILES / "rules.yaml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule.pop("for", None)
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(rules))
    return path


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    driver = http.serve(0, exposition.driver(), {})
    targets = [
        (driver, {"namespace": NAMESPACE, "pipeline": name, "pod": f"{name}-driver-0"})
        for name in exposition.PIPELINES
    ]
    operator = http.serve(0, exposition.operator(), {})
    targets.append((operator, {"namespace": "trimtab", "pod": "trimtab-operator-0"}))
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules_at_once(folder))],
        "scrape_configs": [
            {
                "job_name": "pods",
                "static_configs": [
                    {"targets": [f"127.0.0.1:{port}"], "labels": labels} for port, labels in targets
                ],
            }
        ],
    }
    with serving(folder, config) as url:
        deadline = time.monotonic() + WAIT_S
        while not found(url, ENOUGH):
            assert time.monotonic() < deadline, "Prometheus did not scrape"
            time.sleep(0.2)
        yield url


def found(url: str, query: str) -> list[Any]:
    """The series of an answer; none while the server starts."""
    try:
        answer = requests.get(f"{url}/api/v1/query", {"query": query}, timeout=5)
    except requests.ConnectionError:
        return []
    if answer.status_code == requests.codes.service_unavailable:
        return []
    said = answer.json()
    assert said["status"] == "success", f"{query}: {said.get('error')}"
    series: list[Any] = said["data"]["result"]
    return series


def queries() -> Iterator[Any]:
    for path in sorted((FILES / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                name = f"{path.stem}-{panel['title']}-{target['refId']}"
                yield pytest.param(target["expr"], id=name.replace(" ", "-"))


@pytest.mark.parametrize("query", list(queries()))
def test_a_panel_has_something_to_show(prometheus: str, query: str) -> None:
    asked = query.replace("$namespace", NAMESPACE)
    for window in ("$__rate_interval", "$__range"):
        asked = asked.replace(window, "1m")
    assert any(found(prometheus, asked.replace("$pipeline", p)) for p in exposition.PIPELINES)


def test_the_first_decision_of_a_reason_shows(tmp_path: Path) -> None:
    """Its series begins with it, so that `increase` would show nothing."""
    query = f"sum {grown('x', '1m')}"
    grows = {2: 1, 3: 0, 6: 2, 7: 0}
    suite = {
        "evaluation_interval": "1m",
        "tests": [{
            "interval": "1m",
            "input_series": [{"series": "x", "values": "_x2 1x3 3x2"}],
            "promql_expr_test": [
                {"expr": query, "eval_time": f"{minute}m", "exp_samples": samples(value)}
                for minute, value in grows.items()
            ],
        }],
    }  # fmt: skip
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(suite))
    done = promtool("test", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


def samples(value: int) -> list[Json]:
    return [{"labels": "{}", "value": value}]


def test_words_of_alerts_are_filled_in(prometheus: str) -> None:
    groups = requests.get(f"{prometheus}/api/v1/rules", timeout=5).json()["data"]["groups"]
    alerts = [alert for group in groups for rule in group["rules"] for alert in rule["alerts"]]
    assert {alert["labels"]["alertname"] for alert in alerts} >= {
        "TrimtabGoalUnmet", "TrimtabExecutorsMissing", "TrimtabRecordsMissing",
    }  # fmt: skip
    for alert in (alert for alert in alerts if "pipeline" in alert["labels"]):
        assert alert["labels"]["namespace"] == NAMESPACE
        words = json.dumps(alert["annotations"])
        assert alert["labels"]["pipeline"] in words
        assert [bad for bad in ("{{", "<no value>", "<error") if bad in words] == []
