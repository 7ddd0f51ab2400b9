"""Makes the key of pseudonyms, so each backup has it: the list of erasures is applied by it."""

import secrets
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b2a1c4e51200"
down_revision: str | None = "a9f3c8d41100"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_KEY_BYTES = 32
_INSERT = sa.text(
    "insert into pseudonym_keys (id, key) values (1, :key) on conflict (id) do nothing"
)


def upgrade() -> None:
    op.get_bind().execute(_INSERT, {"key": secrets.token_bytes(_KEY_BYTES)})


def downgrade() -> None:
    """Keep the key: erasures of then have pseudonyms that were made with it."""
