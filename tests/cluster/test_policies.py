"""Each flow of docs/security.md as a real connection, and the process that keeps the rules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from dev.localcluster import enforcer
from dev.localcluster.paths import REPO

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


@pytest.mark.parametrize("case", ["default", "narrow"])
def test_connections_are_let_in_or_refused_as_the_page_says(case: str) -> None:
    argv = ["unshare", "--net", "--mount", sys.executable, "-m", "tests.cluster.wire", case]
    done = subprocess.run(argv, cwd=REPO, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout)
    assert len(tried) > 15
    assert [each for each in tried if each["seen"] != each["wanted"]] == []


def test_rules_follow_what_the_api_server_holds(tmp_path: Path) -> None:
    argv = ["unshare", "--net", sys.executable, "-m", "tests.cluster.followed", str(tmp_path)]
    done = subprocess.run(argv, cwd=REPO, capture_output=True, text=True, timeout=240, check=False)
    logs = "".join(log.read_text() for log in tmp_path.glob(f"api/logs/{enforcer.NAME}.log"))
    assert done.returncode == 0, done.stderr + logs
    told = json.loads(done.stdout)
    assert all(told.values()), (told, logs)
    assert len(told) == 6
