"""The driver's input at start: its arguments, `job.json` and the first `settings.json`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.api.contract import (
    JOB_DIRECTORY,
    JOB_KEY,
    MODULES_DIRECTORY,
    SETTINGS_KEY,
    TUNING_DIRECTORY,
    Job,
    Settings,
)
from trimtab.api.knobs import EXECUTORS, KNOBS
from trimtab.api.listening import METRICS_PORT
from trimtab.errors import ContractError

JOB_PATH = Path(JOB_DIRECTORY, JOB_KEY)
SETTINGS_PATH = Path(TUNING_DIRECTORY, SETTINGS_KEY)
TERMINATION_LOG = "/dev/termination-log"


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, with the environment as defaults."""

    job: Path
    settings: Path
    modules: Path
    termination_log: Path
    namespace: str | None
    tuning_configmap: str | None
    pod_name: str | None
    pod_uid: str | None
    pod_ip: str | None
    driver_memory_bytes: int | None
    driver_java_options: str | None
    metrics_port: int


def parse_options(arguments: Sequence[str], env: Mapping[str, str] = os.environ) -> Options:
    """Parse the arguments; exits with a usage message if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m trimtab.job", description=__doc__)
    parser.add_argument("--job", type=Path, default=JOB_PATH)
    parser.add_argument("--settings", type=Path, default=SETTINGS_PATH)
    parser.add_argument("--modules", type=Path, default=Path(MODULES_DIRECTORY))
    parser.add_argument(
        "--termination-log",
        type=Path,
        default=Path(env.get("TRIMTAB_TERMINATION_LOG", TERMINATION_LOG)),
    )
    parser.add_argument("--namespace", default=env.get("TRIMTAB_NAMESPACE"))
    parser.add_argument("--tuning-configmap", default=env.get("TRIMTAB_TUNING_CONFIGMAP"))
    parser.add_argument("--metrics-port", type=int, default=METRICS_PORT)
    known = parser.parse_args(arguments)
    memory = env.get("TRIMTAB_DRIVER_MEMORY_BYTES")
    return Options(
        **vars(known),
        pod_name=env.get("TRIMTAB_POD_NAME"),
        pod_uid=env.get("TRIMTAB_POD_UID"),
        pod_ip=env.get("TRIMTAB_POD_IP"),
        driver_memory_bytes=int(memory) if memory else None,
        driver_java_options=env.get("TRIMTAB_DRIVER_JAVA_OPTIONS"),
    )


def load_job(path: Path) -> Job:
    """The job definition; raises ContractError that names what is wrong."""
    return Job.from_json(_read(path))


def load_settings(path: Path, job: Job) -> Settings:
    """The settings to start with; raises ContractError if they belong to another pipeline."""
    settings = Settings.from_json(_read(path))
    if settings.pipeline_uid != job.pipeline_uid:
        raise ContractError(
            f"settings document refused: it belongs to pipeline {settings.pipeline_uid!r}, "
            f"this driver runs {job.pipeline_uid!r}"
        )
    return settings


def effective(settings: Settings, job: Job) -> dict[str, float]:
    """The value in force of every knob: the one in the settings, else the default.

    Unset knobs that are left to Spark and Kafka are omitted. Without executor pods (Spark's local
    mode) there is no executors knob.
    """
    values = {name: knob.default for name, knob in KNOBS.items() if knob.always}
    values |= settings.settings.numbers()
    if job.executors is None:
        values.pop(EXECUTORS.name, None)
    return values


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ContractError(f"cannot read {path}: {error.strerror}") from error
