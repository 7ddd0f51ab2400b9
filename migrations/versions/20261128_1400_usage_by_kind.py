"""Sums up the usage of models by the kind of work, too."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9f6d1b81400"
down_revision: str | None = "a3d8e4f61300"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_KEY = ["engine_id", "day", "model_id"]


def upgrade() -> None:
    kind = sa.Column("kind", sa.Text(), nullable=False, server_default="unknown")
    op.add_column("model_usage", kind)
    # What is written from now on names its kind.
    op.alter_column("model_usage", "kind", server_default=None)
    op.drop_constraint("pk_model_usage", "model_usage")
    op.create_primary_key("pk_model_usage", "model_usage", [*_KEY, "kind"])


def downgrade() -> None:
    op.drop_constraint("pk_model_usage", "model_usage")
    op.execute(
        """
        create temporary table summed on commit drop as
        select engine_id, day, model_id, sum(calls) as calls, sum(input_tokens) as input_tokens,
            sum(output_tokens) as output_tokens, sum(milliseconds) as milliseconds,
            case when bool_and(cost is not null) then sum(cost) end as cost
        from model_usage group by engine_id, day, model_id
        """
    )
    op.execute("delete from model_usage")
    op.drop_column("model_usage", "kind")
    op.execute(
        """
        insert into model_usage
            (engine_id, day, model_id, calls, input_tokens, output_tokens, milliseconds, cost)
        select engine_id, day, model_id, calls, input_tokens, output_tokens, milliseconds, cost
        from summed
        """
    )
    op.create_primary_key("pk_model_usage", "model_usage", _KEY)
