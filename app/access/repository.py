"""Every statement on API keys. All functions take part in the caller's transaction."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from app.access.tables import ApiKeyRow
from app.core.ids import new_id
from app.db.session import Session


async def find_by_hash(session: Session, secret_hash: bytes) -> ApiKeyRow | None:
    """Return the key with this SHA-256, by its unique index."""
    statement = select(ApiKeyRow).where(ApiKeyRow.secret_hash == secret_hash)
    return (await session.execute(statement)).scalar_one_or_none()


async def exists(session: Session) -> bool:
    """Say whether there is any key."""
    return (await session.execute(select(ApiKeyRow.key_id).limit(1))).first() is not None


async def remove_others(session: Session, display_name: str, secret_hash: bytes) -> None:
    """Remove the keys of this name, but for the one with this SHA-256."""
    await session.execute(
        delete(ApiKeyRow).where(
            ApiKeyRow.display_name == display_name, ApiKeyRow.secret_hash != secret_hash
        )
    )


async def insert_once(
    session: Session, display_name: str, secret_hash: bytes, now: datetime
) -> bool:
    """Insert a key unless it is there; return whether it was inserted."""
    statement = (
        insert(ApiKeyRow)
        .values(
            key_id=str(new_id(now)),
            display_name=display_name,
            secret_hash=secret_hash,
            create_time=now,
        )
        .on_conflict_do_nothing()
        .returning(ApiKeyRow.key_id)
    )
    return (await session.execute(statement)).first() is not None
