"""The tables of API keys and their secrets, every statement on them, and erasure from them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    ForeignKey,
    Index,
    LargeBinary,
    Select,
    Text,
    any_,
    func,
    literal,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, array, insert
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base
from app.adapters.db.bulk import insert_drawn_row
from app.adapters.db.filter_fields import TextField
from app.adapters.db.lists import List
from app.adapters.db.resource_fields import ScopesField
from app.adapters.db.session import Session
from app.kernel.errors import NotFound
from app.kernel.permissions import OF_ROLE, Permission

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

    Rotation keeps the rows of former secrets: they must be recognised, even in the settings.
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
    """The single row with the version of the keys; a trigger of migration `tenants` writes it."""

    __tablename__ = "api_key_changes"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int]
    """The last transaction that ended a key or activated one of another shape."""


# Any constant will do if nothing else in the service uses it.
_LOCK = 7_260_110_422
_MANAGERS = [role.value for role, held in OF_ROLE.items() if Permission.KEYS_MANAGE in held]


class KeyHit(NamedTuple):
    """A key with one of its secrets."""

    key: ApiKeyRow
    secret_hash: bytes
    expire_time: datetime | None
    """The expiry of the secret."""


async def find_by_hashes(session: Session, hashes: Sequence[bytes]) -> Sequence[KeyHit]:
    """Return the keys of secrets with these SHA-256, expired or not, without revoked keys."""
    asked = literal(hashes, ARRAY(LargeBinary))
    statement = (
        select(ApiKeyRow, ApiKeySecretRow.secret_hash, ApiKeySecretRow.expire_time)
        .join(ApiKeySecretRow, ApiKeySecretRow.key_id == ApiKeyRow.key_id)
        .where(ApiKeySecretRow.secret_hash == any_(asked), ApiKeyRow.revoke_time.is_(None))
    )
    return [KeyHit(*row) for row in (await session.execute(statement)).all()]


async def find_version(session: Session) -> int | None:
    """Return a number that changes when a key ends or one of another shape starts; None: never."""
    return (await session.execute(select(ApiKeyChangesRow.version))).scalar_one_or_none()


async def list_own_shape(session: Session) -> Collection[bytes]:
    """Return the SHA-256 of the secrets not generated here, read from their index."""
    statement = select(ApiKeySecretRow.secret_hash).where(~ApiKeySecretRow.is_minted)
    return frozenset((await session.execute(statement)).scalars())


async def exists(session: Session) -> bool:
    """Return True if any key exists, in any state."""
    return (await session.execute(select(ApiKeyRow.key_id).limit(1))).first() is not None


async def hold(session: Session) -> None:
    """Lock all keys for this transaction, which ends keys, waiting for any other holder.

    The end depends on which other keys exist, and writes the single row of changes. Without this
    lock, two transactions that hold key locks could deadlock on it.
    """
    await session.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


async def get(session: Session, key_id: str, *, for_update: bool = False) -> ApiKeyRow:
    """Return a key in any state, or raise NotFound."""
    statement = select(ApiKeyRow).where(ApiKeyRow.key_id == key_id)
    if for_update:
        statement = statement.with_for_update(key_share=True)
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is None:
        raise NotFound.of(f"keys/{key_id}")
    return row


KEYS = List(
    "keys",
    (ApiKeyRow.create_time, ApiKeyRow.key_id),
    is_descending=True,
    fields={
        "key_id": TextField(ApiKeyRow.key_id),
        "scope_conditions": ScopesField(ApiKeyRow.scope_conditions),
    },
)


def select_keys() -> Select[ApiKeyRow]:
    """Select the keys in any state."""
    return select(ApiKeyRow)


async def insert_key(session: Session, values: Mapping[str, Any]) -> ApiKeyRow:
    """Insert a key under a drawn id."""
    return await insert_drawn_row(ApiKeyRow, session, values, "key_id")


async def insert_secret(session: Session, values: Mapping[str, Any]) -> None:
    """Insert a secret of a key."""
    await session.execute(insert(ApiKeySecretRow).values(dict(values)))


async def find_secret(session: Session, secret_hash: bytes) -> ApiKeySecretRow | None:
    """Return a secret, current or expired."""
    statement = select(ApiKeySecretRow).where(ApiKeySecretRow.secret_hash == secret_hash)
    return (await session.execute(statement)).scalar_one_or_none()


async def expire_secrets(session: Session, key_id: str, at: datetime) -> None:
    """Set the expiry of a key's secrets; secrets that expire earlier are unchanged."""
    await session.execute(
        update(ApiKeySecretRow)
        .where(ApiKeySecretRow.key_id == key_id, _is_live(ApiKeySecretRow.expire_time, at))
        .values(expire_time=at)
        .execution_options(synchronize_session=False)
    )


