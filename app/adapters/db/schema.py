"""The schema of this release: its revisions, and the objects that a database must have."""

import functools
import re
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Executable, Row, text

import migrations

if TYPE_CHECKING:
    from migrations.needed import Needed

_SHOWN = 4
# Invalid, disabled and outdated objects count as missing. Internal triggers enforce a foreign key;
# `alter table ... disable trigger all` switches them off.
_FOUND = r"""
with relations as (
    select oid, relname from pg_catalog.pg_class
    where relkind in ('r', 'p') and relnamespace <> 'pg_catalog'::regnamespace
        and pg_catalog.pg_table_is_visible(oid)
), functions as (
    select p.proname || '(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')' as name,
        pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(p.prosrc, 'UTF8')), 'hex')
            as digest
    from pg_catalog.pg_proc p
    where p.pronamespace <> 'pg_catalog'::regnamespace
        and pg_catalog.pg_function_is_visible(p.oid)
        and not exists (
            select from pg_catalog.pg_depend d
            where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
        )
), found (kind, of_table, name, digest) as (
    select 'extension', '', extname::text, '' from pg_catalog.pg_extension
    where extname <> 'vector'
        or (pg_catalog.regexp_match(extversion, '^(\d+)\.(\d+)'))::int[] >= array[0, 7]
    union all
    select 'table', relname::text, relname::text, '' from relations
    union all
    select 'column', r.relname::text,
        a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod), ''
    from relations r join pg_catalog.pg_attribute a on a.attrelid = r.oid
    where a.attnum > 0 and not a.attisdropped
    union all
    select 'index', r.relname::text, c.relname::text, ''
    from relations r
    join pg_catalog.pg_index i on i.indrelid = r.oid and i.indisvalid
    join pg_catalog.pg_class c on c.oid = i.indexrelid
    union all
    select case k.contype when 'f' then 'foreign key' else 'check' end,
        r.relname::text, k.conname::text, ''
    from relations r join pg_catalog.pg_constraint k on k.conrelid = r.oid
    where k.contype in ('f', 'c') and k.convalidated and not exists (
        select from pg_catalog.pg_trigger t
        where t.tgconstraint = k.oid and t.tgenabled not in ('O', 'A')
    )
    union all
    select 'trigger', r.relname::text, t.tgname::text, ''
    from relations r join pg_catalog.pg_trigger t on t.tgrelid = r.oid
    where not t.tgisinternal and t.tgenabled in ('O', 'A')
    union all
    select 'function', '', name, '' from functions
    union all
    select 'text of function', '', name, digest from functions
)
"""
_LOOK = f"""
{_FOUND}
select needed.kind, needed.of_table, needed.name, needed.digest
from unnest(
    cast(:kinds as text[]), cast(:tables as text[]), cast(:names as text[]),
    cast(:digests as text[])
) with ordinality as needed (kind, of_table, name, digest, number)
where not exists (
    select from found
    where found.kind = needed.kind and found.of_table = needed.of_table
        and found.name = needed.name and found.digest = needed.digest
)
order by needed.number
"""  # noqa: S608 - of constants
_LIST = f"""
{_FOUND}
select kind, of_table, name, digest from found
where kind <> 'extension' and of_table not like 'alembic\\_version%'
order by kind, of_table, name collate "C"
"""  # noqa: S608 - of constants
_RECREATE = (
    "Run `memory-bank migrate --recreate-vectors`: it makes the tables of vectors anew, empty, and"
    " has the worker embed everything again. Or restore the backup again, into a database that has"
    " the extension vector."
)
_RESTORE = "Restore its backup again, into an empty database that has the extension vector."
FOLDER = Path(migrations.__file__).parent
"""The folder of the migrations."""
_NAMED = re.compile(
    r'^revision: str = "(?P<own>\w+)"\ndown_revision: str \| None = (?:None|"(?P<former>\w+)")$',
    re.MULTILINE,
)


def look(*, with_texts: bool = False) -> Executable:
    """Return the statement that finds missing objects and, if `with_texts`, changed functions."""
    # Imported late: the module imports this package.
    from migrations.needed import needed  # noqa: PLC0415 - a cycle

    wanted = [item for item in needed() if with_texts or not item.digest]
    kinds, tables, names, digests = map(list, zip(*wanted, strict=True))
    return text(_LOOK).bindparams(kinds=kinds, tables=tables, names=names, digests=digests)


def listing() -> Executable:
    """Return the statement that lists a database's objects, with the columns of `Needed`."""
    return text(_LIST)


def missing(rows: Iterable[Row[Any]]) -> Sequence["Needed"]:
    """Return the missing objects, without the parts of missing tables and functions."""
    from migrations.needed import Needed  # noqa: PLC0415 - as in `look`

    things = [Needed._make(row) for row in rows]
    tables = {thing.table for thing in things if thing.kind == "table"}
    functions = {thing.name for thing in things if thing.kind == "function"}
    return [
        thing
        for thing in things
        if thing.kind == "table"
        or not (thing.table in tables or (thing.digest and thing.name in functions))
    ]


def listed(things: Sequence["Needed"]) -> str:
    """Return the names of the first few objects and the number of the others."""
    shown = ", ".join(map(str, things[:_SHOWN]))
    more = len(things) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def fault(connection: Connection) -> str | None:
    """Return a message that names missing objects and the remedy; None: none is missing."""
    lacking = missing(connection.execute(look()))
    if not lacking:
        return None
    of_vectors = {item.table for item in lacking} <= {"", *vector_tables()}
    return (
        f"The database is incomplete: it lacks {listed(lacking)}; `memory-bank check` names all of"
        f" it. {_RECREATE if of_vectors else _RESTORE}"
    )


def vector_tables() -> Sequence[str]:
    """Return the tables that hold vectors."""
    from migrations.needed import VECTOR_TABLES  # noqa: PLC0415 - as in `look`

    return VECTOR_TABLES


class RevisionError(RuntimeError):
    """Alembic refuses a run; the message is Alembic's."""


@functools.cache
def _former() -> dict[str, str | None]:
    """Return the previous revision of each revision, without running a migration.

    Alembic would import every migration, which costs half a second and ten megabytes.
    """
    scripts = sorted(FOLDER.glob("versions/*.py"))
    named = (_named(script) for script in scripts if script.stem != "__init__")
    return dict(named)


def _named(script: Path) -> tuple[str, str | None]:
    if (match := _NAMED.search(script.read_text("utf-8"))) is not None:
        return match["own"], match["former"]
    # In a form other than `make migration` writes.
    values = runpy.run_path(str(script))
    return values["revision"], values["down_revision"]


@functools.cache
def wanted_revision() -> str:
    """Return the schema revision of this release. Reads files."""
    (head,) = known_revisions() - set(_former().values())
    return head


def known_revisions() -> set[str]:
    """Return all schema revisions up to this release's. Reads files."""
    return set(_former())


def revisions_of(connection: Connection) -> set[str]:
    """Return the revisions that a database has: one, or none before its first migration."""
    has_any = connection.execute(text("select to_regclass('alembic_version') is not null"))
    if not has_any.scalar_one():
        return set()
    return set(connection.execute(text("select version_num from alembic_version")).scalars())
