"""Why the packages of a pipeline were not installed, or its modules not copied. Pure."""

from __future__ import annotations

from trimtab.ports import Manifest
from trimtab.reconcile.observe.containers import CONFIG_REASONS, log

NOT_INSTALLED = "PackagesNotInstalled"
NOT_COPIED = "ModuleNotFound"
_NO_INSTALLER = (
    "the image cannot install packages: build it anew on the present trimtab-pipeline, and leave"
    " pip in it"
)


def not_installed(ended: Manifest, memory: str) -> tuple[str, str]:
    """Why packages were not installed; `memory` is the field with the memory of the pod."""
    told = log(ended)
    if "message" in told:
        return NOT_INSTALLED, str(told["message"])
    if ended.get("reason") == "OOMKilled":
        return NOT_INSTALLED, f"pip ran out of memory: raise {memory}"
    (tail,) = (ended.get("message") or "").strip().splitlines()[-1:] or [""]
    if "No module named" in tail:
        return NOT_INSTALLED, f"{_NO_INSTALLER}: {tail}"
    words = tail[:300] or ended.get("reason") or "no reason given"
    return NOT_INSTALLED, f"the installer ended with exit code {ended['exitCode']}: {words}"


def not_copied(waiting: Manifest, ended: Manifest, image: str) -> tuple[str, str] | None:
    """Why the modules of an image were not copied; None if they were, or are yet to be.

    A container that could not start waits, and ends, by turns.
    """
    state = ended if ended.get("exitCode") else waiting
    if state is waiting and waiting.get("reason") not in CONFIG_REASONS:
        return None
    lines = (state.get("message") or "").strip().splitlines()
    words = (lines[-1] if lines else state.get("reason") or "no reason given")[-300:]
    return NOT_COPIED, (
        f"transform.python.modulesFrom: nothing was copied from {image}: {words}; correct path, and"
        " build the image on one that has cp"
    )
