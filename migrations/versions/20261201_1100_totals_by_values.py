"""What engines hold is counted by values: each sum is looked up first, and then inserted.

A database that is distributed by engine plans an insertion anew on the node of the shard, and finds
no transition table there.
"""

import re
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "e6b9d4f21100"
down_revision: str | None = "e6b9d4f21000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_FUNCTIONS = r"""
    select pg_get_functiondef(oid) from pg_proc
    where pronamespace = current_schema()::regnamespace and prosrc like '%engine\_totals%'
    order by proname
"""
_INSERT = r"\s+insert into engine_totals as total\s+\((?P<columns>[^)]*)\)"
_FROM_ROWS = re.compile(
    rf"begin(?P<insert>{_INSERT})(?P<sums>\s+select .*)(?P<conflict>\s+on conflict .*?;)", re.DOTALL
)
_BY_VALUES = re.compile(
    r"declare change engine_totals; begin for change in(?P<sums>\s+select .*) loop"
    rf"(?P<insert>{_INSERT}) values \([^)]*\)(?P<conflict>\s+on conflict .*?;) end loop;",
    re.DOTALL,
)


def upgrade() -> None:
    _rewrite(_FROM_ROWS, _by_values)


def downgrade() -> None:
    _rewrite(_BY_VALUES, r"begin\g<insert>\g<sums>\g<conflict>")


def _by_values(former: re.Match[str]) -> str:
    """Return the loop over the sums. A row of the totals takes them by their order."""
    names = (name.strip() for name in former["columns"].split(","))
    values = ", ".join(f"change.{name}" for name in names)
    return (
        f"declare change engine_totals; begin for change in{former['sums']} loop"
        f"{former['insert']} values ({values}){former['conflict']} end loop;"
    )


def _rewrite(pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str]) -> None:
    """Define anew the functions that count, with whatever columns they count."""
    for definition in op.get_bind().execute(sa.text(_FUNCTIONS)).scalars().all():
        text, count = pattern.subn(replacement, definition)
        assert count == 1, definition
        op.execute(text)
