"""Confines a transaction to the scopes that its caller may see: the first wall between users.

Each table that holds what belongs to a scope says so with `conditioned_by`. A session that is
opened with conditions adds them to every statement of the ORM on such a table, wherever the table
stands in it. Statements that go past the ORM add `condition_on` themselves; what is inserted is
checked by `check_scope`. That no statement escapes is proved by the second wall, the test of the
captured statements (`tests/architecture/test_conditions.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Table, and_, event, false, literal, select, true
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import ORMExecuteState, with_loader_criteria
from sqlalchemy.orm import Session as SyncSession

from app.core.auth import NO_CONDITIONS, Conditions, Scopes, all_meet
from app.core.errors import NotFound, Reason
from app.db.base import Base

_KEY = "conditions"


class Binding(Protocol):
    """How a table's rows belong to scopes."""

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows that meet conditions; `columns` is the mapped class, or its table's `c`.

        Must not be called without conditions.
        """
        ...


@dataclass(frozen=True)
class ByScope:
    """Rows have their scope in a column: an object of texts."""

    column: str = "scope"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets conditions."""
        scope = getattr(columns, self.column)
        return and_(
            *(scope[key].astext.in_(sorted(values)) for key, values in sorted(conditions.items()))
        )


@dataclass(frozen=True)
class ByKeys:
    """Rows have some keys of their scope in columns of their own, and no others."""

    columns: Mapping[str, str]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets conditions."""
        if not conditions.keys() <= self.columns.keys():
            # Nothing here has the key.
            return false()
        return and_(
            *(
                getattr(columns, self.columns[key]).in_(sorted(values))
                for key, values in sorted(conditions.items())
            )
        )


@dataclass(frozen=True)
class ByScopes:
    """Rows concern several scopes: an object of arrays, the values of each key.

    Null concerns all.
    """

    column: str = "scopes"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows all of whose scopes meet conditions."""
        scopes = getattr(columns, self.column)
        return and_(
            *(
                scopes[key].contained_by(literal(sorted(values), JSONB()))
                for key, values in sorted(conditions.items())
            )
        )


@dataclass(frozen=True)
class ByParent:
    """Rows belong to a row of another table, which has the same values in the columns `on`."""

    table: str
    on: tuple[str, ...]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose parent meets conditions."""
        parent = _row_of(self.table)
        # An alias, so that the parent's own place in the statement around is not taken for it.
        table: Any = parent.__table__.alias()
        same = (table.c[name] == getattr(columns, name) for name in self.on)
        is_met = parent.conditioned_by.clause(table.c, conditions)  # type: ignore[attr-defined]  # _row_of has looked
        return select(literal(1)).select_from(table).where(*same, is_met).exists()


def conditioned_rows() -> Iterator[type[Base]]:
    """Return every mapped class whose rows belong to scopes."""
    for mapper in Base.registry.mappers:
        if hasattr(mapper.class_, "conditioned_by"):
            yield mapper.class_


def _row_of(table: str) -> type[Base]:
    return next(row for row in conditioned_rows() if _table(row).name == table)


def _table(row: type[Base]) -> Table:
    assert isinstance(row.__table__, Table)
    return row.__table__


class ConditionedSession(SyncSession):
    """A session that adds its conditions to what it executes."""


@event.listens_for(ConditionedSession, "do_orm_execute")
def _confine(state: ORMExecuteState) -> None:
    if state.is_insert:
        return
    conditions: Conditions = state.session.info[_KEY]
    options = [
        with_loader_criteria(row, row.conditioned_by.clause(row, conditions), include_aliases=True)  # type: ignore[attr-defined]  # conditioned_rows has looked
        for row in conditioned_rows()
    ]
    state.statement = state.statement.options(*options)


def session_options(conditions: Conditions) -> dict[str, Any]:
    """Return with what a session is opened that is to be confined to conditions."""
    if not conditions:
        return {"info": {}}
    return {"sync_session_class": ConditionedSession, "info": {_KEY: conditions}}


def conditions_of(session: AsyncSession) -> Conditions:
    """Return what a session is confined to."""
    conditions: Conditions = session.info.get(_KEY, NO_CONDITIONS)
    return conditions


def scopes_of(session: AsyncSession) -> Scopes | None:
    """Return all the scopes that a session can reach; None: any."""
    conditions = conditions_of(session)
    return {key: sorted(values) for key, values in conditions.items()} or None


def condition_on(session: AsyncSession, row: type[Base]) -> ColumnElement[bool]:
    """Return what a statement on a table must add where the session does not do so itself."""
    conditions = conditions_of(session)
    if not conditions:
        return true()
    found: ColumnElement[bool] = row.conditioned_by.clause(row, conditions)  # type: ignore[attr-defined]  # only for such rows
    return found


def check_scope(session: AsyncSession, scope: Mapping[str, str]) -> None:
    """Make sure that the session may write what belongs to a scope.

    Raises:
        NotFound: for its caller, there is no such scope.
    """
    check_scopes(session, {key: [value] for key, value in scope.items()})


def check_scopes(session: AsyncSession, scopes: Scopes | None) -> None:
    """As `check_scope`, for what concerns several; None is all scopes."""
    conditions = conditions_of(session)
    if conditions and (scopes is None or not all_meet(scopes, conditions)):
        keys = ", ".join(sorted(conditions))
        raise NotFound(
            f"There is no such scope for this key, which is bound to values of: {keys}.",
            Reason.RESOURCE_NOT_FOUND,
        )
