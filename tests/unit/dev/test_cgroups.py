"""The processes in the nodes' cgroups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from dev.localcluster import cgroups


def test_a_cgroup_that_goes_meanwhile_has_no_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, folder in enumerate(("trimtab-n0/pod/gone", "trimtab-n0/pod/stays", "trimtab-n1")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "cgroup.procs").write_text(f"{number + 10}\n")
    scandir = os.scandir

    def late(path: Any) -> Any:
        if os.fspath(path).endswith("/gone"):
            Path(path, "cgroup.procs").unlink()
            Path(path).rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", late)
    monkeypatch.setattr(cgroups, "hierarchies", lambda: [tmp_path])
    assert cgroups.members(0) == {11}
    assert cgroups.members() == {11, 12}
