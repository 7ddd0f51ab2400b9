"""A check of the catalogue for what this release needs of its database."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Executable, Row, text

if TYPE_CHECKING:
    from migrations.needed import Needed

_SHOWN = 4
_LOOK = """
with relations as (
    select oid, relname from pg_catalog.pg_class
    where relkind in ('r', 'p') and pg_catalog.pg_table_is_visible(oid)
), found (kind, of_table, name) as (
    select 'extension', '', extname::text from pg_catalog.pg_extension
    union all
    select 'table', relname::text, relname::text from relations
    union all
    select 'column', r.relname::text,
        a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod)
    from relations r join pg_catalog.pg_attribute a on a.attrelid = r.oid
    where a.attnum > 0 and not a.attisdropped
    union all
    select 'index', r.relname::text, c.relname::text
    from relations r
    join pg_catalog.pg_index i on i.indrelid = r.oid and i.indisvalid
    join pg_catalog.pg_class c on c.oid = i.indexrelid
    union all
    select 'foreign key', r.relname::text, k.conname::text
    from relations r join pg_catalog.pg_constraint k on k.conrelid = r.oid and k.contype = 'f'
    union all
    select 'trigger', r.relname::text, t.tgname::text
    from relations r join pg_catalog.pg_trigger t on t.tgrelid = r.oid
    where not t.tgisinternal and t.tgenabled in ('O', 'A')
)
select needed.kind, needed.of_table, needed.name
from unnest(cast(:kinds as text[]), cast(:tables as text[]), cast(:names as text[]))
    with ordinality as needed (kind, of_table, name, number)
where not exists (
    select from found
    where found.kind = needed.kind and found.of_table = needed.of_table
        and found.name = needed.name
)
order by needed.number
"""


def look() -> Executable:
    """Return the statement that finds missing things; `missing` reads its rows."""
    # Imported late: the module imports this package.
    from migrations.needed import needed  # noqa: PLC0415 - as above

    kinds, tables, names = zip(*needed(), strict=True)
    return text(_LOOK).bindparams(kinds=list(kinds), tables=list(tables), names=list(names))


def missing(rows: Iterable[Row[Any]]) -> Sequence["Needed"]:
    """Return the missing things; of a missing table, only the table itself."""
    from migrations.needed import Needed  # noqa: PLC0415 - as in `look`

    things = [Needed._make(row) for row in rows]
    gone = {thing.table for thing in things if thing.kind == "table"}
    return [thing for thing in things if thing.kind == "table" or thing.table not in gone]


def listed(things: Sequence["Needed"]) -> str:
    """Return the names of a few things, and the number of the others."""
    shown = ", ".join(map(str, things[:_SHOWN]))
    more = len(things) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
