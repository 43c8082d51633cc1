"""Every error that trimtab raises on purpose, in one tree.

TrimtabError
├── BadInputError        what a person wrote cannot be used: what, where, what to write instead
│   └── ContractError    a tuning or job document is not understood: its schema or a key
├── ConflictError        the object changed since it was read: the decision is dropped
│   ├── GoneError        there is no such object any more
│   └── ExistsError      there is an object of this name already, so none was created
├── UnavailableError     a system we depend on did not answer in time, or answered with an error
│   ├── UnknownKindError        the API server does not know a kind: its CRD is missing
│   ├── DeniedError             it refused a login, or a right
│   ├── CredentialsMissingError what proves who we are is not where the spec says
│   └── CredentialsInvalidError it is there, and cannot be used
└── TransformError       the user's SQL or Python could not be turned into a query
"""

from __future__ import annotations


class TrimtabError(Exception):
    """Base of everything raised on purpose."""


class BadInputError(TrimtabError):
    """What a person wrote cannot be used; the message says what to write instead."""


class ContractError(BadInputError):
    """A document of the operator-driver contract is not understood; names the key or schema."""


class ConflictError(TrimtabError):
    """The object changed since it was read, so what was decided on it is stale."""


class GoneError(ConflictError):
    """The object no longer exists."""


class ExistsError(ConflictError):
    """There is an object of this name already; it is as it was."""


class UnavailableError(TrimtabError):
    """A dependency (API server, Prometheus, Kafka) gave no usable answer in time."""


class UnknownKindError(UnavailableError):
    """The API server does not know a kind; the message names it."""


class DeniedError(UnavailableError):
    """Kafka refused a login, or a right; the message says which, and what to allow."""


class CredentialsMissingError(UnavailableError):
    """A Secret or one of its keys is not there; the message names both."""


class CredentialsInvalidError(UnavailableError):
    """What a Secret holds cannot be used; the message names its key, and never the value."""


class TransformError(TrimtabError):
    """The transform of a pipeline does not load, does not parse or does not return a frame."""
