"""Confinement of transactions to the scopes a caller may see: the first wall between users.

Each table whose rows belong to a scope declares `conditioned_by`. A session with conditions adds
them to every ORM statement on such a table, wherever the table is named. Statements that cannot
take them are refused: changes of objects, lists of changes by key, inserts from a select, and
statements outside the ORM. Statements sent directly on the session's connection add `condition_on`
themselves. `check_scope` checks inserted rows. A child is inserted only below a row that the
transaction has found, changed or inserted itself: a satisfied foreign key does not show that the
caller may see the parent.

The second wall is a test of the captured statements (`tests/architecture/test_conditions.py`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

from psycopg.types.json import Jsonb
from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    Executable,
    Index,
    Insert,
    Table,
    TableClause,
    Text,
    TextClause,
    and_,
    any_,
    event,
    false,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import LoaderCriteriaOption, ORMExecuteState, SessionTransaction
from sqlalchemy.orm import Session as SyncSession
from sqlalchemy.sql import visitors
from sqlalchemy.sql.base import ExecutableOption
from typing_extensions import override

from app.adapters.db.base import Base
from app.kernel.auth import NO_CONDITIONS, Conditions, Scopes, all_meet, of_one
from app.kernel.errors import NotFound, Reason

_KEY = "conditions"
_FILTERS = "conditions_filter"
BY_SCOPE: Mapping[str, Any] = {_FILTERS: True}
"""Execution options of a statement that finds rows by one scope and joins children to parents.

In such a statement, conditions are only a filter. Postgres would treat them as independent of the
scope, expect a hundredth of the rows, and choose a plan for so few. Children also need not look up
the parents to which they are joined.
"""
# The criteria of a caller take one or two milliseconds to build, and about 30 KiB of memory.
_MAX_CALLERS = 512


@cache
def _conditioned_tables() -> frozenset[str]:
    return frozenset(table_of(row).name for row in conditioned_rows())


class _Condition(LoaderCriteriaOption):
    """A criterion on the rows of a class or its aliases, wherever they occur."""

    _traverse_internals = LoaderCriteriaOption._traverse_internals  # noqa: SLF001 - makes the cache's key

    @override
    def _resolve_where_criteria(self, ext_info: Any) -> ColumnElement[bool]:
        criteria = super()._resolve_where_criteria(ext_info)
        # SQLAlchemy itself does this everywhere except in joins.
        is_alias = ext_info.is_aliased_class
        return ext_info._adapter.traverse(criteria) if is_alias else criteria  # noqa: SLF001 - it has no other name


class ConditionedSession(SyncSession):
    """A session that adds its conditions to every statement."""


@event.listens_for(ConditionedSession, "do_orm_execute")
def _confine(state: ORMExecuteState) -> None:
    _refuse_unconfinable(state)
    if state.is_insert:
        return
    conditions: Conditions = state.session.info[_KEY]
    filters = bool(state.execution_options.get(_FILTERS))
    # Statements that take no options were refused above.
    statement: Any = state.statement
    state.statement = statement.options(*_criteria(frozenset(conditions.items()), filters=filters))


@event.listens_for(ConditionedSession, "after_begin")
def _plan_for_values(_: SyncSession, __: SessionTransaction, connection: Connection) -> None:
    # A generic plan expects many rows to meet the conditions; a list request would then search
    # all rows of an engine for the caller's few.
    connection.exec_driver_sql("set local plan_cache_mode = force_custom_plan")


@event.listens_for(ConditionedSession, "before_flush")
def _refuse_flush(session: SyncSession, *_: object) -> None:
    if session.new or session.dirty or session.deleted:
        raise _unconfinable("Changes of objects")


def _refuse_unconfinable(state: ORMExecuteState) -> None:
    if state.is_from_statement or (state.is_executemany and not state.is_insert):
        raise _unconfinable("Texts, and lists of changes")
    if isinstance(state.statement, Insert) and state.statement.select is not None:
        raise _unconfinable("Inserts of what is found")
    if not state.is_orm_statement and _conditioned_tables() & set(_table_names(state.statement)):
        raise _unconfinable("Statements past the ORM")


def _table_names(statement: Executable) -> Iterator[str]:
    """Yield the names of a statement's tables; for a textual statement, all of its words."""
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
    """Return the options added to a statement; for `filters` see `BY_SCOPE`."""
    criteria: list[ExecutableOption] = []
    for row in conditioned_rows():
        binding: Binding = row.conditioned_by  # type: ignore[attr-defined]  # conditioned_rows has looked
        if filters and isinstance(binding, ByParent):
            continue
        clause = binding.clause(row, dict(conditions))
        if filters:
            # An opaque expression, which the planner does not estimate.
            clause = func.coalesce(clause, false())
        criteria.append(_Condition(row, clause, include_aliases=True))
    return tuple(criteria)


