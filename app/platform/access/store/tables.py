"""The tables of API keys and their secrets."""

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Index, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base

_TEXTS = JSONB(none_as_null=True)


class ApiKeyRow(Base):
    """An API key with its permissions and its reach. Only its times ever change."""

    __tablename__ = "api_keys"
    __table_args__ = (Index("ix_api_keys_create_time", "create_time", "key_id"),)

    key_id: Mapped[str] = mapped_column(Text, primary_key=True)
    display_name: Mapped[str] = mapped_column(Text)
    roles: Mapped[list[str]] = mapped_column(_TEXTS)
    permissions: Mapped[list[str]] = mapped_column(_TEXTS)
    """Permissions that the roles do not include."""
    projects: Mapped[list[str] | None] = mapped_column(_TEXTS)
    engines: Mapped[list[str] | None] = mapped_column(_TEXTS)
    """Ids; null means all, as for `projects`."""
    scope_conditions: Mapped[dict[str, list[str]] | None] = mapped_column(_TEXTS)
    """For each scope key, the allowed values."""
    creator: Mapped[str | None] = mapped_column(Text)
    """The creating key, `jwt:` and the subject of a token, or `command-line`.

    Null for keys created when the service starts.
    """
    create_time: Mapped[datetime]
    expire_time: Mapped[datetime | None]
    revoke_time: Mapped[datetime | None]
    last_use_time: Mapped[datetime | None]


class ApiKeySecretRow(Base):
    """A secret of a key, stored only as its SHA-256.

    Rotation adds a secret and sets an expiry on the others. Their rows stay: a rotated secret must
    be recognised, even if the settings name it.
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
    """True if generated here, with a checksum; the few others are cached in memory."""
    is_configured: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    """True if it is or was the administrator's key of the settings."""
    create_time: Mapped[datetime]
    expire_time: Mapped[datetime | None]


class ApiKeyChangesRow(Base):
    """The single row with the version of the keys, written by a trigger.

    See the migration `tenants`.
    """

    __tablename__ = "api_key_changes"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int]
    """The last transaction that ended a key or activated one of another shape."""
