"""Adds the words of scripts without blanks: bigrams, in a column of memories and one of chunks.

The worker computes them for the rows that have such scripts, in batches, as it computes missing
search hints. Hints of facts with format characters, variation selectors or vowel signs are computed
again, since their comparison form has changed. No table is rewritten.

From the first dropped index to the end of the transaction, memories can be neither read nor
written; chunks of task memory from their column on.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision: str = "b6d2f41c0900"
down_revision: str | None = "d5b8f3201000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_SIGN = (
    r"[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf"
    r"\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"
    r"\u1780-\u17d3\u17d7\u17dc\u17dd"
    r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"
    r"\u3031-\u3035\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    r"\uff66-\uff9f\u3105-\u312f\u31a0-\u31bf"
    r"\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)
_FOLDED_DIFFERENTLY = (
    # Format characters, and selectors of a variant of the sign before them.
    r"[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    r"\U000e0020-\U000e007f\U000e0100-\U000e01ef"
    # Scripts with vowel signs, other than those above.
    r"\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711-\u0dff"
    r"\u0f18-\u0fff\u135d-\u135f\u1712-\u177f\u1800-\u1dff\ua66f-\ua95f\ua980-\uabff]"
)
_KEYS = {"memories": ["engine_id", "memory_id"], "task_chunks": ["engine_id", "content_id", "n"]}
_LACKING = {
    "memories": f"cues is null or grams is null and fact ~ '{_SIGN}'",
    "task_chunks": f"grams is null and text ~ '{_SIGN}'",
}
_INDEXES = {"memories": "ix_memories_without_hints", "task_chunks": "ix_task_chunks_without_grams"}
_FORMER = "ix_memories_without_cues"


def upgrade() -> None:
    op.execute(f"update memories set cues = null where fact ~ '{_FOLDED_DIFFERENTLY}'")  # noqa: S608 - of constants
    op.drop_index(_FORMER, "memories")
    for table, index in _INDEXES.items():
        op.add_column(table, sa.Column("grams", pg.TSVECTOR(), nullable=True))
        op.create_index(index, table, _KEYS[table], postgresql_where=sa.text(_LACKING[table]))


def downgrade() -> None:
    for table, index in _INDEXES.items():
        op.drop_index(index, table)
        op.drop_column(table, "grams")
    op.create_index(
        _FORMER, "memories", _KEYS["memories"], postgresql_where=sa.text("cues is null")
    )
