"""Sets the times at which people set contents by hand before the former migration."""

from collections.abc import Sequence

from alembic import op

revision: str = "d5b8f3201000"
down_revision: str | None = "c4a7e21b0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_HOLD = """
    update memories as memory set held_time = least(held.create_time, memory.update_time)
    from (
        select distinct on (engine_id, memory_id) engine_id, memory_id, create_time, is_by_hand
        from (
            select engine_id, memory_id, version, create_time,
                author is null and extracted_memories = '[]' as is_by_hand,
                action in ('ROLLED_BACK', 'UNDELETED') or (
                    action = 'UPDATED' and lag(version) over history is not null
                    and (fact, structured_content) is distinct from
                        (lag(fact) over history, lag(structured_content) over history)
                ) as is_set
            from memory_revisions where action <> 'DELETED'
            window history as (partition by engine_id, memory_id order by version)
        ) as revision
        where is_set order by engine_id, memory_id, version desc
    ) as held
    where held.is_by_hand and memory.engine_id = held.engine_id
        and memory.memory_id = held.memory_id and memory.delete_time is null
        and memory.held_time is null and not memory.metadata ? 'event_time'
"""
"""Reads the time from the revisions that are kept.

A generation names its author, and what it extracted.
"""


def upgrade() -> None:
    op.execute(_HOLD)


def downgrade() -> None:
    """Leave the times: they are true for the former release, too."""
