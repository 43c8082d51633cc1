"""Each flow of docs/security.md as a real connection, through the rules of the local cluster."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
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
