"""The navigation: which screens there are, and who sees them."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.kernel.auth import Caller
from app.kernel.permissions import Permission
from app.surfaces.console.texts import TEXTS


@dataclass(frozen=True)
class Entry:
    """A link of the navigation.

    Attributes:
        path: below the engine's, or below the console's.
        label: what it is called.
        permission: without it, the screen would be empty.
        keys: the keys that lead there; empty: none.
    """

    path: str
    label: str
    permission: Permission
    keys: str = ""


_OF_ENGINE = (
    Entry("", TEXTS.overview, Permission.ENGINES_GET),
    Entry("memories", TEXTS.memories, Permission.MEMORIES_LIST, "g m"),
    Entry("streams", TEXTS.streams, Permission.OPERATIONS_LIST),
    Entry("usage", TEXTS.usage, Permission.USAGE_GET),
)
_OF_SERVICE: tuple[Entry, ...] = (
    Entry("", TEXTS.engines, Permission.ENGINES_LIST),
    Entry("server", TEXTS.server, Permission.SERVER_GET),
)


def of_engine(caller: Caller) -> Iterator[Entry]:
    """Yield the screens of an engine that a caller may see."""
    return (entry for entry in _OF_ENGINE if caller.may(entry.permission))


def of_service(caller: Caller) -> Iterator[Entry]:
    """Yield the screens beside the engines that a caller may see."""
    return (entry for entry in _OF_SERVICE if caller.may(entry.permission))
