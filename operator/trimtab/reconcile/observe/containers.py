"""Reasons for which a container waits, as the kubelet names them."""

from __future__ import annotations

IMAGE_REASONS = {
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
    "ImageInspectError",
}  # fmt: skip
CONFIG_REASONS = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
