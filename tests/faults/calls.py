"""What a client of the API server asks for, as its URL says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MUTATING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class Call:
    """One request, in the words of the Kubernetes API."""

    method: str
    resource: str
    """The plural, such as `pods`; empty if the URL names none, as in discovery."""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def verb(self) -> str:
        """`watch`, `list` and `get` for what reads, else the method in small letters."""
        if self.method != "GET":
            return self.method.lower()
        if self.query.get("watch", "") in {"true", "1"}:
            return "watch"
        return "get" if self.name or not self.resource else "list"

    @property
    def mutates(self) -> bool:
        """Whether it may change something."""
        return self.method in MUTATING

    @property
    def words(self) -> str:
        """For a person: `patch streampipelines/clicks/status`."""
        where = "/".join(part for part in (self.resource, self.name, self.subresource) if part)
        return f"{self.verb} {where or 'discovery'}"

    @classmethod
    def of(cls, method: str, path: str, query: Mapping[str, str]) -> Call:
        """The call that a URL stands for: `/api/v1/...` or `/apis/GROUP/VERSION/...`."""
        parts = [part for part in path.split("/") if part]
        rest = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        resource, name, subresource = (*rest, "", "", "")[:3]
        return cls(method, resource, name, subresource, dict(query))
