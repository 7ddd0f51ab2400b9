"""The navigation: the screens and the permissions to see them."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.kernel.auth import Caller
from app.kernel.permissions import Permission
from app.surfaces.console.texts import TEXTS


@dataclass(frozen=True)
class Entry:
    """A link of the navigation.

    Attributes:
        path: the path below the engine's or the console's path.
        label: the label for people.
        permission: the permission without which the screen would be empty.
        keys: the keyboard shortcut; empty: none.
    """

    path: str
    label: str
    permission: Permission
    keys: str = ""


_OF_ENGINE = (
    Entry("", TEXTS.overview, Permission.ENGINES_GET),
    Entry("memories", TEXTS.memories, Permission.MEMORIES_LIST, "g m"),
    Entry("search", TEXTS.search, Permission.MEMORIES_RETRIEVE),
    Entry("revisions", TEXTS.revisions, Permission.REVISIONS_LIST, "g r"),
    Entry("operations", TEXTS.operations, Permission.OPERATIONS_LIST, "g o"),
    Entry("deleted", TEXTS.deleted, Permission.REVISIONS_LIST, "g d"),
    Entry("sessions", TEXTS.sessions, Permission.SESSIONS_LIST),
    Entry("tasks", TEXTS.tasks, Permission.ARTIFACTS_REFERENCE),
    Entry("streams", TEXTS.streams, Permission.OPERATIONS_LIST),
    Entry("usage", TEXTS.usage, Permission.USAGE_GET),
    Entry("audit", TEXTS.audit, Permission.AUDIT_LIST),
    Entry("settings", TEXTS.engine_settings, Permission.ENGINES_GET),
)
_OF_SERVICE = (
    Entry("", TEXTS.engines, Permission.ENGINES_LIST),
    Entry("keys", TEXTS.api_keys, Permission.KEYS_MANAGE),
    Entry("audit", TEXTS.audit, Permission.AUDIT_LIST_ALL),
    Entry("server", TEXTS.server, Permission.SERVER_GET),
)


def of_engine(caller: Caller) -> Iterator[Entry]:
    """Yield the screens of an engine that a caller may see."""
    return (entry for entry in _OF_ENGINE if caller.may(entry.permission))


def of_service(caller: Caller) -> Iterator[Entry]:
    """Yield the screens outside engines that a caller may see."""
    return (entry for entry in _OF_SERVICE if caller.may(entry.permission))