def session_options(conditions: Conditions) -> dict[str, Any]:
    """Return the options for opening a session confined to conditions."""
    if not conditions:
        return {"info": {}}
    return {"sync_session_class": ConditionedSession, "info": {_KEY: conditions}}


def conditions_of(session: AsyncSession) -> Conditions:
    """Return the conditions of a session."""
    conditions: Conditions = session.info.get(_KEY, NO_CONDITIONS)
    return conditions


def scopes_of(session: AsyncSession) -> Scopes | None:
    """Return the scopes to which a session is confined; None: all."""
    conditions = conditions_of(session)
    return {key: sorted(values) for key, values in conditions.items()} or None


def condition_on(session: AsyncSession, row: type[Base]) -> ColumnElement[bool]:
    """Return the condition for a statement on a table that bypasses the session."""
    conditions = conditions_of(session)
    if not conditions:
        return true()
    clause: ColumnElement[bool] = row.conditioned_by.clause(row, conditions)  # type: ignore[attr-defined]  # only for such rows
    return clause


def check_scope(session: AsyncSession, scope: Mapping[str, str]) -> None:
    """Raise `NotFound` if the session is confined to other scopes."""
    check_scopes(session, of_one(scope))


def check_scopes(session: AsyncSession, scopes: Scopes | None) -> None:
    """Check that the session may write to several scopes; None means all."""
    conditions = conditions_of(session)
    if conditions and (scopes is None or not all_meet(scopes, conditions)):
        keys = ", ".join(sorted(conditions))
        raise NotFound(
            f"No such scope for this key, which is restricted to certain values of: {keys}.",
            Reason.RESOURCE_NOT_FOUND,
        )


class Binding(Protocol):
    """The relation of a table's rows to scopes."""

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows that meet conditions, of which there is at least one."""
        ...


@dataclass(frozen=True)
class ByScope:
    """A binding of rows with their scope in a column, as an object of texts."""

    column: str = "scope"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets the conditions."""
        scope = getattr(columns, self.column)
        return and_(
            *(
                _holds_any(scope, [{key: value} for value in sorted(values)])
                for key, values in sorted(conditions.items())
            )
        )

    def text(self, alias: str, conditions: Conditions) -> tuple[str, dict[str, Any]]:
        """Return the condition as SQL text for a statement in text form, with its values."""
        parts, values = ["true"], {}
        for number, (key, some) in enumerate(sorted(conditions.items())):
            parts.append(f"{alias}.{self.column} @> any(%(reach_{number})s::jsonb[])")
            values[f"reach_{number}"] = [Jsonb({key: value}) for value in sorted(some)]
        return " and ".join(parts), values


