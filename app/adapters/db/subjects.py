"""The rows of one scope in every table, for erasures to count, name and remove.

The binding of a table (`conditioned_by`), which also confines callers, decides the scope of a row.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    ColumnElement,
    SQLColumnExpression,
    and_,
    delete,
    false,
    func,
    select,
    true,
    tuple_,
    update,
)

from app.adapters.db.base import Base
from app.adapters.db.bulk import any_of
from app.adapters.db.conditions import (
    Binding,
    ByKeys,
    ByParent,
    ByScope,
    ByScopes,
    conditioned_rows,
    table_of,
)
from app.adapters.db.session import Session
from app.kernel.auth import only_one

Counts = Mapping[str, int]
"""Numbers of rows, by table."""
Key = tuple[str, ...]
"""The primary key of a row, without the engine."""


@dataclass(frozen=True)
class Subject:
    """The rows of an engine whose scope contains given pairs; without pairs, all its rows.

    `has_sessions`: the user's sessions, task memory and state belong to it.
    """

    engine_id: int
    scope: Mapping[str, str]
    has_sessions: bool = True

    def selects(self, row: type[Base]) -> ColumnElement[bool]:
        """Return the condition on a table's rows that belong to the subject."""
        binding: Binding = row.conditioned_by  # type: ignore[attr-defined]  # only for such rows
        if not self.has_sessions and _is_of_user(binding):
            return false()
        engine: Any = row.engine_id  # type: ignore[attr-defined]  # all such rows have it
        if not self.scope:
            is_of_engine: ColumnElement[bool] = engine == self.engine_id
            return is_of_engine
        conditions = {key: frozenset({value}) for key, value in self.scope.items()}
        return and_(engine == self.engine_id, binding.clause(row, conditions))


def _is_of_user(binding: Binding) -> bool:
    if isinstance(binding, ByParent):
        parents = (row for row in conditioned_rows() if table_of(row).name == binding.table)
        return _is_of_user(next(parents).conditioned_by)  # type: ignore[attr-defined]  # as above
    return isinstance(binding, ByKeys)


@dataclass(frozen=True)
class Erasure:
    """The erasure of a subject from some tables.

    Attributes:
        count: counts the subject's rows, by table.
        remove: removes up to a number of rows; returns the counts by table. Empty: all are gone.
        collection: the collection of the API that contains the rows as resources, if any.
        find_ids: selects, from given ids in the collection, the ids that belong to the subject.
    """

    tables: tuple[str, ...]
    count: Callable[[Session, Subject], Awaitable[Counts]]
    remove: Callable[[Session, Subject, int], Awaitable[Counts]]
    collection: str | None = None
    find_ids: Callable[[Session, Subject, Collection[str]], Awaitable[Collection[str]]] | None = (
        None
    )


@dataclass(frozen=True)
class RowsOf:
    """The rows of one table that meet `only`; a call removes at most `most`, if given."""

    row: type[Base]
    only: ColumnElement[bool] = field(default_factory=true)
    most: int | None = None

    async def count(self, session: Session, subject: Subject) -> Counts:
        """Count the subject's rows."""
        statement = select(func.count()).select_from(self.row).where(self._are_of(subject))
        return {self.table: (await session.execute(statement)).scalar_one()}

    async def remove(self, session: Session, subject: Subject, limit: int) -> Counts:
        """Remove up to `limit` of the subject's rows."""
        most = min(limit, self.most or limit)
        some = select(*self._key).where(self._are_of(subject)).limit(most).cte("some")
        engine: Any = self.row.engine_id  # type: ignore[attr-defined]  # as in Subject
        removed = await session.execute(
            delete(self.row)
            .where(engine == subject.engine_id, tuple_(*self._key).in_(select(some)))
            .returning(*self._key)
            .execution_options(synchronize_session=False)
        )
        count = len(removed.all())
        return {self.table: count} if count else {}

    def erasure(self) -> Erasure:
        """Return the erasure of these rows."""
        return Erasure((self.table,), self.count, self.remove)

    def named(self, collection: str, name: SQLColumnExpression[str]) -> Erasure:
        """Return the erasure of rows that are resources of a collection of the API."""

        async def find_ids(
            session: Session, subject: Subject, ids: Collection[str]
        ) -> Collection[str]:
            statement = select(name).where(self._are_of(subject), name == any_of(ids))
            return set((await session.execute(statement)).scalars())

        return Erasure((self.table,), self.count, self.remove, collection, find_ids)

    @property
    def table(self) -> str:
        """The name of the table."""
        return table_of(self.row).name

    @property
    def _key(self) -> list[Any]:
        return [getattr(self.row, column.name) for column in table_of(self.row).primary_key]

    def _are_of(self, subject: Subject) -> ColumnElement[bool]:
        return and_(subject.selects(self.row), self.only)


