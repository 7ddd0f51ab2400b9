"""Demands of methods on their callers: permission, cost, and what else admission checks.

Each router holds those of its routes.
"""

from dataclasses import dataclass, replace

from app.kernel.limits import Counted
from app.kernel.permissions import Permission

# A read by key costs one unit; the others are weighed by the time that they take of the database
# and of the models, as measured side by side with such a read.
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
        cost: units taken from the rate of the key and of the engine.
        is_change: whether it changes anything; the audit log has every such request.
        is_costly: whether it holds one of the key's few places while it runs.
        adds: what it adds to, beside bytes: it is refused where one of these quotas is used up.
        is_streamed: whether the route reads its body itself, piece by piece.
        even_restoring: whether it is served while its engine is being restored.
        waits: whether it waits for changes, which a standby of a primary that is away never has.
        said: the fields of its body that hold what was said elsewhere, in both spellings. There,
            characters that cannot be stored are replaced; everywhere else they are refused.
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
        """Return the demand of a method whose body holds what was said elsewhere."""
        return replace(self, said=fields)


EVERY_FIELD = frozenset({"*"})
"""As `said` of a demand: the whole body."""
CONVERSATION = frozenset({"directContentsSource", "direct_contents_source"})
"""As `said` of a demand: the conversation in a request."""


def change(
    permission: Permission,
    cost: int = WRITE,
    *,
    adds: tuple[Counted, ...] = (),
    is_costly: bool = False,
    is_streamed: bool = False,
    even_restoring: bool = False,
) -> Demand:
    """Return the demand of a method that changes something."""
    return Demand(
        permission,
        cost,
        is_change=True,
        is_costly=is_costly,
        adds=adds,
        is_streamed=is_streamed,
        even_restoring=even_restoring,
    )
