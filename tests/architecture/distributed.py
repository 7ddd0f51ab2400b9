"""Finds, in a statement, what a database that is distributed by engine refuses or misreads.

| Rule | Refused |
| --- | --- |
| 1 | a lock on rows, where a table of tenants is not confined to one engine |
| 2 | an update or deletion of such a table that is not confined |
| 3 | any other read of such a table that is not confined |
| 4 | a volatile function in an update, a deletion or ON CONFLICT of a table of tenants |
| 5 | a stable function over a column in the same places |
| 6 | a setting for a transaction by `set_config`; `set` without `local` |
| 7 | a table of tenants and one that lies on the coordinator, together |
| 8 | what a single server alone knows of its transactions; MERGE; a change of `engine_id` |
| 9 | a key of a table of tenants without `engine_id` (`KEYS_WITHOUT_ENGINE`) |
| 10 | a trigger of such a table that a node cannot run (`breaks_in_trigger`) |

Operators and casts are not judged. What runs inside PL/pgSQL is not sent, and so not seen here:
functions of triggers are read from the database, as keys are.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from sqlglot import exp

from app.adapters.db.distribution import COLUMN, LOCAL
from tests.architecture.tenancy import TENANT_TABLES, unconfined
from tests.architecture.trees import is_judged, parse

Volatilities = Mapping[tuple[str, int], str]
"""`i`, `s` or `v`, as Postgres has it, by a function's name and the number of its arguments."""

LOCAL_TABLES = frozenset(LOCAL)
"""Tables on the coordinator alone, where the others are distributed."""
OF_CONNECTIONS = frozenset({"set plan_cache_mode = force_generic_plan", "set enable_seqscan = off"})
"""Settings of the direct connections, which are made when one is opened."""
VOLATILITIES = b"""
    select proname, n, max(provolatile::text)
    from pg_proc, generate_series(pronargs - pronargdefaults, greatest(pronargs, 20)) as n
    where n <= pronargs or provariadic <> 0
    group by proname, n
"""
"""Reads `Volatilities`; `i` < `s` < `v`, so that the most volatile of several functions counts."""

KEYS_WITHOUT_ENGINE = b"""
    with keys as (
        select conrelid as of_table, conname as name, conkey as columns from pg_constraint
        where contype in ('p', 'u', 'f', 'x')
        union all
        select indrelid, relname, indkey::smallint[] from pg_index
        join pg_class on pg_class.oid = indexrelid where indisunique
    )
    select distinct keys.name from keys
    join pg_attribute on attrelid = of_table and attname = 'engine_id'
    where of_table::regclass::text = any(%s) and not attnum = any(columns)
"""
"""Finds keys, unique indexes and references of tables that do not say of which engine they are."""

_OF_ONE_SERVER = re.compile(r"txid_|pg_current_(snapshot|xact)|pg_(snapshot|xact)_|pg_visible_in_")
_SET = re.compile(r"\s*set\s+(?!local\b)", re.IGNORECASE)
_CALL = re.compile(r"\w+(?=\()")
_WRITE = re.compile(
    r"\b(?:insert into|delete from|merge into|update \w+(?: as)?(?: \w+)? set)\b[^;]*",
    re.IGNORECASE,
)


def broken_rules(statement: str, volatilities: Volatilities) -> set[int]:
    """Return the numbers of the rules that a statement breaks."""
    if not is_judged(statement):
        is_set = _SET.match(statement) and statement not in OF_CONNECTIONS
        return {6} if is_set else set()
    query = parse(statement)
    broken = _of_engines(query, set(unconfined(statement)))
    changing = [_volatility(call, volatilities) for call in _calls_in_changes(query)]
    if "v" in changing:
        broken.add(4)
    if "s" in changing:
        broken.add(5)
    if any(_name(call) == "set_config" and _is_local(call) for call in query.find_all(exp.Func)):
        broken.add(6)
    tables = {table.name for table in query.find_all(exp.Table)}
    if tables & LOCAL_TABLES and tables & TENANT_TABLES:
        broken.add(7)
    if _is_of_one_server(query):
        broken.add(8)
    return broken


def _is_of_one_server(query: exp.Expr) -> bool:
    """Return True if a query rests on transaction ids, merges, or moves rows to another engine."""
    is_moving = any(
        column.name == COLUMN
        for change in query.find_all(exp.Update, exp.OnConflict)
        for assigned in change.expressions
        if isinstance(assigned, exp.EQ)
        for column in assigned.this.find_all(exp.Column)
    )
    calls = query.find_all(exp.Func)
    return (
        is_moving
        or query.find(exp.Merge) is not None
        or any(_OF_ONE_SERVER.match(_name(call)) for call in calls)
    )


def breaks_in_trigger(source: str, transition_tables: Collection[str]) -> bool:
    """Return True if the function of a trigger on a table of tenants cannot run on a node.

    It names a table that is not there, writes without naming the engine, or writes rows that it
    selects from a transition table.
    """
    if LOCAL_TABLES & set(re.findall(r"\w+", source)):
        return True
    for write in _WRITE.findall(" ".join(source.split())):
        tables = {table.name for table in parse(write).find_all(exp.Table)}
        if not tables <= TENANT_TABLES - set(transition_tables) or unconfined(write):
            return True
    return False


def _of_engines(query: exp.Expr, crossed: set[str]) -> set[int]:
    """Return which of the first three rules the reach into some tables breaks."""
    if not crossed:
        return set()
    changed = {_target(change) for change in _changes(query)} & crossed
    is_locking = query.find(exp.Lock) is not None
    broken = ({1} if is_locking else set()) | ({2} if changed else set())
    return broken or {3}


def _changes(query: exp.Expr) -> Iterator[exp.Expr]:
    # Those of MERGE have no table of their own; it is refused as it is.
    yield from (change for change in query.find_all(exp.Update, exp.Delete) if change.this)


def _target(change: exp.Expr) -> str:
    table = change.this.find(exp.Table)
    return str(table.name)


def _calls_in_changes(query: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the calls of functions that change rows of tenants which exist."""
    places = [change for change in _changes(query) if _target(change) in TENANT_TABLES]
    places += [
        conflict
        for insert in query.find_all(exp.Insert)
        if _target(insert) in TENANT_TABLES and (conflict := insert.args.get("conflict"))
    ]
    for place in places:
        # A query that comes before, in WITH, is planned by itself.
        for node in place.walk(prune=lambda node: isinstance(node, exp.With)):
            if isinstance(node, exp.Func):
                yield node


def _volatility(call: exp.Expr, volatilities: Volatilities) -> str | None:
    """Return `v` for a volatile function, `s` for a stable one over a column."""
    given = list(call.iter_expressions())
    found = volatilities.get((_name(call), len(given)))
    return None if found == "s" and call.find(exp.Column) is None else found


def _name(call: exp.Expr) -> str:
    """Return the name of a function, or nothing for an operator or a construct of the language."""
    if isinstance(call, exp.Anonymous):
        return str(call.name).lower()
    written = _CALL.match(call.sql(dialect="postgres"))
    is_operator = isinstance(call, (exp.Binary, exp.Cast, exp.Connector))
    return "" if written is None or is_operator else written[0].lower()


def _is_local(call: exp.Expr) -> bool:
    given = list(call.iter_expressions())
    return not (isinstance(given[-1], exp.Boolean) and not given[-1].this)