async def list_scopes(session: Session, engine_id: int) -> list[dict[str, str]]:
    """Return the scopes of an engine's rows, possibly with repetitions."""
    scopes: list[dict[str, str]] = []
    for row in conditioned_rows():
        binding: Any = row.conditioned_by  # type: ignore[attr-defined]  # as in Subject
        engine: Any = row.engine_id  # type: ignore[attr-defined]  # as in Subject
        if isinstance(binding, ByScope | ByScopes):
            columns = [getattr(row, binding.column)]
        elif isinstance(binding, ByKeys):
            columns = [getattr(row, name) for name in binding.columns.values()]
        else:
            continue
        statement = select(*columns).where(engine == engine_id).distinct()
        for values in await session.execute(statement):
            if isinstance(binding, ByScopes):
                scopes += scopes_within(values[0] or {})
            else:
                scopes.append(_scope_of(binding, values))
    return scopes


def scopes_within(values: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return the one scope if each key has one value, or else each pair as its own scope."""
    if (scope := only_one(values)) is not None:
        return [scope] if scope else []
    return [{key: value} for key, some in values.items() for value in some]


def _scope_of(binding: ByScope | ByKeys, values: Sequence[Any]) -> dict[str, str]:
    if isinstance(binding, ByScope):
        return dict(values[0])
    named = zip(binding.columns, values, strict=True)
    return {key: value for key, value in named if value is not None}


@dataclass(frozen=True)
class TextsOf:
    """The texts of a column that scans rewrite in place; `name` gives the resource of a row."""

    row: type[Base]
    column: str
    name: Callable[[Key], str]

    async def page(
        self, session: Session, subject: Subject, after: Key, limit: int, *, for_update: bool
    ) -> list[tuple[Key, str]]:
        """Return the next texts of a subject by their keys; `after` is the last key before."""
        text = getattr(self.row, self.column)
        statement = select(*self._key, text).where(subject.selects(self.row), text.is_not(None))
        if after:
            statement = statement.where(tuple_(*self._key) > after)
        # The same order everywhere: otherwise two callers that lock several rows could deadlock.
        statement = statement.order_by(*self._key).limit(limit)
        if for_update:
            statement = statement.with_for_update()
        return [(tuple(key), text) for *key, text in await session.execute(statement)]

    async def rewrite(self, session: Session, engine_id: int, texts: Mapping[Key, str]) -> None:
        """Set the texts of rows that the caller has locked."""
        names = [column.key for column in self._key]
        rows: Sequence[dict[str, Any]] = [
            {"engine_id": engine_id, **dict(zip(names, key, strict=True)), self.column: text}
            for key, text in texts.items()
        ]
        if rows:
            await session.execute(update(self.row), rows)

    @property
    def table(self) -> str:
        """The name of the table."""
        return table_of(self.row).name

    @property
    def _key(self) -> list[Any]:
        names = [column.name for column in table_of(self.row).primary_key]
        return [getattr(self.row, name) for name in names if name != "engine_id"]
