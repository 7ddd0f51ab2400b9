"""What may be done, and the roles that bundle it. The README's table is made from here."""

from collections.abc import Iterable, Mapping
from enum import StrEnum


class Permission(StrEnum):
    """One thing that a caller may be allowed to do. A member's name is stable for ever."""

    ENGINES_GET = "engines.get"
    ENGINES_LIST = "engines.list"
    MEMORIES_GET = "memories.get"
    MEMORIES_LIST = "memories.list"
    MEMORIES_RETRIEVE = "memories.retrieve"
    REVISIONS_GET = "revisions.get"
    REVISIONS_LIST = "revisions.list"
    SESSIONS_GET = "sessions.get"
    SESSIONS_LIST = "sessions.list"
    EVENTS_LIST = "events.list"
    OPERATIONS_GET = "operations.get"
    OPERATIONS_LIST = "operations.list"
    USAGE_GET = "usage.get"

    MEMORIES_CREATE = "memories.create"
    MEMORIES_GENERATE = "memories.generate"
    MEMORIES_INGEST = "memories.ingest"
    SESSIONS_CREATE = "sessions.create"
    SESSIONS_UPDATE = "sessions.update"
    SESSIONS_DELETE = "sessions.delete"
    EVENTS_APPEND = "events.append"
    OPERATIONS_CANCEL = "operations.cancel"

    MEMORIES_UPDATE = "memories.update"
    MEMORIES_DELETE = "memories.delete"
    MEMORIES_ROLLBACK = "memories.rollback"
    OPERATIONS_UNDO = "operations.undo"
    OPERATIONS_DELETE = "operations.delete"

    ENGINES_CREATE = "engines.create"
    ENGINES_UPDATE = "engines.update"
    ENGINES_DELETE = "engines.delete"
    MEMORIES_PURGE = "memories.purge"
    """Also needed to erase one memory for good."""
    KEYS_MANAGE = "keys.manage"
    AUDIT_LIST = "audit.list"
    """The audit of an engine."""
    AUDIT_LIST_ALL = "audit.listAll"
    METRICS_GET = "metrics.get"

    ARTIFACTS_WRITE = "artifacts.write"
    ARTIFACTS_REFERENCE = "artifacts.reference"
    ARTIFACTS_DERIVE = "artifacts.derive"
    ARTIFACTS_CONTENT = "artifacts.content"


class Role(StrEnum):
    """A bundle of permissions; each has those of the one before it."""

    VIEWER = "viewer"
    USER = "user"
    EDITOR = "editor"
    ADMIN = "admin"


_ADDED: Mapping[Role, Iterable[Permission]] = {
    Role.VIEWER: (
        Permission.ENGINES_GET,
        Permission.ENGINES_LIST,
        Permission.MEMORIES_GET,
        Permission.MEMORIES_LIST,
        Permission.MEMORIES_RETRIEVE,
        Permission.REVISIONS_GET,
        Permission.REVISIONS_LIST,
        Permission.SESSIONS_GET,
        Permission.SESSIONS_LIST,
        Permission.EVENTS_LIST,
        Permission.OPERATIONS_GET,
        Permission.OPERATIONS_LIST,
        Permission.USAGE_GET,
        Permission.ARTIFACTS_REFERENCE,
    ),
    Role.USER: (
        Permission.MEMORIES_CREATE,
        Permission.MEMORIES_GENERATE,
        Permission.MEMORIES_INGEST,
        Permission.SESSIONS_CREATE,
        Permission.SESSIONS_UPDATE,
        Permission.SESSIONS_DELETE,
        Permission.EVENTS_APPEND,
        Permission.OPERATIONS_CANCEL,
        Permission.ARTIFACTS_WRITE,
        Permission.ARTIFACTS_DERIVE,
    ),
    Role.EDITOR: (
        Permission.MEMORIES_UPDATE,
        Permission.MEMORIES_DELETE,
        Permission.MEMORIES_ROLLBACK,
        Permission.OPERATIONS_UNDO,
        Permission.OPERATIONS_DELETE,
    ),
    Role.ADMIN: tuple(Permission),
}

WHOLE_ENGINE = frozenset(
    {
        Permission.USAGE_GET,
        Permission.ENGINES_UPDATE,
        Permission.ENGINES_DELETE,
        Permission.AUDIT_LIST,
    }
)
"""What concerns all scopes of an engine: refused to callers that are bound to some of them."""

WHOLE_SERVICE = frozenset(
    {
        Permission.ENGINES_CREATE,
        Permission.KEYS_MANAGE,
        Permission.AUDIT_LIST_ALL,
        Permission.METRICS_GET,
    }
)
"""What concerns all engines: refused to callers that are bound to some engines or scopes.

Of these, only `engines.create` is open to who is bound to projects: in these.
"""


def _cumulated() -> dict[Role, frozenset[Permission]]:
    found: dict[Role, frozenset[Permission]] = {}
    below: frozenset[Permission] = frozenset()
    for role in Role:
        below |= frozenset(_ADDED[role])
        found[role] = below
    return found


OF_ROLE: Mapping[Role, frozenset[Permission]] = _cumulated()
"""The permissions of each role."""


def permissions_of(
    roles: Iterable[Role], permissions: Iterable[Permission] = ()
) -> frozenset[Permission]:
    """Return what roles and single permissions allow together."""
    return frozenset(permissions).union(*(OF_ROLE[role] for role in roles))
