"""API keys, and the secrets that stand for them."""

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Index, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base

_TEXTS = JSONB(none_as_null=True)


class ApiKeyRow(Base):
    """An API key: what its holder may do and reach. Only its times ever change."""

    __tablename__ = "api_keys"
    __table_args__ = (Index("ix_api_keys_create_time", "create_time", "key_id"),)

    key_id: Mapped[str] = mapped_column(Text, primary_key=True)
    display_name: Mapped[str] = mapped_column(Text)
    roles: Mapped[list[str]] = mapped_column(_TEXTS)
    permissions: Mapped[list[str]] = mapped_column(_TEXTS)
    """Those that it has beside those of its roles."""
    projects: Mapped[list[str] | None] = mapped_column(_TEXTS)
    engines: Mapped[list[str] | None] = mapped_column(_TEXTS)
    """Ids; null, as for `projects`, is all."""
    scope_conditions: Mapped[dict[str, list[str]] | None] = mapped_column(_TEXTS)
    """By key of a scope, the values that it may have."""
    creator: Mapped[str | None] = mapped_column(Text)
    """The key that made it, `jwt:` and the subject of a token, or `command-line`.

    Null for what a start of the service made.
    """
    create_time: Mapped[datetime]
    expire_time: Mapped[datetime | None]
    revoke_time: Mapped[datetime | None]
    last_use_time: Mapped[datetime | None]


class ApiKeySecretRow(Base):
    """A secret of a key, by its SHA-256: it is itself stored nowhere.

    Rotation adds one and lets the others expire. They stay, so that one that was rotated away is
    known for that, even where the settings still name it.
    """

    __tablename__ = "api_key_secrets"
    __table_args__ = (
        Index(
            "ix_api_key_secrets_own_shape",
            "secret_hash",
            postgresql_where=text("not is_minted"),
        ),
    )

    secret_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    key_id: Mapped[str] = mapped_column(
        ForeignKey("api_keys.key_id", ondelete="CASCADE"), index=True
    )
    is_minted: Mapped[bool] = mapped_column(Boolean)
    """Whether it was made here, with a check sum; those few that were not are known by heart."""
    is_configured: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    """Whether it is, or was, the administrator's key of the settings."""
    create_time: Mapped[datetime]
    expire_time: Mapped[datetime | None]


class ApiKeyChangesRow(Base):
    """The one row that says whether keys have changed: a trigger writes it.

    See the migration `tenants`.
    """

    __tablename__ = "api_key_changes"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int]
    """The transaction that has ended a key last, or made one of another shape work."""
