"""Finds, in a statement, the tables of tenants that it does not confine to one engine."""

from collections.abc import Iterator

from sqlglot import exp

from app.adapters.db.distribution import COLUMN, DISTRIBUTED
from tests.architecture.trees import bare, conjuncts, parse, parts, selects_nothing

TENANT_TABLES = frozenset(DISTRIBUTED)


def unconfined(statement: str) -> list[str]:
    """Return the tables of tenants that the statement reaches without naming one engine."""
    return sorted(set(_unconfined(parse(statement), frozenset())))


def _unconfined(query: exp.Expr, outer: frozenset[str]) -> Iterator[str]:
    """Judge one query, then those inside it; `outer` are the confined names around it."""
    own, inner = parts(query)
    tables = {table.alias_or_name: table.name for table in own if isinstance(table, exp.Table)}
    if isinstance(query, exp.Insert):
        yield from _unnamed_insert(query)
        tables.pop(query.this.find(exp.Table).alias_or_name, None)
    theirs = {alias for alias, name in tables.items() if name in TENANT_TABLES}
    confined = _confined(query, own, theirs, outer - set(tables))
    yield from (tables[alias] for alias in theirs - confined)
    for nested in inner:
        yield from _unconfined(nested, confined)


def _unnamed_insert(query: exp.Insert) -> Iterator[str]:
    """Yield the table if rows are inserted without saying whose they are."""
    table = query.this.find(exp.Table)
    columns = {column.name for column in query.this.find_all(exp.Identifier)}
    if table.name in TENANT_TABLES and COLUMN not in columns:
        yield table.name


def _confined(
    query: exp.Expr, own: list[exp.Expr], theirs: set[str], outer: frozenset[str]
) -> frozenset[str]:
    """Return the names whose engine is given: by a value, or by equality with one that is."""
    if any(map(selects_nothing, _conditions(query, own))):
        return outer | theirs
    known = set(outer)
    links: list[tuple[str, str]] = []
    for left, right in _equalities(query, own):
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


def _equalities(query: exp.Expr, own: list[exp.Expr]) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the two sides of each equality that every row must meet."""
    for condition in _conditions(query, own):
        for found in conjuncts(condition):
            if isinstance(found, exp.EQ):
                yield bare(found.this), bare(found.expression)


def _conditions(query: exp.Expr, own: list[exp.Expr]) -> Iterator[exp.Expr]:
    where = query.args.get("where")
    if where is not None:
        yield where.this
    for node in own:
        if isinstance(node, exp.Join) and node.args.get("on") and not node.side:
            yield node.args["on"]


def _alias_of_engine(node: exp.Expr, theirs: set[str]) -> str | None:
    if not isinstance(node, exp.Column) or node.name != COLUMN:
        return None
    if node.table:
        return str(node.table)
    return next(iter(theirs)) if len(theirs) == 1 else None
