"""Reads schemas from a registry, by the REST protocol of Confluent's, and keeps them by id."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any

from trimtab.api.v1alpha1.formats import SchemaRegistry
from trimtab.job.query.topics import answered
from trimtab.job.termination import JobFailureError, Reason
from trimtab.kafka import secrets

ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
TIMEOUT_S = 10.0
AVRO = "AVRO"
"""The type of a schema; the registry leaves it out where it is this one."""


class Schemas:
    """The Avro schemas of a registry by id, as far as they were asked for."""

    def __init__(self, registry: SchemaRegistry) -> None:
        """Connects on first use."""
        self._registry = registry
        self.known: dict[int, str] = {}
        """Schemas as JSON."""
        self.unusable: set[int] = set()
        """Ids without a schema that values can be read with."""

    def learn_topics(self, topics: Iterable[str]) -> None:
        """Read the schemas of the topics' values, as producers name them unless told otherwise.

        Raises:
            JobFailureError: the registry does not answer; it heals.
        """
        for topic in topics:
            subject = f"/subjects/{urllib.parse.quote(topic, safe='')}-value/versions"
            for version in self._get(subject) or ():
                self._keep(self._get(f"{subject}/{version}") or {})

    def learn(self, ids: Iterable[int]) -> None:
        """Read these schemas, unless they are known; raises a healing JobFailureError."""
        for number in sorted(set(ids) - self.known.keys() - self.unusable):
            self._keep({"id": number} | (self._get(f"/schemas/ids/{number}") or {}))

    def _keep(self, said: dict[str, Any]) -> None:
        number, schema = said.get("id"), said.get("schema")
        if number is None:
            return
        if schema and said.get("schemaType", AVRO) == AVRO and not said.get("references"):
            self.known[number] = schema
        else:
            self.unusable.add(number)

    def _get(self, path: str) -> Any:
        """What the registry answers; None if it has no such thing."""
        url = self._registry.url.rstrip("/") + path
        request = urllib.request.Request(url, headers={"Accept": ACCEPT, **self._login()})  # noqa: S310 -- the API takes http and https only
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._trust()) as got:  # noqa: S310
                return json.load(got)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return None
                words = f"{self._registry.url} answered {error.code} {error.reason} to GET {path}"
                raise _unreachable(words) from error
        except (OSError, ValueError) as error:  # ValueError: an answer that is no JSON
            raise _unreachable(f"{self._registry.url} does not answer: {error}") from error

    def _login(self) -> dict[str, str]:
        login = self._registry.authentication
        if login is None:
            return {}
        with answered():
            password = secrets.value_of(login.password_secret.held)
        pair = base64.b64encode(f"{login.username}:{password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}

    def _trust(self) -> ssl.SSLContext:
        """Those authorities alone that the spec names, if it names any."""
        with answered():
            named = [secrets.certificates(e.held) for e in self._registry.trusted_certificates]
        return ssl.create_default_context(cadata="\n".join(named) or None)


def _unreachable(words: str) -> JobFailureError:
    return JobFailureError(
        Reason.SCHEMA_REGISTRY_UNREACHABLE, f"the schema registry {words}", heals=True
    )
