"""What the chart gives to a prometheus-operator and a Grafana that are there already."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev.localcluster.monitoring import monitoring_crds
from dev.localcluster.paths import from_environment
from tests.apiserver.conftest import ROOT, Kubectl, established
from tests.apiserver.promtool import promtool
from tests.apiserver.test_chart import OWN, helm, of, rendered

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]
FILES = ROOT / "charts/trimtab/files"
ON = tuple(f"monitoring.{part}.enabled=true" for part in ("podMonitor", "rules", "dashboards"))
KINDS = {"PodMonitor", "PrometheusRule"}


def monitoring(*values: str) -> list[Json]:
    """The objects for others that the chart makes."""
    found = [m for m in rendered(*ON, *values, install=OWN) if m["kind"] in KINDS or boards(m)]
    assert found
    return found


def boards(manifest: Json) -> bool:
    return manifest["kind"] == "ConfigMap" and "-dashboard-" in manifest["metadata"]["name"]


def groups(*values: str) -> list[Json]:
    (rule,) = of(monitoring(*values), "PrometheusRule", "t")
    found: list[Json] = rule["spec"]["groups"]
    return found


def alerts(*values: str) -> dict[str, Json]:
    return {rule["alert"]: rule for group in groups(*values) for rule in group["rules"]}


@pytest.fixture(scope="module")
def operator_crds(kubectl: Kubectl) -> None:
    """The real definitions of prometheus-operator."""
    folder = monitoring_crds(from_environment())
    for name in ("podmonitors", "prometheusrules"):
        path = str(folder / f"monitoring.coreos.com_{name}.yaml")
        kubectl("apply", "--server-side", "-f", path)
        established(kubectl, "-f", path)


def applied(kubectl: Kubectl, namespace: str, manifest: Json) -> tuple[int, str]:
    """How the API server takes it, without the chart's own namespace."""
    made = copy.deepcopy(manifest)
    made["metadata"]["namespace"] = namespace
    done = kubectl(
        "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-",
        manifest=made, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.usefixtures("operator_crds")
def test_the_real_definitions_take_everything(kubectl: Kubectl, namespace: str) -> None:
    label = "release=kube-prometheus-stack"
    values = [f"monitoring.{part}.labels.{label}" for part in ("podMonitor", "rules", "dashboards")]
    found = monitoring(*values, "watchNamespaces={a,b}") + monitoring()
    assert {m["kind"] for m in found} == {*KINDS, "ConfigMap"}
    for manifest in found:
        assert applied(kubectl, namespace, manifest) == (0, ""), manifest["metadata"]["name"]


@pytest.mark.usefixtures("operator_crds")
def test_a_wrong_field_would_be_refused(kubectl: Kubectl, namespace: str) -> None:
    (drivers,) = of(monitoring(), "PodMonitor", "t-drivers")
    drivers["spec"]["podMetricsEndpoints"][0]["interval"] = "often"
    code, words = applied(kubectl, namespace, drivers)
    assert code
    assert "interval" in words
    (rules,) = of(monitoring(), "PrometheusRule", "t")
    rules["spec"]["groups"][0]["rules"][0]["expression"] = "up"
    code, words = applied(kubectl, namespace, rules)
    assert code
    assert "expression" in words


def test_nothing_of_it_is_there_by_default() -> None:
    assert [m for m in rendered() if m["kind"] in KINDS or boards(m)] == []


def test_drivers_are_scraped_as_the_small_prometheus_does() -> None:
    (config,) = of(rendered(), "ConfigMap", "t-prometheus")
    jobs = yaml.safe_load(config["data"]["prometheus.yml"])["scrape_configs"]
    (job,) = (job for job in jobs if job["job_name"] == "trimtab-drivers")
    (drivers,) = of(monitoring("prometheus.scrapeSeconds=7"), "PodMonitor", "t-drivers")
    spec, (endpoint,) = drivers["spec"], drivers["spec"]["podMetricsEndpoints"]
    assert spec["selector"]["matchLabels"] == {"trimtab.dev/component": "driver"}
    assert spec["namespaceSelector"] == {"any": True}
    assert (endpoint["port"], endpoint["interval"], endpoint["scrapeTimeout"]) == (
        "metrics", "7s", "7s",
    )  # fmt: skip
    assert endpoint["honorLabels"] is job["honor_labels"] is False
    for ours, theirs in (
        ("sampleLimit", "sample_limit"), ("bodySizeLimit", "body_size_limit"),
        ("labelLimit", "label_limit"), ("labelValueLengthLimit", "label_value_length_limit"),
    ):  # fmt: skip
        assert spec[ours] == job[theirs]
    by_itself = {"namespace", "pod"}
    told = {(r["sourceLabels"][0], r["targetLabel"]) for r in endpoint["relabelings"]}
    assert told == {
        (rule["source_labels"][0], rule["target_label"])
        for rule in job["relabel_configs"]
        if rule.get("target_label", "namespace") not in by_itself
    }


def test_the_watched_namespaces_and_the_operator_are_scraped() -> None:
    (drivers,) = of(monitoring("watchNamespaces={a,b}"), "PodMonitor", "t-drivers")
    assert drivers["spec"]["namespaceSelector"] == {"matchNames": ["a", "b"]}
    found = rendered(*ON, install=OWN)
    (operator,) = of(found, "PodMonitor", "t-operator")
    (deployment,) = of(found, "Deployment", "t-operator")
    pod = deployment["spec"]["template"]
    assert operator["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    ports = {port["name"] for each in pod["spec"]["containers"] for port in each["ports"]}
    assert operator["spec"]["podMetricsEndpoints"][0]["port"] in ports


def test_labels_are_added_to_the_chart_s_own() -> None:
    for part, kind in (("podMonitor", "PodMonitor"), ("rules", "PrometheusRule")):
        made = [m for m in monitoring(f"monitoring.{part}.labels.release=x") if m["kind"] == kind]
        for manifest in made:
            labels = manifest["metadata"]["labels"]
            assert (labels["release"], labels["app.kubernetes.io/name"]) == ("x", "trimtab")


def test_the_rules_are_those_of_the_file(tmp_path: Path) -> None:
    rules = yaml.safe_load((FILES / "rules.yaml").read_text())["groups"]
    assert groups("canary.enabled=true") == rules
    assert groups() == rules[:-1], "an alert of the canary, if there is one"
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": groups(
        "monitoring.rules.alerts.TrimtabFlapping.threshold=6",
        "monitoring.rules.alerts.TrimtabRetentionDeadlineNear.threshold=10000000",
    )}))  # fmt: skip
    done = promtool("check", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_can_be_changed_and_turned_off() -> None:
    name = "monitoring.rules.alerts.Trimtab"
    found = alerts(
        f"{name}GoalUnmet.for=30m", f"{name}GoalUnmet.severity=critical",
        f"{name}Flapping.threshold=6", f"{name}OperatorDown.enabled=false",
        "monitoring.rules.runbookURL=https://wiki.example/runbook",
    )  # fmt: skip
    usual = alerts()
    goal = found["TrimtabGoalUnmet"]
    assert (goal["for"], goal["labels"]["severity"]) == ("30m", "critical")
    assert goal["labels"]["namespace"] == usual["TrimtabGoalUnmet"]["labels"]["namespace"]
    assert found["TrimtabFlapping"]["expr"].endswith(") > 6")
    assert usual.keys() - found.keys() == {"TrimtabOperatorDown"}
    assert "trimtab-operator" not in {
        g["name"] for g in groups(f"{name}OperatorDown.enabled=false")
    }
    for alert, rule in found.items():
        url = f"https://wiki.example/runbook#{alert.lower()}"
        assert rule["annotations"]["runbook_url"] == url


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("TrimtabGoalMissed.for=1m", "'TrimtabGoalMissed' not allowed"),
        ("TrimtabGoalUnmet.threshold=1", "this alert has none"),
        ("TrimtabGoalUnmet.for=soon", "does not match pattern"),
        ("TrimtabFlapping.threshold=many", "got string, want number"),
    ],
)
def test_changes_that_mean_nothing_are_refused(value: str, words: str) -> None:
    assert words in helm(OWN, *ON, f"monitoring.rules.alerts.{value}").stderr


def test_the_dashboards_are_those_of_the_files() -> None:
    values = ("monitoring.dashboards.annotations.grafana_folder=trimtab",)
    made = [m for m in monitoring(*values) if boards(m)]
    found = {name: text for m in made for name, text in m["data"].items()}
    files = {f"trimtab-{p.name}": p for p in (FILES / "dashboards").glob("*.json")}
    assert found.keys() == files.keys()
    for name, path in files.items():
        assert json.loads(found[name]) == json.loads(path.read_text())
    for manifest in made:
        assert manifest["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert manifest["metadata"]["annotations"] == {"grafana_folder": "trimtab"}
        assert len(json.dumps(manifest)) < 2**18, "kubectl apply keeps it in an annotation"
