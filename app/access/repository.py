"""Every statement on API keys. All functions take part in the caller's transaction."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert

from app.access.tables import ApiKeyRow, ApiKeySecretRow
from app.core.ids import new_id
from app.db.session import Session


async def find_by_hash(session: Session, secret_hash: bytes, now: datetime) -> ApiKeyRow | None:
    """Return the key that a secret with this SHA-256 stands for now, by its index."""
    statement = (
        select(ApiKeyRow)
        .join(ApiKeySecretRow, ApiKeySecretRow.key_id == ApiKeyRow.key_id)
        .where(
            ApiKeySecretRow.secret_hash == secret_hash,
            ApiKeySecretRow.expire_time.is_(None) | (ApiKeySecretRow.expire_time > now),
            ApiKeyRow.expire_time.is_(None) | (ApiKeyRow.expire_time > now),
            ApiKeyRow.revoke_time.is_(None),
        )
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def exists(session: Session) -> bool:
    """Say whether there is any key."""
    return (await session.execute(select(ApiKeyRow.key_id).limit(1))).first() is not None


async def insert_key(session: Session, display_name: str, now: datetime) -> str:
    """Insert a key that may do everything; return its id."""
    key_id = str(new_id(now))
    values = {
        "key_id": key_id,
        "display_name": display_name,
        "roles": ["admin"],
        "permissions": [],
        "create_time": now,
    }
    await session.execute(insert(ApiKeyRow).values(values))
    return key_id


async def insert_secret(
    session: Session, key_id: str, secret_hash: bytes, now: datetime, *, is_minted: bool
) -> None:
    """Let a secret stand for a key."""
    values = {
        "secret_hash": secret_hash,
        "key_id": key_id,
        "is_minted": is_minted,
        "create_time": now,
    }
    await session.execute(insert(ApiKeySecretRow).values(values))


async def secret_is_known(session: Session, secret_hash: bytes) -> bool:
    """Say whether a secret stands for a key, or has done so."""
    statement = select(ApiKeySecretRow.key_id).where(ApiKeySecretRow.secret_hash == secret_hash)
    return (await session.execute(statement)).first() is not None


async def revoke_named(session: Session, display_name: str, now: datetime) -> None:
    """Revoke the keys of this name."""
    await session.execute(
        update(ApiKeyRow)
        .where(ApiKeyRow.display_name == display_name, ApiKeyRow.revoke_time.is_(None))
        .values(revoke_time=now)
    )
