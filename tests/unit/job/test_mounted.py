"""What a driver says of a Secret or a ConfigMap that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab.api.v1alpha1.volumes import Volume
from trimtab.job.mounted import require_mounted
from trimtab.job.termination import JobFailureError, Reason


def volume(**source: Any) -> Volume:
    return Volume.model_validate({"name": "store", "mountPath": "/mnt/store"} | source)


WHOLE = volume(secret={"secretName": "s"})
KEYS = volume(configMap={"name": "c", "items": [{"key": "a", "path": "b"}]})
CLAIM = volume(persistentVolumeClaim={"claimName": "models"})


def refused(root: Path, *volumes: Volume) -> str:
    with pytest.raises(JobFailureError) as caught:
        require_mounted(volumes, root)
    assert (caught.value.reason, caught.value.heals) == (Reason.VOLUME_MISSING, True)
    return str(caught.value)


def test_a_mount_without_files_names_the_object(tmp_path: Path) -> None:
    words = "Secret 's' does not exist, or is empty (volume 'store'): create it in the pipeline's"
    assert words in refused(tmp_path, WHOLE)
    folder = tmp_path / "mnt/store"
    (folder / "..data").mkdir(parents=True)  # as the kubelet leaves it for an optional volume
    assert words in refused(tmp_path, WHOLE)
    (folder / "key").write_text("x")
    require_mounted([WHOLE], tmp_path)


def test_a_key_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "mnt/store"
    folder.mkdir(parents=True)
    (folder / "a").write_text("x")
    assert "key 'a' of ConfigMap 'c' does not exist" in refused(tmp_path, KEYS)
    (folder / "b").write_text("x")
    require_mounted([KEYS], tmp_path)


def test_all_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    words = refused(tmp_path, WHOLE, KEYS, CLAIM)
    assert "Secret 's'" in words
    assert "ConfigMap 'c'" in words
    assert "models" not in words


def test_what_has_no_keys_needs_none(tmp_path: Path) -> None:
    require_mounted([CLAIM, volume(emptyDir={})], tmp_path)
