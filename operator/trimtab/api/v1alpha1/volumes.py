"""Files of one's own in driver and executors: volumes, each with the path where it is mounted.

The parts are named as in a pod's own spec. The kinds are those that the Pod Security level
`restricted` allows and that name what they hold (docs/decisions/0038 says why no others).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from trimtab.api.common import ApiModel, cel, require_one
from trimtab.api.quantities import Quantity
from trimtab.api.v1alpha1.kafka_client import Key, SecretName

RESERVED_PATHS = (
    "/bin", "/dev", "/etc/trimtab", "/lib", "/lib64", "/opt/connectors", "/opt/decom.sh",
    "/opt/entrypoint.sh", "/opt/spark", "/opt/trimtab", "/opt/work", "/proc", "/run", "/sbin",
    "/sys", "/tmp", "/usr", "/var/data", "/var/lib/trimtab", "/var/run",  # noqa: S108
)  # fmt: skip
"""Where trimtab mounts something, and where the image has what the pods run."""

_PART = r"/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*"
PATH = f"^({_PART})+$"
PATH_TAKEN = (
    "mountPath is, holds or lies below a path of trimtab's or of the image's: choose another one,"
    f" like /mnt/files, away from {', '.join(RESERVED_PATHS)}"
)
ONE_KIND = "write exactly one of secret, configMap, emptyDir and persistentVolumeClaim"
NAME_TWICE = "volumes has one name twice: give each volume a name of its own"
PATH_TWICE = "volumes has one mountPath twice: mount each volume at a path of its own"


def _unreserved(path: str) -> str:
    for taken in RESERVED_PATHS:
        if f"{path}/".startswith(f"{taken}/") or f"{taken}/".startswith(f"{path}/"):
            raise ValueError(PATH_TAKEN)
    return path


MountPath = Annotated[
    str,
    Field(max_length=256, pattern=PATH),
    AfterValidator(_unreserved),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": 256,
            "pattern": PATH,
            **cel(
                (
                    f"!{list(RESERVED_PATHS)}.exists(p, (self + '/').startsWith(p + '/')"
                    " || (p + '/').startsWith(self + '/'))",
                    PATH_TAKEN,
                )
            ),
        }
    ),
]
"""An absolute path in a pod, at which nothing else is."""


class KeyToFile(ApiModel):
    """A key of a Secret or of a ConfigMap, and the file that it becomes."""

    key: Key = Field(description="The key.")
    path: Key = Field(description="The name of the file below mountPath.")


_ITEMS = Field(
    None,
    min_length=1,
    max_length=32,
    description="The keys to mount; absent: all, each as a file of its name.",
)


class SecretFiles(ApiModel):
    """A Secret, each key a file."""

    secret_name: SecretName = Field(alias="secretName")
    items: list[KeyToFile] | None = _ITEMS


class ConfigMapFiles(ApiModel):
    """A ConfigMap, each key a file."""

    name: SecretName = Field(description="A ConfigMap in this namespace.")
    items: list[KeyToFile] | None = _ITEMS


class EmptyDir(ApiModel):
    """An empty folder of the pod's own, which goes with it."""

    size_limit: Quantity = Field(
        1 << 30, alias="sizeLimit", description="A pod that keeps more there is evicted."
    )


class Claim(ApiModel):
    """A PersistentVolumeClaim in this namespace, for all pods of the pipeline."""

    claim_name: SecretName = Field(alias="claimName", description="The claim.")
    read_only: bool = Field(False, alias="readOnly", description="True: nobody writes to it.")


class Volume(ApiModel):
    """A volume of driver and executors, and where it is mounted."""

    model_config = {
        "json_schema_extra": cel(
            (
                "[has(self.secret), has(self.configMap), has(self.emptyDir),"
                " has(self.persistentVolumeClaim)].exists_one(said, said)",
                ONE_KIND,
            )
        )
    }
    name: str = Field(
        max_length=50,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        description="A name, for messages.",
    )
    mount_path: MountPath = Field(alias="mountPath", description="Where it is mounted.")
    secret: SecretFiles | None = Field(None, description="The files of a Secret, read-only.")
    config_map: ConfigMapFiles | None = Field(
        None, alias="configMap", description="The files of a ConfigMap, read-only."
    )
    empty_dir: EmptyDir | None = Field(
        None, alias="emptyDir", description="A folder of its own in each pod, for scratch files."
    )
    persistent_volume_claim: Claim | None = Field(
        None,
        alias="persistentVolumeClaim",
        description="A claim. Where pods run on several nodes, its access mode must allow that:"
        " ReadOnlyMany or ReadWriteMany.",
    )

    @property
    def files(self) -> SecretFiles | ConfigMapFiles | None:
        """The object whose keys are its files; None for the other kinds."""
        return self.secret or self.config_map

    @property
    def named(self) -> tuple[str, str] | None:
        """The object that it names, as resource and name; None if it names none."""
        if self.secret:
            return "secrets", self.secret.secret_name
        if self.config_map:
            return "configmaps", self.config_map.name
        claim = self.persistent_volume_claim
        return ("persistentvolumeclaims", claim.claim_name) if claim else None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        kinds = (self.secret, self.config_map, self.empty_dir, self.persistent_volume_claim)
        require_one(kinds, ONE_KIND)
        return self


def _distinct(volumes: Sequence[Volume]) -> Sequence[Volume]:
    for words, said in (
        (NAME_TWICE, [volume.name for volume in volumes]),
        (PATH_TWICE, [volume.mount_path for volume in volumes]),
    ):
        if len(set(said)) < len(said):
            raise ValueError(words)
    return volumes


Volumes = Annotated[
    list[Volume],
    Field(
        max_length=8,
        json_schema_extra=cel(
            ("self.all(v, self.exists_one(w, w.name == v.name))", NAME_TWICE),
            ("self.all(v, self.exists_one(w, w.mountPath == v.mountPath))", PATH_TWICE),
        ),
    ),
    AfterValidator(_distinct),
]
"""The volumes of a pipeline."""
