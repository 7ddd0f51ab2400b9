"""The table of the lines that generations have read."""

from datetime import datetime

from sqlalchemy import Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.adapters.db.conditions import ByScope


class ReadLineRow(Base):
    """A user's line that a generation of a scope has read."""

    __tablename__ = "read_lines"
    conditioned_by = ByScope()
    __table_args__ = (Index("ix_read_lines_expire_time", "expire_time"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    scope: Mapped[JsonObject]
    expire_time: Mapped[datetime]
