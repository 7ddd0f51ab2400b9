"""The table of API keys."""

from datetime import datetime

from sqlalchemy import LargeBinary, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base


class ApiKeyRow(Base):
    """An API key. The key itself is never stored, only its SHA-256."""

    __tablename__ = "api_keys"

    key_id: Mapped[str] = mapped_column(Text, primary_key=True)
    display_name: Mapped[str] = mapped_column(Text)
    secret_hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    create_time: Mapped[datetime]
