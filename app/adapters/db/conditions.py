"""Confines a transaction to the scopes that its caller may see: the first wall between users.

Each table that holds what belongs to a scope says so with `conditioned_by`. A session that is
opened with conditions adds them to every statement of the ORM on such a table, wherever the table
is selected from, joined, changed or removed from. What it cannot add them to, it refuses: changes
of objects, lists of changes by key, inserts of what another statement finds, and statements past
the ORM. Those that go past the session, on its connection, add `condition_on` themselves. What is
inserted is checked by `check_scope`; a child is inserted only below a row that the transaction has
found, changed or inserted itself, since that a foreign key holds does not say whose the parent is.
That nothing escapes is proved by the second wall, the test of the captured statements
(`tests/architecture/test_conditions.py`).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    Executable,
    Insert,
    TableClause,
    TextClause,
    event,
    false,
    func,
    true,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import LoaderCriteriaOption, ORMExecuteState, SessionTransaction
from sqlalchemy.orm import Session as SyncSession
from sqlalchemy.sql import visitors
from sqlalchemy.sql.base import ExecutableOption
from typing_extensions import override

from app.adapters.db.base import Base
from app.adapters.db.bindings import Binding, ByParent, conditioned_rows, table_of
from app.kernel.auth import NO_CONDITIONS, Conditions, Scopes, all_meet
from app.kernel.errors import NotFound, Reason

_KEY = "conditions"
_FILTERS = "conditions_filter"
BY_SCOPE: Mapping[str, Any] = {_FILTERS: True}
"""Execution options of a statement that finds its rows by one scope, and joins children to parents.

There, conditions are nothing but a filter. Postgres takes them for independent of the scope that
they come with, would expect a hundredth of the rows, and choose its plan for so few; and children
need not look for the parents that they are joined to.
"""
# What is made for a caller takes a millisecond or two, and about 30 KiB.
_MAX_CALLERS = 512


@cache
def _conditioned_tables() -> frozenset[str]:
    return frozenset(table_of(row).name for row in conditioned_rows())


class _Condition(LoaderCriteriaOption):
    """Selects rows of a class, or of an alias of it, wherever one of them stands."""

    _traverse_internals = LoaderCriteriaOption._traverse_internals  # noqa: SLF001 - makes the cache's key

    @override
    def _resolve_where_criteria(self, ext_info: Any) -> ColumnElement[bool]:
        found = super()._resolve_where_criteria(ext_info)
        # SQLAlchemy itself does so everywhere but in joins.
        is_alias = ext_info.is_aliased_class
        return ext_info._adapter.traverse(found) if is_alias else found  # noqa: SLF001 - it has no other name


class ConditionedSession(SyncSession):
    """A session that adds its conditions to what it executes."""


@event.listens_for(ConditionedSession, "do_orm_execute")
def _confine(state: ORMExecuteState) -> None:
    _refuse_unconfinable(state)
    if state.is_insert:
        return
    conditions: Conditions = state.session.info[_KEY]
    filters = bool(state.execution_options.get(_FILTERS))
    # A statement that can take no options was refused.
    statement: Any = state.statement
    state.statement = statement.options(*_criteria(frozenset(conditions.items()), filters=filters))


@event.listens_for(ConditionedSession, "after_begin")
def _plan_for_values(_: SyncSession, __: SessionTransaction, connection: Connection) -> None:
    # A plan for any conditions expects that many rows meet them, so that a list would look for the
    # few of this caller's among all of an engine's.
    connection.exec_driver_sql("set local plan_cache_mode = force_custom_plan")


@event.listens_for(ConditionedSession, "before_flush")
def _refuse_flush(session: SyncSession, *_: object) -> None:
    if session.new or session.dirty or session.deleted:
        raise _unconfinable("Changes of objects")


def _refuse_unconfinable(state: ORMExecuteState) -> None:
    """Stop a statement to which the conditions would not be added.

    Raises:
        RuntimeError: it is such a one; it has to be written otherwise.
    """
    if state.is_from_statement or (state.is_executemany and not state.is_insert):
        raise _unconfinable("Texts, and lists of changes")
    if isinstance(state.statement, Insert) and state.statement.select is not None:
        raise _unconfinable("Inserts of what is found")
    if not state.is_orm_statement and _conditioned_tables() & set(_words_of(state.statement)):
        raise _unconfinable("Statements past the ORM")


def _words_of(statement: Executable) -> Iterator[str]:
    """Return the names of tables in a statement; of a text all of its words."""
    for element in visitors.iterate(statement):  # type: ignore[arg-type]  # all that are executed can be visited
        if isinstance(element, TextClause):
            yield from re.findall(r"\w+", element.text)
        table = element.table if isinstance(element, ColumnClause) else element
        if isinstance(table, TableClause):
            yield table.name


def _unconfinable(what: str) -> RuntimeError:
    return RuntimeError(f"{what} cannot be confined to the scopes of a caller.")


@lru_cache(maxsize=_MAX_CALLERS)
def _criteria(
    conditions: frozenset[tuple[str, frozenset[str]]], *, filters: bool
) -> tuple[ExecutableOption, ...]:
    """Return what is added to a statement; `filters` is as `BY_SCOPE` has it."""
    found: list[ExecutableOption] = []
    for row in conditioned_rows():
        binding: Binding = row.conditioned_by  # type: ignore[attr-defined]  # conditioned_rows has looked
        if filters and isinstance(binding, ByParent):
            continue
        clause = binding.clause(row, dict(conditions))
        if filters:
            # No plan looks into this.
            clause = func.coalesce(clause, false())
        found.append(_Condition(row, clause, include_aliases=True))
    return tuple(found)


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
