"""Why the packages of a pipeline were not installed. Pure."""

from __future__ import annotations

from trimtab.ports import Manifest
from trimtab.reconcile.observe.containers import log

NOT_INSTALLED = "PackagesNotInstalled"
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
