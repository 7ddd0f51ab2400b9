"""Finds, in a statement, the tables of scopes that it does not confine to a caller's conditions.

A table's place in a query is confined by
- its own condition, among those that every row must meet: that of its column of scopes or users;
- `exists (select ... from <parent> ...)` on its parent, which is confined there;
- being joined to a place that is confined, by all the columns that make both rows of one parent.

An outer join's own condition counts for the table that it joins alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

import app.process.metadata  # noqa: F401 - so that every table is there
from app.adapters.db.conditions import (
    Binding,
    ByKeys,
    ByParent,
    ByScope,
    ByScopes,
    conditioned_rows,
    table_of,
)
from app.kernel.auth import Conditions
from tests.architecture.trees import (
    bare,
    conjuncts,
    given_list,
    parameter,
    parse,
    parts,
    selects_nothing,
)

BINDINGS: Mapping[str, Binding] = {
    table_of(row).name: row.conditioned_by  # type: ignore[attr-defined]  # conditioned_rows has looked
    for row in conditioned_rows()
}
"""By table."""

Places = dict[str, str]
"""Tables by the names that they have in a query."""
_Column = tuple[str, str]


def scope_columns(table: str) -> set[str]:
    """Return the columns of a table that say to which scope a row belongs."""
    match BINDINGS[table]:
        case ByScope(column) | ByScopes(column):
            return {column}
        case ByKeys(columns):
            return set(columns.values())
        case ByParent(_, on):
            return set(on)
        case other:
            raise AssertionError(other)


def conditioned_in(statement: str) -> set[str]:
    """Return the tables of scopes that a statement names."""
    return {found.name for found in parse(statement).find_all(exp.Table)} & BINDINGS.keys()


def unconfined(statement: str, values: Mapping[str, Any], conditions: Conditions) -> list[str]:
    """Return the tables of scopes that a statement, with its parameters, does not confine."""
    return sorted(set(_Judge(values, conditions).unconfined(parse(statement), {})))


@dataclass(frozen=True)
class _Fact:
    """A condition that rows must meet; `only` is the place that it counts for, None: all."""

    condition: exp.Expr
    only: str | None


@dataclass(frozen=True)
class _Judge:
    values: Mapping[str, Any]
    conditions: Conditions

    def unconfined(self, query: exp.Expr, outer: Places) -> Iterator[str]:
        """Judge one query, then those inside it; `outer` are the confined places around it."""
        own, inner = parts(query)
        yield from _unconfined_write(query)
        places = _places(query, own)
        confined = self.confined(query, own, outer)
        yield from (places[name] for name in places.keys() - confined.keys())
        for nested in inner:
            yield from self.unconfined(nested, confined)

    def confined(self, query: exp.Expr, own: list[exp.Expr], outer: Places) -> Places:
        """Return the confined places of a query, and those around it that it can name."""
        if isinstance(query, exp.Merge):
            return {}
        places, facts = _places(query, own), list(_facts(query, own))
        hidden = _names(own)
        known = {name: table for name, table in outer.items() if name not in hidden}
        for name, table in places.items():
            mine = [fact.condition for fact in facts if fact.only in {None, name}]
            if self._meets(name, table, mine):
                known[name] = table
        while grown := {
            name: table
            for name, table in places.items()
            if name not in known and self._is_joined(name, table, known, facts)
        }:
            known |= grown
        return known

    def _meets(self, name: str, table: str, facts: list[exp.Expr]) -> bool:
        """Say whether the conditions on a place confine it by themselves."""
        if any(map(selects_nothing, facts)):
            return True
        binding = BINDINGS[table]
        if isinstance(binding, ByParent):
            exists = (fact.this for fact in facts if isinstance(fact, exp.Exists))
            return any(self._is_in(name, binding, query) for query in exists)
        return all(
            any(self._asks_for(fact, name, binding, key) for fact in facts)
            for key in self.conditions
        )

    def _is_in(self, name: str, binding: ByParent, query: exp.Expr) -> bool:
        """Say whether a query looks for the confined parent of the row at a place around it."""
        own, _ = parts(query)
        is_aggregate = any(isinstance(node, exp.AggFunc) for node in own)
        if name in _names(own) or is_aggregate or not isinstance(query, exp.Select):
            # An aggregate is there where no row is.
            return False
        found = self.confined(query, own, {})
        same = self._classes(list(_facts(query, own)), None)
        return any(
            table == binding.table and all(same((name, on), (parent, on)) for on in binding.on)
            for parent, table in found.items()
        )

    def _is_joined(self, name: str, table: str, known: Places, facts: list[_Fact]) -> bool:
        """Say whether the row at a place has the same parent as one at a confined place."""
        same = self._classes(facts, name)
        return any(
            all(same((name, column), (other, column)) for column in on)
            for parent, on in _families(table)
            for other, its_table in known.items()
            if (parent, on) in _families(its_table)
        )

    def _classes(self, facts: list[_Fact], name: str | None) -> Callable[[_Column, _Column], bool]:
        """Return what says whether two columns are equal, by the facts that count for a place."""
        classes: list[set[object]] = []
        for fact in facts:
            if fact.only in {None, name} and isinstance(fact.condition, exp.EQ):
                pair = {self._term(fact.condition.this), self._term(fact.condition.expression)}
                if None not in pair:
                    touched = [one for one in classes if one & pair]
                    classes = [one for one in classes if not one & pair]
                    classes.append(pair.union(*touched))
        return lambda one, other: any({one, other} <= equal for equal in classes)

    def _term(self, node: exp.Expr) -> object:
        node = bare(node)
        if isinstance(node, exp.Column):
            return (node.table, node.name)
        if (given := parameter(node)) is not None:
            return repr(self.values[given]) if given in self.values else id(node)
        return repr(node.to_py()) if isinstance(node, exp.Literal) else None

    def _asks_for(self, fact: exp.Expr, name: str, binding: Binding, key: str) -> bool:
        """Say whether a condition asks for what the caller may see of a key."""
        allowed = self.conditions[key]
        match binding:
            case ByScope(column) if isinstance(fact, exp.ArrayContainsAll):
                found = [{key: value} for value in allowed]
                given = self._any_of(fact.expression)
                return _is_column(fact.this, name, column) and _within(given, found)
            case ByScopes(column) if isinstance(fact, exp.ArrayContainedBy):
                entry = bare(fact.this)
                return (
                    isinstance(entry, exp.JSONExtract)
                    and _is_column(entry.this, name, column)
                    and self._value(entry.expression) == key
                    and _within(self._value(fact.expression), allowed)
                )
            case ByKeys(columns) if isinstance(fact, exp.In):
                given = [self._value(one) for one in fact.expressions] or None
                return _is_column(fact.this, name, columns.get(key)) and _within(given, allowed)
        return False

    def _any_of(self, node: exp.Expr) -> Any:
        return self._value(node.this) if isinstance(node, exp.Any) else None

    def _value(self, node: exp.Expr) -> Any:
        """Return what a parameter has; what is written in a statement is not any caller's."""
        given = parameter(bare(node))
        return None if given is None else self.values.get(given)


