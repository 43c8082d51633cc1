"""The part of a StreamPipeline's spec that says where its query keeps its progress."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trimtab.api.common import ApiModel, Name, cel, uri_rules
from trimtab.api.quantities import Quantity


class VolumeClaim(ApiModel):
    """The claim that holds the checkpoint."""

    size: Quantity = Field(1 << 30, description="Size of the volume.")
    storage_class_name: Name | None = Field(
        None, alias="storageClassName", description="Absent: the cluster's default class."
    )
    shared: bool = Field(
        False,
        description="Mounted by driver and executors (ReadWriteMany), which an aggregation or"
        " deduplication needs for its state; the storage class must support it.",
    )


_URI = "(has({0}.uri) ? {0}.uri : '')"
_SHARED = "(has({0}.volumeClaim) && {0}.volumeClaim.shared)"
_PLACE_KEPT = f"{_URI.format('self')} == {_URI.format('oldSelf')}"
_SHARED_KEPT = f"{_SHARED.format('self')} == {_SHARED.format('oldSelf')}"


class Checkpoint(ApiModel):
    """Where the query keeps its progress: in a claim (the default), or under a URI."""

    model_config = {
        "json_schema_extra": cel(
            (
                "!(has(self.uri) && has(self.volumeClaim))",
                "the checkpoint is in one place: write either volumeClaim or uri",
            ),
            (
                "!has(self.uri) || self.deletionPolicy == 'Retain'",
                "trimtab deletes nothing under checkpoint.uri: leave deletionPolicy at Retain",
            ),
            (
                f"self.generation > oldSelf.generation || {_PLACE_KEPT}",
                "another place is a new checkpoint: raise checkpoint.generation with"
                " checkpoint.uri, or restore the old one",
            ),
            (
                f"has(self.uri) || has(oldSelf.uri) || {_SHARED_KEPT}",
                "checkpoint.volumeClaim.shared cannot change, as a volume's access mode cannot:"
                " restore it, or delete the pipeline and its claim <name>-checkpoint and create"
                " them again",
            ),
        )
    }
    volume_claim: VolumeClaim | None = Field(
        None, alias="volumeClaim", description="The claim; absent and without uri: one of 1Gi."
    )
    uri: str | None = Field(
        None,
        max_length=1024,
        description="A directory in any Hadoop file system that the image and sparkConf support,"
        " like s3a://bucket/path, in place of a claim. The checkpoint is in <namespace>/<name>"
        " below it.",
        json_schema_extra=uri_rules("outlives pods"),
    )
    deletion_policy: Literal["Retain", "Delete"] = Field(
        "Retain",
        alias="deletionPolicy",
        description="Retain keeps the claim when the pipeline is deleted.",
    )
    generation: int = Field(
        1,
        ge=1,
        le=10**6,
        description="Raise it to begin a new checkpoint. It cannot be lowered.",
    )
    resume: bool | None = Field(
        None,
        description="A new generation begins at the offsets that the previous one has committed."
        " false: at startingOffsets. Default: true.",
    )

    @property
    def claim(self) -> VolumeClaim | None:
        """The required claim; None if the checkpoint is under a URI."""
        return None if self.uri is not None else self.volume_claim or VolumeClaim()
