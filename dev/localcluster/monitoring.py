"""The CRDs of prometheus-operator, generated from its Go types, which a go.mod pins."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dev.localcluster import console
from dev.localcluster.binaries import binary
from dev.localcluster.paths import Paths
from dev.localcluster.run import run
from dev.localcluster.toolchain import ensure_go
from dev.localcluster.versions import go_tool

TYPES = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
LIMIT_S = 300


def monitoring_crds(paths: Paths) -> Path:
    """Return a folder with the CRDs, one file each; the first call generates them.

    Raises:
        CommandError: they cannot be generated.
        MissingToolError: controller-gen is not built, or there is no Go.
    """
    generator = binary(paths, "controller-gen")
    target = generator.parent / "monitoring"
    if target.exists():
        return target
    making = target.with_name(f".monitoring.{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    go = Path(ensure_go(paths))
    env = {
        "PATH": os.pathsep.join([str(go.parent), os.environ.get("PATH", "")]),
        "GOFLAGS": "-mod=readonly",
        "GOWORK": "off",
        "GOTOOLCHAIN": "local",
    }
    with console.step("CRDs of prometheus-operator", LIMIT_S):
        run(
            [generator, "crd", f"paths={TYPES}", f"output:crd:dir={making}"],
            cwd=go_tool("controller-gen").gomod,
            env=env,
            limit_s=LIMIT_S,
        )
    making.rename(target)
    return target
