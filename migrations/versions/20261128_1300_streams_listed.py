"""Lists the streams of an engine, latest arrival first."""

from collections.abc import Sequence

from alembic import op

revision: str = "a3d8e4f61300"
down_revision: str | None = "a3c7d2e51200"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_streams_list",
        "streams",
        ["engine_id", "last_arrival_time", "scope_hash", "stream_id"],
    )


def downgrade() -> None:
    op.drop_index("ix_streams_list", "streams")
