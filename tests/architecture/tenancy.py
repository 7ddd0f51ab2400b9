"""Finds, in a statement, the tables of tenants that it does not confine to one engine."""

import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from app.metadata import metadata

COLUMN = "engine_id"
TENANT_TABLES = frozenset(table.name for table in metadata.sorted_tables if COLUMN in table.columns)

_PLACEHOLDER = re.compile(r"%\(\w+\)[sbt]|%[sbt]|\$\d+")
_VERB = re.compile(
    r"\s*\(?\s*(with|select|insert|update|delete|merge|table|values)\b", re.IGNORECASE
)
_JUDGED = (exp.Select, exp.SetOperation, exp.Update, exp.Delete, exp.Insert, exp.Merge)


def is_judged(statement: str) -> bool:
    """Tell whether a statement reads or writes rows; the rest defines or configures."""
    return bool(_VERB.match(statement))


def _parse(statement: str) -> exp.Expr:
    """Return the tree of a statement as the driver takes it; a value stands for each parameter."""
    text = _PLACEHOLDER.sub("'?'", statement).replace("%%", "%")
    found: exp.Expr = sqlglot.parse_one(text, dialect="postgres")
    assert isinstance(found, _JUDGED), f"what is this? {statement}"
    return found


def unconfined(statement: str) -> list[str]:
    """Return the tables of tenants that the statement reaches without naming one engine."""
    return sorted(set(_unconfined(_parse(statement), frozenset())))


def _unconfined(query: exp.Expr, outer: frozenset[str]) -> Iterator[str]:
    """Judge one query, then those inside it; `outer` are the confined names around it."""
    own, inner = _parts(query)
    tables = {table.alias_or_name: table.name for table in own if isinstance(table, exp.Table)}
    if isinstance(query, exp.Insert):
        yield from _unnamed_insert(query)
        tables.pop(query.this.find(exp.Table).alias_or_name, None)
    theirs = {alias for alias, name in tables.items() if name in TENANT_TABLES}
    confined = _confined(own, theirs, outer - set(tables))
    yield from (tables[alias] for alias in theirs - confined)
    for nested in inner:
        yield from _unconfined(nested, confined)


def _parts(query: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the nodes of the query itself, and the queries directly inside it."""
    own: list[exp.Expr] = []
    inner: list[exp.Expr] = []
    for node in query.walk(prune=lambda node: node is not query and isinstance(node, _JUDGED)):
        is_inner = node is not query and isinstance(node, _JUDGED)
        (inner if is_inner else own).append(node)
    return own, inner


def _unnamed_insert(query: exp.Insert) -> Iterator[str]:
    """Yield the table if rows are inserted without saying whose they are."""
    table = query.this.find(exp.Table)
    columns = {column.name for column in query.this.find_all(exp.Identifier)}
    if table.name in TENANT_TABLES and COLUMN not in columns:
        yield table.name


def _confined(own: list[exp.Expr], theirs: set[str], outer: frozenset[str]) -> frozenset[str]:
    """Return the names whose engine is given: by a value, or by equality with one that is."""
    known = set(outer)
    links: list[tuple[str, str]] = []
    for left, right in _equalities(own):
        for column, other in ((left, right), (right, left)):
            alias = _alias_of_engine(column, theirs)
            other_alias = _alias_of_engine(other, theirs)
            if alias is None:
                continue
            if isinstance(other, exp.Literal):
                known.add(alias)
            elif other_alias is not None:
                # A name that is no table of tenants is a query inside, judged by itself.
                links.append((alias, other_alias))
                known |= {other_alias} - theirs
    while grown := {alias for alias, other in links if other in known} - known:
        known |= grown
    return frozenset(known)


def _equalities(own: list[exp.Expr]) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the two sides of each equality that every row must meet."""
    for node in own:
        if isinstance(node, exp.Where):
            yield from _of_conjunction(node.this)
        elif isinstance(node, exp.Join) and node.args.get("on") and not node.side:
            yield from _of_conjunction(node.args["on"])


def _of_conjunction(
    condition: exp.Expr,
) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    condition = _bare(condition)
    if isinstance(condition, exp.And):
        yield from _of_conjunction(condition.this)
        yield from _of_conjunction(condition.expression)
    elif isinstance(condition, exp.EQ):
        yield _bare(condition.this), _bare(condition.expression)


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return node


def _alias_of_engine(node: exp.Expr, theirs: set[str]) -> str | None:
    if not isinstance(node, exp.Column) or node.name != COLUMN:
        return None
    if node.table:
        return str(node.table)
    return next(iter(theirs)) if len(theirs) == 1 else None
