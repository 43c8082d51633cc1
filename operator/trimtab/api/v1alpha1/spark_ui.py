"""What shows a query beside trimtab: Spark's web UI, the log of its events, and listeners."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from trimtab.api.common import DIRECTORY, NO_PASSWORD, ApiModel, cel
from trimtab.api.v1alpha1.volumes import Volume

NO_FILE = (
    "eventLog.uri is in a folder of the pod, which goes with it: write the mountPath of a claim in"
    " volumes, like file:///mnt/events, or a URI like s3a://bucket/events"
)
EVENT_LOG_RULE = (
    "!has(self.eventLog) || !self.eventLog.uri.startsWith('file:') || (has(self.volumes)"
    " && self.volumes.exists(v, has(v.persistentVolumeClaim)"
    " && (self.eventLog.uri + '/').startsWith('file://' + v.mountPath + '/')))",
    NO_FILE,
)
"""For the spec of a pipeline."""


class SparkUI(ApiModel):
    """Spark's web UI."""

    enabled: bool = Field(
        False,
        description="True: the driver serves it, and a Service NAME-ui leads to it. It only shows;"
        " whoever reaches it sees the query and its settings.",
    )


class EventLog(ApiModel):
    """The log of Spark's events, which its History Server reads."""

    uri: str = Field(
        max_length=1024,
        description="The directory, in a Hadoop file system or on a claim in `volumes`. trimtab"
        " makes it, and deletes nothing in it.",
        json_schema_extra=cel(
            (
                f"self.matches('{DIRECTORY}')",
                "write the URI of a directory, like s3a://bucket/events or file:///mnt/events",
            ),
            NO_PASSWORD,
        ),
    )


Listeners = Annotated[
    list[Annotated[str, Field(max_length=256, pattern=r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)+$")]],
    Field(max_length=8),
]
"""Classes that Spark tells of its events."""


def require_place(log: EventLog | None, volumes: Iterable[Volume]) -> None:
    """Raise ValueError if the log would be in a folder that goes with the pod."""
    if log is None or not log.uri.startswith("file:"):
        return
    claims = (v.mount_path for v in volumes if v.persistent_volume_claim)
    if not any(f"{log.uri}/".startswith(f"file://{path}/") for path in claims):
        raise ValueError(NO_FILE)
