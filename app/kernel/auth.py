"""The caller, their permissions and reach, and the ports that authenticate them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from app.kernel.names import EngineName, LocationName
from app.kernel.permissions import WHOLE_ENGINE, WHOLE_SERVICE, Permission, Role

Conditions = Mapping[str, frozenset[str]]
"""Allowed values of each scope key.

A scope meets the conditions if it has every key with one of the allowed values. It may have other
keys. Without conditions, every scope meets them.
"""

NO_CONDITIONS: Conditions = {}
JWT_PREFIX = "jwt:"
"""Prefix of a token's subject in its caller's id."""

Scopes = Mapping[str, Sequence[str]]
"""Values of each key, for several scopes at once."""


def of_one(scope: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of each key of a single scope."""
    return {key: [value] for key, value in scope.items()}


def only_one(scopes: Scopes) -> dict[str, str] | None:
    """Return the single scope in the values of each key, or None if there may be several."""
    if any(len(values) != 1 for values in scopes.values()):
        return None
    return {key: value for key, (value,) in scopes.items()}


def all_meet(scopes: Scopes, conditions: Conditions) -> bool:
    """Return True if all of these scopes meet the conditions."""
    return all(
        key in scopes and values.issuperset(scopes[key]) for key, values in conditions.items()
    )


@dataclass(frozen=True)
class Reach:
    """The resources that a caller can see; all others do not exist for them. None means all.

    `conditions` are on the scopes of memories, sessions and operations.
    """

    projects: frozenset[str] | None = None
    engines: frozenset[int] | None = None
    conditions: Conditions = field(default_factory=dict)

    @property
    def is_all(self) -> bool:
        """True if every resource is within reach."""
        return self.projects is None and self.engines is None and not self.conditions

    def has_project(self, project: str) -> bool:
        """Return True if the engines of a project are within reach."""
        return self.projects is None or project in self.projects

    def has_engine(self, engine: EngineName) -> bool:
        """Return True if an engine is within reach."""
        is_bound_to = self.engines is None or engine.engine in self.engines
        return is_bound_to and self.has_project(engine.project)


@dataclass(frozen=True)
class Caller:
    """An authenticated caller."""

    key_id: str
    """The id of the API key, never the key itself; `jwt:` and the subject for a token."""
    permissions: frozenset[Permission]
    """The caller's own permissions, and the permissions of their roles."""
    reach: Reach = field(default_factory=Reach)
    roles: frozenset[Role] = frozenset()
    display_name: str | None = None
    """The name of the key; None for a token."""
    expire_time: datetime | None = None
    """The earliest expiry of the key, its secret or the token; None: no expiry."""

    @property
    def is_token(self) -> bool:
        """True if the credential is a token, not a key."""
        return self.key_id.startswith(JWT_PREFIX)

    @property
    def identity(self) -> str:
        """The key id and a digest of its conditions; tokens of one subject may differ in these."""
        if not self.reach.conditions:
            return self.key_id
        bound = sorted((key, sorted(values)) for key, values in self.reach.conditions.items())
        digest = hashlib.sha256(json.dumps(bound).encode()).hexdigest()
        return f"{self.key_id}#{digest[:32]}"

    def may(self, permission: Permission) -> bool:
        """Return True if the caller holds a permission and reaches all that it covers."""
        if permission not in self.permissions:
            return False
        if permission is Permission.ENGINES_CREATE:
            return self.reach.engines is None and not self.reach.conditions
        if permission in WHOLE_SERVICE:
            return self.reach.is_all
        return permission not in WHOLE_ENGINE or not self.reach.conditions

    @property
    def usable(self) -> list[Permission]:
        """The sorted permissions that the caller may use within its reach."""
        return sorted(filter(self.may, self.permissions))


@dataclass(frozen=True)
class Identity:
    """The caller of a credential, with the data to authenticate it again without the credential.

    Attributes:
        secret_hash: the digest of the key's secret; None for a token.
        end_time: the expiry of a token; None for a key, which is looked up each time.
    """

    caller: Caller
    secret_hash: bytes | None = None
    end_time: datetime | None = None


class Authenticator(Protocol):
    """The port that turns a credential into a caller."""

    async def authenticate(self, secret: str) -> Caller:
        """Return the caller to whom a key or token belongs.

        Raises:
            Unauthenticated: the credential is unknown or no longer valid.
        """
        ...

    async def authenticate_reader(self, secret: str) -> Caller:
        """Authenticate a caller that reads only the metrics.

        While the database cannot be reached, recent readers stay authenticated.
        """
        return await self.authenticate(secret)

    async def identify(self, secret: str) -> Identity:
        """Return the caller of a key or token, with the data that a session keeps."""
        ...

    async def caller_of(self, key_id: str, secret_hash: bytes) -> Caller:
        """Return the caller of a key, by its id and the digest of one of its secrets."""
        ...


class EngineDirectory(Protocol):
    """The port that looks up the locations of engines."""

    async def location_of(self, engine_id: int, reach: Reach) -> LocationName | None:
        """Return the location of an engine, deleted ones included; None if none is within reach.

        The lookup takes the same time for a missing engine and for one out of reach.
        """
        ...

    async def check_settled(self, engine: EngineName) -> None:
        """Check that an engine is not being restored from an archive.

        This check may miss a restore that another process began less than a second ago. Writes
        detect it themselves.
        """
        ...
