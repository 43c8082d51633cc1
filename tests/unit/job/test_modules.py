"""Which of the files of a ConfigMap are modules, and how they get to executors."""

from __future__ import annotations

from pathlib import Path

from trimtab.job.modules import found


def test_python_files_and_archives_are_shipped_and_a_wheel_as_the_zip_that_it_is(
    tmp_path: Path,
) -> None:
    folder, work = tmp_path / "modules", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    for name in ("clicks.py", "lib.zip", "geo-1.0-py3-none-any.whl", "notes.txt"):
        (folder / name).write_bytes(name.encode())
    copy = work / "geo-1.0-py3-none-any.whl.zip"
    assert list(found(folder, work)) == [folder / "clicks.py", folder / "lib.zip", copy]
    assert copy.read_bytes() == b"geo-1.0-py3-none-any.whl"


def test_no_folder_is_no_module(tmp_path: Path) -> None:
    assert list(found(tmp_path / "none", tmp_path)) == []
