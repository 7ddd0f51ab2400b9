"""Permissions, and the roles that bundle them. The permissions page is made from this module."""

from collections.abc import Iterable, Mapping
from enum import StrEnum


class Permission(StrEnum):
    """An action that a caller may be allowed to perform. Names are stable."""

    ENGINES_GET = "engines.get"
    ENGINES_LIST = "engines.list"
    MEMORIES_GET = "memories.get"
    MEMORIES_LIST = "memories.list"
    MEMORIES_RETRIEVE = "memories.retrieve"
    REVISIONS_GET = "revisions.get"
    REVISIONS_LIST = "revisions.list"
    """Also needed to be shown deleted memories."""
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
    """Also brings deleted memories back."""
    OPERATIONS_UNDO = "operations.undo"
    OPERATIONS_DELETE = "operations.delete"

    ENGINES_CREATE = "engines.create"
    ENGINES_UPDATE = "engines.update"
    ENGINES_DELETE = "engines.delete"
    ENGINES_EXPORT = "engines.export"
    """All that an engine holds, with its history."""
    ENGINES_RESTORE = "engines.restore"
    """Fills an empty engine from an archive."""
    MEMORIES_PURGE = "memories.purge"
    """Also needed to erase a single memory permanently."""
    MEMORIES_IMPORT = "memories.import"
    """Also needed to import memories with the times that they had elsewhere."""
    KEYS_MANAGE = "keys.manage"
    AUDIT_LIST = "audit.list"
    """The audit of an engine."""
    AUDIT_LIST_ALL = "audit.listAll"
    METRICS_GET = "metrics.get"
    SERVER_GET = "server.get"
    """Not part of `metrics.get`: the key of a scraper need not know hosts and processes."""

    ARTIFACTS_WRITE = "artifacts.write"
    ARTIFACTS_REFERENCE = "artifacts.reference"
    ARTIFACTS_DERIVE = "artifacts.derive"
    ARTIFACTS_CONTENT = "artifacts.content"


class Role(StrEnum):
    """A bundle of permissions; each role includes the permissions of the role before it."""

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
        Permission.ENGINES_EXPORT,
        Permission.ENGINES_RESTORE,
        Permission.AUDIT_LIST,
    }
)
"""Permissions that cover all scopes of an engine; callers bound to some scopes are refused."""

WHOLE_SERVICE = frozenset(
    {
        Permission.ENGINES_CREATE,
        Permission.KEYS_MANAGE,
        Permission.AUDIT_LIST_ALL,
        Permission.METRICS_GET,
        Permission.SERVER_GET,
    }
)
"""Permissions that cover all engines; callers bound to some engines or scopes are refused.

Exception: a caller bound to projects may use `engines.create` within them.
"""


def _cumulated() -> dict[Role, frozenset[Permission]]:
    permissions: dict[Role, frozenset[Permission]] = {}
    below: frozenset[Permission] = frozenset()
    for role in Role:
        below |= frozenset(_ADDED[role])
        permissions[role] = below
    return permissions


OF_ROLE: Mapping[Role, frozenset[Permission]] = _cumulated()
"""The permissions of each role."""


def permissions_of(
    roles: Iterable[Role], permissions: Iterable[Permission] = ()
) -> frozenset[Permission]:
    """Return the combined permissions of roles and of single permissions."""
    return frozenset(permissions).union(*(OF_ROLE[role] for role in roles))
