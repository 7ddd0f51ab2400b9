"""The table of large scopes that have their own indexes."""

from datetime import datetime

from sqlalchemy import Boolean, Integer, LargeBinary, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class ScopeIndexRow(Base):
    """The indexes of a large scope: one of the vectors of a model, and one of words.

    Their names follow from the key. The row exists before the indexes are built and until they are
    dropped. If it is out of date, searches are slower.
    """

    __tablename__ = "scope_indexes"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    model_id: Mapped[str] = mapped_column(Text, primary_key=True)
    dimensions: Mapped[int] = mapped_column(Integer)
    """Length of the vectors."""
    memories: Mapped[int]
    """Number of memories at the sweep's last count."""
    is_ready: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    """True if searches use the index."""
    lease_until: Mapped[datetime | None]
    """End of a worker's lease, by the clock of the database."""
