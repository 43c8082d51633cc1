"""The user and the groups that pods run as."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

_MAX_ID = 2**31 - 1


class PodUser(BaseModel):
    """Fields of a pod's securityContext; what is absent the cluster chooses, as OpenShift does."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, alias_generator=to_camel
    )

    run_as_user: int | None = Field(None, ge=1, le=_MAX_ID, description="pods never run as root")
    run_as_group: int | None = Field(None, ge=0, le=_MAX_ID)
    fs_group: int | None = Field(None, ge=0, le=_MAX_ID)


USER_ID = 10001
"""User and group that the images are made for."""
DEFAULT_USER = PodUser(run_as_user=USER_ID, run_as_group=USER_ID, fs_group=USER_ID)
"""One for all pods, because driver and executors both write files on a shared volume."""