def _within(given: Any, allowed: Any) -> bool:
    return isinstance(given, list) and all(one in allowed for one in given)


def _is_column(node: exp.Expr, name: str, column: str | None) -> bool:
    node = bare(node)
    return isinstance(node, exp.Column) and (node.table, node.name) == (name, column)


def _families(table: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the parents that rows of a table have, itself where it is one, with their keys."""
    binding = BINDINGS[table]
    if isinstance(binding, ByParent):
        yield binding.table, binding.on
    for other in BINDINGS.values():
        if isinstance(other, ByParent) and other.table == table:
            yield table, other.on


def _names(own: list[exp.Expr]) -> set[str]:
    """Return every name that something to select from has in a query."""
    kinds = (exp.Table, exp.Subquery, exp.Values, exp.Lateral)
    return {node.alias_or_name for node in own if isinstance(node, kinds)}


def _places(query: exp.Expr, own: list[exp.Expr]) -> Places:
    found = {node.alias_or_name: node.name for node in own if isinstance(node, exp.Table)}
    if isinstance(query, exp.Insert):
        found.pop(query.this.find(exp.Table).alias_or_name, None)
    return {name: table for name, table in found.items() if table in BINDINGS}


def _facts(query: exp.Expr, own: list[exp.Expr]) -> Iterator[_Fact]:
    """Yield the conditions that every row must meet."""
    where = query.args.get("where")
    if where is not None:
        yield from (_Fact(one, None) for one in _asked(where.this))
    for node in own:
        if isinstance(node, exp.Join) and node.args.get("on") and node.side in {"", "LEFT"}:
            only = node.this.alias_or_name if node.side else None
            yield from (_Fact(one, only) for one in _asked(node.args["on"]))


def _asked(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that must be met; `coalesce(..., false)` asks for what is in it."""
    for one in conjuncts(condition):
        if isinstance(one, exp.Coalesce) and all(map(selects_nothing, one.expressions)):
            yield from _asked(one.this)
        else:
            yield one


def _unconfined_write(query: exp.Expr) -> Iterator[str]:
    """Yield the table to which a query writes what no look at its parameters can tell."""
    if isinstance(query, exp.Merge):
        yield from (node.name for node in query.find_all(exp.Table) if node.name in BINDINGS)
    if not isinstance(query, (exp.Insert, exp.Update)):
        return
    table = query.this.find(exp.Table).name
    if table not in BINDINGS:
        return
    if isinstance(query, exp.Update):
        moved = {bare(one.this).name for one in query.expressions} & scope_columns(table)
    else:
        moved = _blindly_inserted(query, table)
    if moved:
        yield table


def _blindly_inserted(query: exp.Insert, table: str) -> set[str]:
    """Return what an insert, or its change of a row that is there, may take from elsewhere."""
    if not isinstance(query.expression, exp.Values) and given_list(query.expression) is None:
        return scope_columns(table)
    conflict = query.args.get("conflict")
    if conflict is None or not conflict.expressions:
        return set()
    if not isinstance(BINDINGS[table], ByParent):
        # The row that is there may be anybody's.
        return scope_columns(table)
    # It has the key of the one to be inserted, and if that is the parent's, the same parent.
    keys = {bare(one.this).name for one in conflict.args["conflict_keys"]}
    changed = {bare(one.this).name for one in conflict.expressions}
    return (scope_columns(table) - keys) | (scope_columns(table) & changed)
