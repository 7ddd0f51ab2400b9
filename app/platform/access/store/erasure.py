"""Erasure of a scope from keys. All functions take part in the caller's transaction."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select, update

from app.adapters.db.session import Session
from app.platform.access.store.repository import hold
from app.platform.access.store.tables import ApiKeyRow


async def list_bound(
    session: Session, scope: Mapping[str, str], *, for_update: bool
) -> Sequence[ApiKeyRow]:
    """Return the keys whose conditions allow a scope, working or not.

    With `for_update`, no other transaction can end keys until this one ends.
    """
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
