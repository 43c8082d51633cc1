"""What an init container does: the real pip, and an index on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.package_index import Pod, serving, variables


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pod]:
    with serving(tmp_path) as made:
        for name, value in variables(made).items():
            monkeypatch.setenv(name, value)
        yield made


def test_what_the_file_names_is_there(pod: Pod) -> None:
    assert pod.install(pod.wheel("geo") + pod.wheel("words", "2.1")) == 0
    assert pod.runs("import geo, words; print(geo.VERSION, words.VERSION)") == "1.0 2.1\n"


def test_a_container_that_starts_again_installs_nothing(pod: Pod) -> None:
    line = pod.wheel("geo")
    assert pod.install(line) == 0
    (pod.root / "index/simple/geo/index.html").unlink()
    # of another size: Python would take its cache of the old one if both are of the same second
    (pod.packages / "geo.py").write_text("VERSION = 'mine, not that of pip'")
    assert pod.install(line) == 0
    assert pod.runs("import geo; print(geo.VERSION)") == "mine, not that of pip\n"


def test_another_file_takes_the_place_of_what_was_there(pod: Pod) -> None:
    assert pod.install(pod.wheel("geo")) == 0
    assert pod.install(pod.wheel("words")) == 0
    assert not (pod.packages / "geo.py").exists()
    assert (pod.packages / "words.py").exists()


def test_an_installation_that_ended_midway_begins_anew(pod: Pod) -> None:
    (pod.packages / "geo.py").write_text("half")
    (pod.packages / "left").mkdir()
    assert pod.install(pod.wheel("geo")) == 0
    assert pod.runs("import geo; print(geo.VERSION)") == "1.0\n"
    assert not (pod.packages / "left").exists()


def test_another_hash_is_refused_with_pips_words(pod: Pod) -> None:
    name = pod.wheel("geo").split()[0]
    assert pod.install(f"{name} --hash=sha256:{'0' * 64}\n") == 1
    assert "DO NOT MATCH THE HASHES" in pod.words
    assert "geo==1.0" in pod.words
    assert f"Expected sha256 {'0' * 64} Got" in pod.words
    assert not (pod.packages / "geo.py").exists()


def test_a_version_that_the_index_lacks(pod: Pod) -> None:
    line = pod.wheel("geo")
    assert pod.install(line.replace("1.0", "3.0")) == 1
    assert "No matching distribution found for geo==3.0" in pod.words


def test_a_source_archive_is_not_built(pod: Pod) -> None:
    folder = pod.root / "index/simple/raw"
    folder.mkdir()
    (folder / "raw-1.0.tar.gz").write_bytes(b"code that would run")
    (folder / "index.html").write_text('<a href="raw-1.0.tar.gz">raw-1.0.tar.gz</a>')
    assert pod.install(f"raw==1.0 --hash=sha256:{'0' * 64}\n") == 1
    assert "No matching distribution found for raw==1.0" in pod.words


def test_a_package_that_the_file_left_out_is_named(pod: Pod) -> None:
    line = pod.wheel("geo", needs="words>=2")
    assert pod.install(line) == 1
    assert "not complete: geo 1.0 requires words, which is not installed" in pod.words
    assert pod.install(line + pod.wheel("words", "2.1")) == 0


def test_a_package_may_need_what_the_image_has(pod: Pod) -> None:
    assert pod.install(pod.wheel("geo", needs="pydantic>=2")) == 0


def test_a_package_of_the_image_stays_as_it_is(pod: Pod) -> None:
    assert pod.install(pod.wheel("pydantic", "1.9")) == 1
    assert "requested pydantic==1.9 The user requested (constraint) pydantic==2.14.2" in pod.words
    assert not (pod.packages / "pydantic.py").exists()


def test_an_index_that_does_not_answer(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    line = pod.wheel("geo")
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:s3cret@127.0.0.1:9/simple")
    assert pod.install(line) == 1
    assert "Connection refused" in pod.words
    assert "geo==1.0" in pod.words


def test_no_login_is_repeated(
    pod: Pod, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = pod.root / "pip.conf"
    url = pod.url.replace("//", "//me:s3cret@")
    config.write_text(f"[global]\nindex-url = {url}\n")
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    assert pod.install(pod.wheel("geo")) == 0
    assert pod.install("missing==1.0 --hash=sha256:" + "0" * 64) == 1
    said = capsys.readouterr()
    assert "****@127.0.0.1" in said.out
    assert "s3cret" not in said.out + said.err + pod.words


@pytest.mark.parametrize("login", ["me:s3cret", "me:a@s3cret"])
def test_a_login_in_an_address_that_pip_cannot_read_is_not_repeated_either(
    pod: Pod, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], login: str
) -> None:
    monkeypatch.setenv("PIP_PROXY", f"http://{login}@proxy:99999")
    assert pod.install(pod.wheel("geo")) == 1
    said = capsys.readouterr()
    assert "****@proxy:99999" in pod.words
    assert "s3cret" not in said.out + said.err + pod.words


def test_a_configuration_that_is_not_there_is_named(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", str(pod.root / "index.d/pip.conf"))
    assert pod.install(pod.wheel("geo")) == 1
    assert "the Secret of the package index has no key pip.conf" in pod.words


def test_a_file_that_the_operator_has_not_checked(pod: Pod) -> None:
    assert pod.install(pod.wheel("geo"), "0" * 64) == 1
    assert "another one than the operator has checked" in pod.words
    assert not (pod.packages / "geo.py").exists()


def test_a_file_that_is_gone(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "write_text", _not_of(Path.write_text, pod.file))
    assert pod.install(pod.wheel("geo")) == 1
    monkeypatch.undo()
    assert "transform.python.requirements, or its key, is gone" in pod.words


def _not_of(write: object, left_out: Path) -> object:
    def other(self: Path, text: str) -> int:
        return 0 if self == left_out else write(self, text)  # type: ignore[operator]

    return other
