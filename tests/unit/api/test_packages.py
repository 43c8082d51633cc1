"""What a file of requirements may say."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pip._internal.req.req_file import preprocess

from trimtab.api.packages import faults

HASH = f"--hash=sha256:{'a' * 64}"


@pytest.mark.parametrize(
    "text",
    [
        f"geo==1.0 {HASH}",
        f"geo==1.0 --hash=sha384:{'a' * 96} --hash=sha512:{'b' * 128}\r\n",
        f"# made\ngeo[fast,lean]==1.0.post1+cpu \\\n  {HASH} \\\n  {HASH}\n    # via a\n",
        f"geo==1!2.0rc1 ; python_version < '3.12' and sys_platform == \"linux\" \\\n {HASH}\n",
        f"geo == 1.0 {HASH}  # why\n\n\nwords==2 {HASH}",
    ],
)
def test_pinned_packages_with_hashes_are_taken(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("geo==1.0", "geo has no hash"),
        ("geo", "geo is not pinned"),
        (f"geo>=1.0 {HASH}", "geo is not pinned"),
        (f"geo==1.* {HASH}", "geo is not pinned"),
        (f"geo==${{VERSION}} {HASH}", "geo is not pinned"),
        ("geo==1.0 --hash=md5:abc", "geo has a hash that is none"),
        (f"geo==1.0 {HASH}0", "geo has a hash that is none"),
        ("-e .", "-e is not allowed"),
        ("-r other.txt", "-r is not allowed"),
        ("--index-url https://x/simple", "--index-url is not allowed"),
        ("--extra-index-url=https://x/simple", "--extra-index-url is not allowed"),
        (f"geo==1.0 {HASH} --index-url https://x/", "--index-url is not allowed"),
        ("--no-binary :all:", "--no-binary is not allowed"),
        ("--ind\\\nex-url https://x/", "--index-url is not allowed"),
        (f"https://x/geo-1.0-py3-none-any.whl {HASH}", "it is an address or a path"),
        (f"geo @ https://x/geo.whl {HASH}", "it is an address or a path"),
        ("git+https://x/geo.git@main", "it is an address or a path"),
        (f"./geo.whl {HASH}", "it is an address or a path"),
        (f"/geo.whl {HASH}", "it is an address or a path"),
    ],
)
def test_anything_else_is_refused_with_its_line(line: str, words: str) -> None:
    (found,) = faults(f"# a\n\nwords==1 {HASH}\n{line}\n")
    assert found.startswith(f"line 4: {words}"), found


def test_a_comment_hides_no_line_after_it() -> None:
    (found,) = faults(f"# why \\\n-e .\ngeo==1.0 {HASH}")
    assert found.startswith("line 2: -e is not allowed")


def test_no_address_is_repeated() -> None:
    for line in ("git+https://me:s3cret@x/geo", "--index-url https://me:s3cret@x/"):
        assert "s3cret" not in faults(line)[0]


def test_a_file_without_packages_is_refused() -> None:
    for text in ("", "\n # nothing\n"):
        assert faults(text) == ["it names no package"]


def test_of_many_faults_some_are_named() -> None:
    found = faults("geo\n" * 12)
    assert (len(found), found[0][:6], found[-1]) == (6, "line 1", "and 7 more")


PIECES = ("geo==1.0", f" {HASH}", "\\\n", "\n", "#", " ", "-e .", " --index-url https://x/", "\\")


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_what_is_taken_is_as_pip_reads_it(pieces: list[str]) -> None:
    """Joined lines and comments hide nothing: pip's own reader finds pins with hashes alone."""
    if not faults(text := f"{''.join(pieces)}\ngeo==1.0 {HASH}"):
        for _, line in preprocess(text):
            assert re.fullmatch(r"geo==1\.0\s*( --hash=sha256:a{64}\s*)+", line), text


@pytest.mark.parametrize(
    "text",
    [" " * 10**6, "a" * 10**6, "a==1 " + "--hash=x " * 10**5, " -" * 10**5, "a[" + ", " * 10**5],
)
def test_a_file_as_large_as_a_config_map_is_read_at_once(text: str) -> None:
    begin = time.process_time()
    faults(text)
    assert time.process_time() - begin < 5
