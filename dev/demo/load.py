"""The load generator and the verifier as Jobs in the cluster, where Kafka's names resolve."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

from dev.demo.kube import DemoError, Json, Kube
from dev.localcluster.paths import REPO

CODE = Path("dev/loadgen")
AGES_S = 300.0
"""For reading both topics of a run."""
BOOTSTRAP = "events-kafka-0.events-kafka.{namespace}.svc:9092"


def code_map(namespace: str) -> Json:
    """The generator's own files in a ConfigMap."""
    files = sorted((REPO / CODE).glob("*.py"))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "loadgen", "namespace": namespace},
        "data": {file.name: file.read_text() for file in files},
    }


def job(kube: Kube, name: str, image: str, arguments: list[str]) -> Json:
    """A Job that runs `python -m dev.loadgen` with these arguments in the pipeline's image."""
    secure = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "loadgen",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["python", "-m", "dev.loadgen", *arguments],
        "env": [{"name": "PYTHONPATH", "value": "/opt/loadgen"}],
        "securityContext": secure,
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [
            {"name": "code", "mountPath": "/opt/loadgen/dev/loadgen"},
            {"name": "summary", "mountPath": "/opt/summary"},
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [container],
        "volumes": [
            {"name": "code", "configMap": {"name": "loadgen"}},
            {"name": "summary", "configMap": {"name": "loadgen-summary", "optional": True}},
        ],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": kube.namespace},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }


def start(
    kube: Kube, image: str, schedule: list[tuple[float, float]], topic: str = "clicks",
    *, hot: float = 0.0, size: int = 100,
) -> float:  # fmt: skip
    """Begin to produce records of `size` bytes; returns when the first was due, as wall time."""
    steps = ",".join(f"{seconds:g}:{rate:g}" for seconds, rate in schedule)
    bootstrap = BOOTSTRAP.format(namespace=kube.namespace)
    arguments = ["produce", "--bootstrap", bootstrap, "--topic", topic, "--schedule", steps,
                 "--hot", f"{hot:g}", "--size", str(size)]  # fmt: skip
    kube.apply(code_map(kube.namespace), job(kube, "load", image, arguments))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pods = kube.get("pods", "-l", "job-name=load") or {"items": []}
        for pod in pods["items"]:
            for container in pod["status"].get("containerStatuses", []):
                running = container["state"].get("running")
                if running:
                    return datetime.fromisoformat(running["startedAt"]).timestamp()
        time.sleep(0.5)
    raise DemoError("the load generator did not start in 60 s")


def skip(kube: Kube) -> None:
    """End the step of the schedule that is under way; the last one's end is the end of it all."""
    kube.call("exec", "job/load", "--", "kill", "-HUP", "1")


def finished(kube: Kube, name: str) -> bool:
    """Whether a Job has ended, well or not."""
    status = (kube.get("job", name) or {}).get("status", {})
    return bool(status.get("succeeded") or status.get("failed"))


def result(kube: Kube, name: str) -> Json:
    """What a Job printed as its last line of JSON."""
    lines = kube.call("logs", f"job/{name}", limit_s=60).strip().splitlines()
    for line in reversed(lines):
        if line.startswith("{"):
            return dict(json.loads(line))
    raise DemoError(f"the job {name} printed no result: {' / '.join(lines[-5:])}")


def verify(kube: Kube, image: str, summary: Json, limit_s: float) -> Json:
    """Read the whole output and count what was lost and what came twice."""
    return _read(kube, image, summary, limit_s, ["verify", "--topic", "clicks-out"])


def ages(kube: Kube, image: str, summary: Json, topics: tuple[str, str], skip_s: float) -> Json:
    """Read input and output, and say how old records were when they were written."""
    source, topic = topics
    asked = ["ages", "--source", source, "--topic", topic, "--skip", f"{skip_s:g}"]
    return _read(kube, image, summary, AGES_S, asked)


def _read(kube: Kube, image: str, summary: Json, limit_s: float, arguments: list[str]) -> Json:
    """Run a command on what `produce` has printed, as a Job of the command's name."""
    name, data = arguments[0], {"summary.json": json.dumps(summary)}
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "loadgen-summary", "namespace": kube.namespace},
            "data": data,
        }
    )
    arguments += ["--bootstrap", BOOTSTRAP.format(namespace=kube.namespace)]
    arguments += ["--summary", "/opt/summary/summary.json"]
    kube.call("delete", "job", name, "--ignore-not-found")
    kube.apply(job(kube, name, image, arguments))
    kube.wait("count what came out", limit_s, lambda: finished(kube, name))
    return result(kube, name)