async def revoke(session: Session, key_id: str, now: datetime) -> ApiKeyRow:
    """Revoke a key that the caller has locked."""
    statement = (
        update(ApiKeyRow)
        .where(ApiKeyRow.key_id == key_id)
        .values(revoke_time=now)
        .returning(ApiKeyRow)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return (await session.execute(statement)).scalar_one()


async def retire_configured(session: Session, now: datetime) -> Sequence[str]:
    """Expire the secrets from the settings; revoke keys left without one, and return their ids."""
    retired = await session.execute(
        update(ApiKeySecretRow)
        .where(ApiKeySecretRow.is_configured, _is_live(ApiKeySecretRow.expire_time, now))
        .values(expire_time=now)
        .returning(ApiKeySecretRow.key_id)
        .execution_options(synchronize_session=False)
    )
    revoked = await session.execute(
        update(ApiKeyRow)
        .where(
            ApiKeyRow.key_id.in_(retired.scalars().all()),
            ApiKeyRow.revoke_time.is_(None),
            ~_has_secret(now),
        )
        .values(revoke_time=now)
        .returning(ApiKeyRow.key_id)
        .execution_options(synchronize_session=False)
    )
    return revoked.scalars().all()


async def list_managers(session: Session, now: datetime, limit: int) -> Sequence[str]:
    """Return the ids of up to `limit` working keys that can manage keys."""
    statement = select(ApiKeyRow.key_id).where(*_is_manager(now)).limit(limit)
    return (await session.execute(statement)).scalars().all()


async def has_used_manager(session: Session, now: datetime) -> bool:
    """Return True if a request has used one of the working keys that can manage keys."""
    statement = (
        select(ApiKeyRow.key_id)
        .where(*_is_manager(now), ApiKeyRow.last_use_time.is_not(None))
        .limit(1)
    )
    return (await session.execute(statement)).first() is not None


def _is_manager(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        ApiKeyRow.revoke_time.is_(None),
        _is_live(ApiKeyRow.expire_time, now),
        _has_secret(now),
        or_(
            ApiKeyRow.roles.has_any(array(_MANAGERS)),
            ApiKeyRow.permissions.contains([Permission.KEYS_MANAGE.value]),
        ),
        ApiKeyRow.projects.is_(None),
        ApiKeyRow.engines.is_(None),
        ApiKeyRow.scope_conditions.is_(None),
    )


async def note_uses(session: Session, key_ids: Collection[str], now: datetime) -> None:
    """Store the last use of keys, except locked ones: the statement waits for no lock."""
    free = (
        select(ApiKeyRow.key_id)
        .where(ApiKeyRow.key_id.in_(key_ids))
        .with_for_update(skip_locked=True, key_share=True)
        .cte("free")
    )
    await session.execute(
        update(ApiKeyRow)
        .where(ApiKeyRow.key_id.in_(select(free)))
        .values(last_use_time=now)
        .execution_options(synchronize_session=False)
    )


def _has_secret(now: datetime) -> ColumnElement[bool]:
    return (
        select(literal(1))
        .select_from(ApiKeySecretRow)
        .where(
            ApiKeySecretRow.key_id == ApiKeyRow.key_id, _is_live(ApiKeySecretRow.expire_time, now)
        )
        .exists()
    )


def _is_live(expire_time: Any, now: datetime) -> ColumnElement[bool]:  # noqa: ANN401 - a column
    return or_(expire_time.is_(None), expire_time > now)


async def list_bound(
    session: Session, scope: Mapping[str, str], *, for_update: bool
) -> Sequence[ApiKeyRow]:
    """Return the keys whose conditions allow a scope; with `for_update`, no other may end keys."""
    if for_update:
        await hold(session)
    conditions = (
        ApiKeyRow.scope_conditions.contains({key: [value]}) for key, value in scope.items()
    )
    statement = select(ApiKeyRow).where(*conditions).order_by(ApiKeyRow.key_id)
    return (await session.execute(statement)).scalars().all()


async def list_conditions(session: Session) -> Sequence[Mapping[str, list[str]]]:
    """Return the scope conditions of each key that has any."""
    statement = select(ApiKeyRow.scope_conditions).where(ApiKeyRow.scope_conditions.is_not(None))
    listed = (await session.execute(statement)).scalars()
    return [conditions for conditions in listed if conditions]


async def end(
    session: Session, key: ApiKeyRow, alias: str, conditions: Mapping[str, list[str]], now: datetime
) -> None:
    """Revoke a key that was read for update; replace its display name and its conditions."""
    await session.execute(
        update(ApiKeyRow)
        .where(ApiKeyRow.key_id == key.key_id)
        .values(
            display_name=alias,
            scope_conditions=dict(conditions),
            revoke_time=func.coalesce(ApiKeyRow.revoke_time, now),
        )
        .execution_options(synchronize_session=False)
    )


async def narrow(session: Session, key: ApiKeyRow, conditions: Mapping[str, list[str]]) -> None:
    """Replace the conditions of a key that was read for update by narrower ones."""
    await session.execute(
        update(ApiKeyRow)
        .where(ApiKeyRow.key_id == key.key_id)
        .values(scope_conditions=dict(conditions))
        .execution_options(synchronize_session=False)
    )


async def rename_creators(session: Session, creators: Collection[str], alias: str) -> None:
    """Replace some creators of keys with an alias."""
    await session.execute(
        update(ApiKeyRow)
        .where(ApiKeyRow.creator.in_(creators))
        .values(creator=alias)
        .execution_options(synchronize_session=False)
    )
