"""What the driver's pod says of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.api.contract import DRIVER_STATE_ANNOTATION, FORM
from trimtab.reconcile.observe.driver_pod import MAX_REASON, DriverPod, driver_pod
from trimtab.workloads.common import INPUTS_ANNOTATION

Json = dict[str, Any]


def pod(container: Json | None = None, *conditions: Json, **meta: Any) -> Json:
    statuses = [{"name": "driver", "image": "pipeline:1"} | container] if container else []
    return {
        "metadata": {"name": "clicks-driver-0", "uid": "u", **meta},
        "status": {"containerStatuses": statuses, "conditions": list(conditions)},
    }


def ended(message: str = "", reason: str = "Error", code: int = 1) -> Json:
    return {"state": {"terminated": {"exitCode": code, "reason": reason, "message": message}}}


def failure(container: Json, *conditions: Json) -> tuple[str, str]:
    found = driver_pod(pod(container, *conditions)).failure
    assert found is not None
    return found


def test_no_pod() -> None:
    assert driver_pod(None) == DriverPod()


def test_a_ready_pod_with_its_inputs() -> None:
    ready = {"type": "Ready", "status": "True"}
    found = driver_pod(pod({}, ready, annotations={INPUTS_ANNOTATION: "abc"}))
    assert found == DriverPod(exists=True, ready=True, inputs="abc", uid="u")


def test_a_pod_that_goes() -> None:
    assert driver_pod(pod(deletionTimestamp="2030-01-01T00:00:00Z")).terminating


def test_a_pod_that_has_just_been_made_fails_nothing() -> None:
    assert driver_pod({"metadata": {"name": "x"}}) == DriverPod(exists=True)


def test_the_drivers_own_words() -> None:
    told = {"reason": "TopicNotFound", "message": "there is no topic 'clicks'", "form": FORM}
    words = json.dumps(told)
    assert failure(ended(words)) == ("TopicNotFound", "there is no topic 'clicks'")
    last = {
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": ended(words)["state"],
    }
    assert failure(last)[0] == "TopicNotFound"


def not_installed(container: str = "packages", **state: Any) -> tuple[str, str]:
    made = pod({"state": {"waiting": {"reason": "PodInitializing"}}})
    made["spec"] = {"initContainers": [{"name": container, "image": "jobs@sha256:7"}]}
    made["status"]["initContainerStatuses"] = [{"name": container, "image": "jobs:7"} | state]
    found = driver_pod(made).failure
    assert found is not None
    return found


def test_packages_that_are_not_installed_are_told_with_pips_words() -> None:
    words = {"reason": "PackagesNotInstalled", "message": "pip: no geo==3.0", "form": FORM}
    last = ended(json.dumps(words))
    again = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last["state"]}
    for state in (last, again):
        assert not_installed(**state) == ("PackagesNotInstalled", "pip: no geo==3.0")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (ended("/opt/python: No module named trimtab.job.packages"), "the image cannot install"),
        (ended(reason="OOMKilled", code=137), "raise resources.driver.memory"),
        (ended("Killed", code=9), "the installer ended with exit code 9: Killed"),
    ],
)
def test_an_installer_without_words_of_its_own(state: Json, words: str) -> None:
    reason, message = not_installed(**state)
    assert reason == "PackagesNotInstalled"
    assert words in message


def test_an_installer_whose_image_cannot_be_pulled() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "denied"}}
    assert not_installed(state=waiting) == ("ImageCannotStart", "jobs:7: denied")


def test_modules_that_are_not_copied_are_told_with_their_image() -> None:
    last = ended("cp: cannot stat '/modules/.': No such file or directory")
    again = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last["state"]}
    for state in (last, again):
        reason, message = not_installed("modules", **state)
        assert reason == "ModuleNotFound"
        assert "nothing was copied from jobs@sha256:7: cp: cannot stat '/modules" in message
    without = {"reason": "RunContainerError", "message": 'exec: "cp": not found in $PATH'}
    for state in ({"state": {"waiting": without}}, ended(without["message"], code=128)):
        reason, message = not_installed("modules", **state)
        assert (reason, 'exec: "cp": not found' in message) == ("ModuleNotFound", True)
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "denied"}}
    assert not_installed("modules", state=waiting) == ("ImageCannotStart", "jobs:7: denied")


def test_an_init_container_that_is_not_ours_says_nothing_of_the_driver() -> None:
    made = pod()
    made["status"]["initContainerStatuses"] = [{"name": "istio-init", "image": "i"} | ended("x")]
    assert driver_pod(made).failure is None


def test_packages_that_were_installed_in_the_end_fail_nothing() -> None:
    made = pod({})
    done = ended("", "Completed", 0) | {"lastState": ended("x")["state"]}
    made["status"]["initContainerStatuses"] = [{"name": "packages", "image": "i"} | done]
    assert driver_pod(made).failure is None


def test_a_reason_that_no_condition_can_hold_is_cut() -> None:
    words = json.dumps({"reason": "x" * 500, "message": "m", "form": FORM})
    assert failure(ended(words))[0] == "x" * MAX_REASON


def test_an_image_that_is_older_than_the_operator_is_named() -> None:
    """The driver of 0.1.0 fails with a NullPointerException when its executors are refused."""
    words = json.dumps({"reason": "QueryFailed", "message": "NullPointerException: sparkSession"})
    reason, message = failure(ended(words))
    assert reason == "QueryFailed"
    assert message.startswith("the image holds an older trimtab than the operator")
    assert message.endswith("its driver said: NullPointerException: sparkSession")


def test_it_is_named_too_where_only_the_liveness_probe_stops_it() -> None:
    """It does not know the probe, and ends well: nothing else would say why it never starts."""
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    stopped = waiting | {"lastState": ended(code=0, reason="Completed")["state"]}
    assert "build the image anew" in failure(stopped)[1]
    again = {"state": {"running": {}}} | {"lastState": ended(code=0)["state"]}
    assert "does not answer the liveness probe" in failure(again)[1]
    assert driver_pod(pod(stopped, deletionTimestamp="2030-01-01T00:00:00Z")).failure is None


@pytest.mark.parametrize("message", ["", "Killed", '"text"', "[1]", '{"reason": "OnlyThis"}'])
def test_out_of_memory_whatever_was_logged(message: str) -> None:
    reason, words = failure(ended(message, "OOMKilled", 137))
    assert reason == "DriverOutOfMemory"
    assert "resources.driver.memory" in words


def test_other_ends_show_the_last_line() -> None:
    reason, words = failure(ended("Traceback\n  ...\nValueError: no\n", code=2))
    assert (reason, words) == (
        "DriverFailed", "the driver ended with exit code 2: ValueError: no",
    )  # fmt: skip
    assert failure(ended())[1].endswith("exit code 1: Error")


def test_a_clean_end_is_no_failure() -> None:
    words = json.dumps({"form": FORM})
    assert driver_pod(pod(ended(words, code=0))).failure is None


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_images_that_cannot_be_had_are_named(reason: str) -> None:
    waiting = {"state": {"waiting": {"reason": reason, "message": "not found"}}}
    assert failure(waiting) == ("ImageCannotStart", "pipeline:1: not found")


def test_containers_that_cannot_be_made() -> None:
    waiting = {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no key"}}}
    assert failure(waiting) == ("DriverCannotStart", "no key")


@pytest.mark.parametrize("name", ["driver", "packages"])
def test_a_container_that_cannot_be_started_is_told_alike_as_it_waits_and_ends(name: str) -> None:
    """The kubelet tells both by turns, so that the reason would flap."""
    words = 'exec: "python3": executable file not found in $PATH'
    waits = {"state": {"waiting": {"reason": "RunContainerError", "message": words}}}
    over = {"terminated": {"reason": "StartError", "exitCode": 128, "message": words}}
    again = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": over}
    for state in (waits, {"state": over}, again):
        made = pod({})
        place = "containerStatuses" if name == "driver" else "initContainerStatuses"
        made["status"][place] = [{"name": name, "image": "pipeline:1"} | state]
        assert driver_pod(made).failure == ("DriverCannotStart", words)


def test_pods_that_find_no_node() -> None:
    scheduled = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes: cpu"}
    assert failure({}, scheduled) == ("Unschedulable", "no node fits the driver: 0/1 nodes: cpu")


def test_a_driver_that_is_ready_again_has_no_failure() -> None:
    ready = {"type": "Ready", "status": "True"}
    assert driver_pod(pod({"lastState": ended("x")["state"]}, ready)).failure is None


def test_what_the_driver_wrote_on_its_pod_while_it_waits() -> None:
    words = {DRIVER_STATE_ANNOTATION: "KafkaUnreachable: Kafka at nobody:9092 does not answer"}
    found = driver_pod(pod({}, annotations=words)).failure
    assert found == ("KafkaUnreachable", "Kafka at nobody:9092 does not answer")
    ready = {"type": "Ready", "status": "True"}
    assert driver_pod(pod({}, ready, annotations=words)).failure is None
    assert driver_pod(pod({}, annotations={DRIVER_STATE_ANNOTATION: ""})).failure is None
