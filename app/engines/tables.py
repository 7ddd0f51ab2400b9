"""The table of engines."""

from datetime import datetime

from sqlalchemy import Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, JsonObject


class EngineRow(Base):
    """An engine. `delete_time` hides it at once, while an operation removes its children."""

    __tablename__ = "engines"
    __table_args__ = (Index("ix_engines_location", "project", "location", "create_time"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    project: Mapped[str] = mapped_column(Text)
    location: Mapped[str] = mapped_column(Text)
    display_name: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    labels: Mapped[JsonObject] = mapped_column(server_default=text("'{}'"))
    bank_config: Mapped[JsonObject | None]
    encryption_spec: Mapped[JsonObject | None]
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
    delete_time: Mapped[datetime | None]
