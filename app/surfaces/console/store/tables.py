"""The table of the console's sessions."""

from datetime import datetime

from sqlalchemy import Index, LargeBinary, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class ConsoleSessionRow(Base):
    """A session of the console, without the cookie's value and the secret of its key."""

    __tablename__ = "console_sessions"
    __table_args__ = (
        Index("ix_console_sessions_key_id", "key_id"),
        Index("ix_console_sessions_end_time", "end_time"),
    )

    session_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    """The SHA-256 of the cookie's value."""
    key_id: Mapped[str] = mapped_column(Text)
    """The API key, or `jwt:` and the subject of a token."""
    secret_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The SHA-256 of the key's secret, used to look up the key; null for a token."""
    grants: Mapped[dict[str, list[str] | dict[str, list[str]] | None] | None] = mapped_column(
        JSONB(none_as_null=True)
    )
    """The permissions and the reach of a token; null for a key, which is looked up each time."""
    create_time: Mapped[datetime]
    last_use_time: Mapped[datetime]
    end_time: Mapped[datetime]
    address: Mapped[str | None] = mapped_column(Text)
    """The IP address of the sign-in."""
    spent_forms: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    """The ids of forms that created a secret; sent again, such a form creates no second secret."""