@dataclass(frozen=True)
class ByKeys:
    """A binding of rows with a fixed set of scope keys, each in its own column."""

    columns: Mapping[str, str]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets the conditions."""
        if not conditions.keys() <= self.columns.keys() or not all(conditions.values()):
            # No row has this key, or the list of values is empty.
            return false()
        return and_(
            *(
                getattr(columns, self.columns[key]).in_(sorted(values))
                for key, values in sorted(conditions.items())
            )
        )

    def text(self, alias: str, conditions: Conditions) -> tuple[str, dict[str, Any]]:
        """Return the condition as SQL text for a statement in text form, with its values."""
        if not conditions.keys() <= self.columns.keys():
            return "false", {}
        parts, values = ["true"], {}
        for number, (key, some) in enumerate(sorted(conditions.items())):
            parts.append(f"{alias}.{self.columns[key]} = any(%(reach_{number})s::text[])")
            values[f"reach_{number}"] = sorted(some)
        return " and ".join(parts), values


@dataclass(frozen=True)
class ByScopes:
    """A binding of rows with the values of several scopes for each key; null means all scopes."""

    column: str = "scopes"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows all of whose scopes meet the conditions."""
        scopes = getattr(columns, self.column)
        return and_(
            *(
                # The first clause uses the index; the second is the actual condition. A caller who
                # reaches no scope has rows that concern none, such as a purge of nothing.
                _holds_any(scopes, [{key: [value]} for value in sorted(values)] or [{key: []}])
                & _is_within(scopes, key, sorted(values))
                for key, values in sorted(conditions.items())
            )
        )

    def text(self, alias: str, conditions: Conditions) -> tuple[str, dict[str, Any]]:
        """Return the condition as SQL text for a statement in text form, with its values."""
        scopes = f"{alias}.{self.column}"
        parts, values = ["true"], dict[str, Any]()
        for number, (key, some) in enumerate(sorted(conditions.items())):
            parts.append(f"{scopes} @> any(%(reach_{number})s::jsonb[])")
            parts.append(f"({scopes} -> %(key_{number})s::text) <@ %(within_{number})s::jsonb")
            values[f"reach_{number}"] = [
                Jsonb({key: reached}) for reached in [[value] for value in sorted(some)] or [[]]
            ]
            values[f"key_{number}"] = key
            values[f"within_{number}"] = Jsonb(sorted(some))
        return " and ".join(parts), values


@dataclass(frozen=True)
class ByParent:
    """A binding of rows to the parent row of another table with equal values in columns `on`."""

    table: str
    on: tuple[str, ...]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose parent meets the conditions."""
        parent, table = _parent(self.table)
        same = (table.c[name] == getattr(columns, name) for name in self.on)
        is_met = parent.conditioned_by.clause(table.c, conditions)  # type: ignore[attr-defined]  # conditioned_rows has looked
        return select(literal(1)).select_from(table).where(*same, is_met).exists()


def _holds_any(column: Any, parts: Sequence[Mapping[str, Any]]) -> ColumnElement[bool]:  # noqa: ANN401
    """Return a condition for the GIN index; unlike `->>`, Postgres estimates it from statistics."""
    clause: ColumnElement[bool] = column.bool_op("@>")(any_(literal(parts, ARRAY(JSONB()))))
    return clause


def _is_within(column: Any, key: str, values: Sequence[str]) -> ColumnElement[bool]:  # noqa: ANN401
    # The key is bound as text: SQLAlchemy's own type for it cannot be compared.
    entry = column.op("->", return_type=JSONB())(literal(key, Text()))
    clause: ColumnElement[bool] = entry.contained_by(literal(values, JSONB()))
    return clause


def parts_index(name: str, column: str) -> Index:
    """Return the index that serves conditions on a column of scopes."""
    return Index(
        name,
        column,
        postgresql_using="gin",
        postgresql_ops={column: "jsonb_path_ops"},
        postgresql_with={"fastupdate": "off"},
    )


def conditioned_rows() -> Iterator[type[Base]]:
    """Yield the mapped classes with a binding."""
    for mapper in Base.registry.mappers:
        if hasattr(mapper.class_, "conditioned_by"):
            yield mapper.class_


@cache
def _parent(table: str) -> tuple[type[Base], Any]:
    """Return the class of a table's rows, and an alias apart from the surrounding statement's."""
    parent = next(row for row in conditioned_rows() if table_of(row).name == table)
    return parent, table_of(parent).alias()


def table_of(row: type[Base]) -> Table:
    """Return the table of a mapped class."""
    assert isinstance(row.__table__, Table)
    return row.__table__
