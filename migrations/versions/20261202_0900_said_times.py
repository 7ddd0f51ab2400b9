"""Adds what tells when words were said, and whether they were read before."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision: str = "c4a7e21b0900"
down_revision: str | None = "d7e1f03a1200"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_WITH_OFFSET = ("session_events", "stream_events")
_ROWS = {"insert": ("new", "added", ""), "delete": ("old", "removed", "-")}


def upgrade() -> None:
    op.add_column("memories", sa.Column("held_time", sa.DateTime(timezone=True), nullable=True))
    for table in _WITH_OFFSET:
        op.add_column(table, sa.Column("utc_offset", sa.SmallInteger(), nullable=True))
    op.create_table(
        "read_lines",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("scope_hash", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scope", pg.JSONB(), nullable=False),
        sa.Column("expire_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("engine_id", "scope_hash", "digest", name=op.f("pk_read_lines")),
    )
    op.create_index("ix_read_lines_expire_time", "read_lines", ["expire_time"])
    op.execute(
        "create trigger read_lines_not_erased before insert on read_lines"
        " for each row execute function refuse_write_to_erased_scope('scope')"
    )
    for verb, (age, rows, sign) in _ROWS.items():
        _count(verb, age, rows, sign)


def downgrade() -> None:
    for verb in _ROWS:
        op.execute(f"drop function total_read_lines_{verb}() cascade")
    op.drop_table("read_lines")
    for table in _WITH_OFFSET:
        op.drop_column(table, "utc_offset")
    op.drop_column("memories", "held_time")


def _count(verb: str, age: str, rows: str, sign: str) -> None:
    """Count the bytes of lines. An update changes none of them."""
    op.execute(f"""
        create function total_read_lines_{verb}() returns trigger language plpgsql as $$
        declare change engine_totals;
        begin
            for change in
                select engine_id, pg_backend_pid() as backend, 0 as memories, 0 as sessions,
                    0 as events,
                    {sign}sum(octet_length(concat(scope)) + octet_length(digest)) as bytes,
                    0 as artifact_bytes
                from {rows} group by engine_id
            loop
                insert into engine_totals as total (engine_id, backend, memories, sessions, events,
                    bytes, artifact_bytes)
                values (change.engine_id, change.backend, 0, 0, 0, change.bytes, 0)
                on conflict (engine_id, backend) do update
                set bytes = total.bytes + excluded.bytes;
            end loop;
            return null;
        end
        $$
    """)  # noqa: S608 - of constants
    op.execute(
        f"create trigger total_{verb} after {verb} on read_lines referencing {age} table as {rows}"
        f" for each statement execute function total_read_lines_{verb}()"
    )
