"""Which large scopes have an index of their own."""

from datetime import datetime

from sqlalchemy import Boolean, Integer, LargeBinary, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class ScopeIndexRow(Base):
    """The indexes of a large scope: of the vectors of one model, and of words.

    Their names follow from the key. It is there before the indexes, and until after them. What it
    says may be out of date: then searches are slower.
    """

    __tablename__ = "scope_indexes"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    model_id: Mapped[str] = mapped_column(Text, primary_key=True)
    dimensions: Mapped[int] = mapped_column(Integer)
    """Of the vectors."""
    memories: Mapped[int]
    """How many there were when the sweep looked last."""
    is_ready: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    """Whether searches use it."""
    lease_until: Mapped[datetime | None]
    """Until when nobody else works at it, by the clock of the database."""
