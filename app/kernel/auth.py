"""Who is calling, what they may do and reach, and the ports through which that is found out."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.kernel.names import LocationName
from app.kernel.permissions import WHOLE_ENGINE, WHOLE_SERVICE, Permission

Conditions = Mapping[str, frozenset[str]]
"""By scope key, the values that it may have. A scope meets them if it has each key with one of its
values; it may have other keys, too. Without any, every scope meets them."""

NO_CONDITIONS: Conditions = {}

Scopes = Mapping[str, Sequence[str]]
"""Several scopes at once: by key, the values that they have."""


def all_meet(scopes: Scopes, conditions: Conditions) -> bool:
    """Say whether all of these scopes meet conditions."""
    return all(
        key in scopes and values.issuperset(scopes[key]) for key, values in conditions.items()
    )


@dataclass(frozen=True)
class Reach:
    """What a caller can see at all; anything else does not exist for them.

    Attributes:
        projects: the projects of the engines; None: all.
        engines: the engines; None: all.
        conditions: what the scopes of memories, sessions and operations must meet.
    """

    projects: frozenset[str] | None = None
    engines: frozenset[int] | None = None
    conditions: Conditions = field(default_factory=dict)

    @property
    def is_all(self) -> bool:
        """Whether nothing is out of reach."""
        return self.projects is None and self.engines is None and not self.conditions

    def has_project(self, project: str) -> bool:
        """Say whether engines of a project are within reach."""
        return self.projects is None or project in self.projects


@dataclass(frozen=True)
class Caller:
    """An authenticated caller."""

    key_id: str
    """The id of the API key, never the key itself; `jwt:` and the subject, of a token."""
    permissions: frozenset[Permission]
    reach: Reach = field(default_factory=Reach)

    @property
    def identity(self) -> str:
        """Who asks: the key and, since tokens of one subject may differ in them, its conditions."""
        if not self.reach.conditions:
            return self.key_id
        bound = sorted((key, sorted(values)) for key, values in self.reach.conditions.items())
        digest = hashlib.sha256(json.dumps(bound).encode()).hexdigest()
        return f"{self.key_id}#{digest[:32]}"

    def may(self, permission: Permission) -> bool:
        """Say whether the caller holds a permission, and reaches all that it concerns."""
        if permission not in self.permissions:
            return False
        if permission is Permission.ENGINES_CREATE:
            return self.reach.engines is None and not self.reach.conditions
        if permission in WHOLE_SERVICE:
            return self.reach.is_all
        return permission not in WHOLE_ENGINE or not self.reach.conditions


class Authenticator(Protocol):
    """Turns a credential into a caller."""

    async def authenticate(self, secret: str) -> Caller:
        """Return whose key or token `secret` is.

        Raises:
            Unauthenticated: it is not known, or no longer valid.
        """
        ...

    async def authenticate_reader(self, secret: str) -> Caller:
        """Do the same for who asks for the metrics alone.

        While nothing can be looked up, whoever has read them lately may go on.
        """
        return await self.authenticate(secret)


class EngineDirectory(Protocol):
    """Knows where engines lie."""

    async def location_of(self, engine_id: int, reach: Reach) -> LocationName | None:
        """Return where an engine lies, also one that was deleted.

        Whether there is none, or one that is out of reach, takes equally long to find out.

        Returns:
            None: there is none within reach.
        """
        ...
