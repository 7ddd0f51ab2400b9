"""Reads statements as trees, for those who judge them."""

import re
from collections.abc import Iterator
from functools import cache

import sqlglot
from sqlglot import exp

_PLACEHOLDER = re.compile(r"%\((\w+)\)[sbt]|%[sbt]|\$\d+")
_VERB = re.compile(
    r"\s*\(?\s*(with|select|insert|update|delete|merge|table|values)\b", re.IGNORECASE
)
_QUERIES = (exp.Select, exp.SetOperation, exp.Update, exp.Delete, exp.Insert, exp.Merge)
_MARK = "?"
_TO_ROWS = frozenset({"json_to_recordset", "jsonb_to_recordset"})


def is_judged(statement: str) -> bool:
    """Tell whether a statement reads or writes rows; the rest defines or configures."""
    return bool(_VERB.match(statement))


@cache
def parse(statement: str) -> exp.Expr:
    """Return the tree of a statement as the driver takes it; a text stands for each parameter."""
    text = _PLACEHOLDER.sub(lambda found: f"'{_MARK}{found[1] or ''}'", statement)
    found: exp.Expr = sqlglot.parse_one(text.replace("%%", "%"), dialect="postgres")
    assert isinstance(found, _QUERIES), f"what is this? {statement}"
    return found


def parameter(node: exp.Expr) -> str | None:
    """Return the name of the parameter that a node stands for."""
    if isinstance(node, exp.Literal) and node.is_string and node.this.startswith(_MARK):
        return str(node.this[len(_MARK) :])
    return None


def given_list(query: exp.Expr) -> str | None:
    """Return the parameter with a list of objects of which alone a query selects."""
    if not isinstance(query, exp.Select):
        return None
    if {name for name, value in query.args.items() if value} != {"expressions", "from_"}:
        return None
    table = query.args["from_"].this
    call = table.this
    if not isinstance(call, exp.Anonymous) or call.name not in _TO_ROWS:
        return None
    columns = [one for selected in query.expressions for one in selected.find_all(exp.Column)]
    is_other = [one.find(exp.Query) or not one.find(exp.Column) for one in query.expressions]
    if any(is_other) or {one.table for one in columns} != {table.alias}:
        return None
    return parameter(bare(call.expressions[0]))


def parts(query: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the nodes of the query itself, and the queries directly inside it."""
    own: list[exp.Expr] = []
    inner: list[exp.Expr] = []
    for node in query.walk(prune=lambda node: node is not query and isinstance(node, _QUERIES)):
        is_inner = node is not query and isinstance(node, _QUERIES)
        (inner if is_inner else own).append(node)
    return own, inner


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions all of which must be met for this one to be."""
    condition = bare(condition)
    if isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    else:
        yield condition


def selects_nothing(condition: exp.Expr) -> bool:
    """Say whether a condition is one that no row meets."""
    return any(isinstance(one, exp.Boolean) and not one.this for one in conjuncts(condition))


def bare(node: exp.Expr) -> exp.Expr:
    """Return what stands in parentheses or is cast."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return node
