"""The triggers that count the bytes of memories and revisions, as their columns change.

A column with role `content`, or `info["counted"]`, counts. A written migration that adds or removes
one calls `count_bytes`; alembic's comparison, which knows no triggers, is completed here.
"""

import re
from collections.abc import Iterable, Sequence

from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.migration import MigrationContext
from alembic.operations import ops
from sqlalchemy import Connection, text

from app.memory.memories.store.tables import MemoryRow, RevisionRow, counted_columns

_ROWS = (MemoryRow, RevisionRow)
_VERBS = ("insert", "update", "delete")
_BYTES = re.compile(r"(?<=octet_length\(concat\()[^)]*(?=\)\))")
_CORRECT = """
    insert into engine_totals as total (engine_id, backend, memories, sessions, events, bytes)
    select engine_id, 0, 0, 0, 0, bytes
    from (
        select engine_id,
            sum(octet_length(concat('', {added})) - octet_length(concat('', {removed}))) as bytes
        from {table}
        group by engine_id
    ) as change
    where bytes <> 0
    on conflict (engine_id, backend) do update set bytes = total.bytes + excluded.bytes
"""


def count_bytes(table: str, *columns: str) -> None:
    """Create the functions of a table's triggers anew: the bytes of these columns count.

    The totals are corrected by what columns hold that counted before, or did not, so both must
    exist: call it after columns are added, before others are dropped.
    """
    connection = op.get_bind()
    # No row may change between its count here and the first count by the new functions.
    op.execute(f"lock table {table} in share row exclusive mode")
    former = _counted(connection, table)
    added, removed = (
        ", ".join(name for name in some if name not in others) or "''"
        for some, others in ((columns, former), (former, columns))
    )
    for verb in _VERBS:
        op.execute(_BYTES.sub(", ".join(columns), _function(connection, table, verb)))
    op.execute(_CORRECT.format(table=table, added=added, removed=removed))


def _counted(connection: Connection, table: str) -> list[str]:
    found = _BYTES.search(_function(connection, table, _VERBS[0]))
    assert found is not None
    return found[0].split(", ")


def _function(connection: Connection, table: str, verb: str) -> str:
    """Return the statement that creates the function of a trigger as it is."""
    statement = text("select pg_get_functiondef(cast(:name as regproc))")
    return str(connection.execute(statement, {"name": f"total_{table}_{verb}"}).scalar_one())


class _CountBytes(ops.MigrateOperation):
    """A call of `count_bytes` in a migration that is being written."""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        self.table = table
        self.columns = columns


@renderers.dispatch_for(_CountBytes)
def _render(context: AutogenContext, call: _CountBytes) -> str:
    context.imports.add("from migrations.totals import count_bytes")
    return f"count_bytes({', '.join(map(repr, (call.table, *call.columns)))})"


def complete(
    context: MigrationContext,
    _revision: str | Iterable[str | None] | Iterable[str],
    scripts: list[ops.MigrationScript],
) -> None:
    """Add to a migration what the triggers need; alembic calls this before it is written."""
    assert context.connection is not None
    for row in _ROWS:
        table = row.__tablename__
        counted = counted_columns(row)
        columns = [column.name for column in row.__table__.columns if column.name in counted]
        former = _counted(context.connection, table)
        if set(columns) != set(former):
            for script in scripts:
                for part, names in ((script.upgrade_ops, columns), (script.downgrade_ops, former)):
                    assert part is not None
                    _place(part, _CountBytes(table, names))


def _place(all_ops: ops.OpContainer, call: _CountBytes) -> None:
    """Put the call between the columns of its table that are added and those that are dropped."""
    for of_table in all_ops.ops:
        if isinstance(of_table, ops.ModifyTableOps) and of_table.table_name == call.table:
            kept = [one for one in of_table.ops if not isinstance(one, ops.DropColumnOp)]
            dropped = [one for one in of_table.ops if isinstance(one, ops.DropColumnOp)]
            of_table.ops = [*kept, call, *dropped]
            return
    all_ops.ops.append(call)
