"""Demands of methods on their callers: permission, cost, and further checks of admission."""

from dataclasses import dataclass, replace

from app.kernel.limits import Counted
from app.kernel.permissions import Permission

# A read by key costs one unit. Other methods are weighed by their use of the database and the
# models, measured against such a read.
READ = 1
LIST = 2
WRITE = 3
SEARCH = 4
WORK = 20


@dataclass(frozen=True)
class Demand:
    """The demand of a method.

    Attributes:
        permission: None: any key will do.
        cost: units taken from the rates of the key and of the engine.
        is_change: True if it changes stored data; the audit log has every such request.
        is_costly: True if it holds one of the key's few slots while it runs.
        adds: the quantities that it adds to, besides bytes; a used-up quota among them refuses it.
        is_streamed: True if the route reads its body itself, piece by piece.
        even_restoring: True if it is served while its engine is being restored.
        waits: True if it waits for changes, which never reach a standby without its primary.
        said: the fields of the body with conversation text, in both spellings. Characters
            that cannot be stored are replaced in these fields, and refused in all others.
    """

    permission: Permission | None
    cost: int = READ
    is_change: bool = False
    is_costly: bool = False
    adds: tuple[Counted, ...] = ()
    is_streamed: bool = False
    even_restoring: bool = False
    waits: bool = False
    said: frozenset[str] = frozenset()

    def with_said(self, fields: frozenset[str]) -> "Demand":
        """Return the demand of a method whose body has fields with conversation text."""
        return replace(self, said=fields)


EVERY_FIELD = frozenset({"*"})
"""A value of `said`: the whole body."""
CONVERSATION = frozenset({"directContentsSource", "direct_contents_source"})
"""A value of `said`: the conversation in a request."""


def change(
    permission: Permission,
    cost: int = WRITE,
    *,
    adds: tuple[Counted, ...] = (),
    is_costly: bool = False,
    is_streamed: bool = False,
    even_restoring: bool = False,
) -> Demand:
    """Return the demand of a method that makes changes."""
    return Demand(
        permission,
        cost,
        is_change=True,
        is_costly=is_costly,
        adds=adds,
        is_streamed=is_streamed,
        even_restoring=even_restoring,
    )
