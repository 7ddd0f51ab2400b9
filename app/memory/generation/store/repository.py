"""All SQL statements about the lines that generations have read, and the one that queues them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select

from app.adapters.db.bulk import Conflict, insert_rows
from app.adapters.db.clock import database_time
from app.adapters.db.hot_sql import at_once, filled
from app.adapters.db.session import Database, Session
from app.adapters.db.spread import Key, RowSearch, find_keys, remove_found
from app.adapters.db.subjects import RowsOf
from app.kernel.errors import Aborted
from app.kernel.ids import scope_hash
from app.memory.generation.store.tables import ReadLineRow
from app.platform.audit.store import EVENT
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import unchanged, version_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.store.idempotency import RECORD
from app.platform.operations.store.leases import WAITING
from app.platform.operations.store.repository import PENDING
from app.platform.operations.store.waking import CHANNEL

_KEY = (ReadLineRow.engine_id, ReadLineRow.scope_hash, ReadLineRow.digest)
_KNOWN = """
select r.digest, r.expire_time
from read_lines r
where r.engine_id = %(engine)s and r.scope_hash = %(scope)s
    and r.digest = any(%(digests)s::bytea[]) and r.expire_time > %(now)s and {reach}
"""
# A request id comes first, as in the reference path: it is taken together with its operation.
_PARTS = (PENDING.after("engine"), EVENT.after(PENDING.name))
_WAKE = f"select pg_notify('{CHANNEL}', '') from {PENDING.name}"  # noqa: S608 - of constants
_PARTS_ONCE = (RECORD, PENDING.after(RECORD.name), _PARTS[1])
_LIVES_ON = Conflict(("engine_id", "scope_hash", "digest"), ("expire_time",))
ERASURES = (RowsOf(ReadLineRow).erasure(),)
"""Erasure of the rows that belong to a scope."""


async def find_known(
    db: Database,
    engine_id: int,
    scope: Mapping[str, str],
    digests: Collection[bytes],
    now: datetime,
) -> dict[bytes, datetime]:
    """Return the given digests that are stored, with their expiry times."""
    # A hot statement, in a transaction of its own: each generation asks it.
    if not digests:
        return {}
    reach, reach_values = db.reach(ReadLineRow, "r")
    values = {
        "engine": engine_id,
        "scope": scope_hash(scope),
        "digests": list(digests),
        "now": now,
    }
    rows = await db.run(*filled(_KNOWN.format(reach=reach), values | reach_values))
    return dict(rows)


async def queue(
    db: Database, engine: EngineRow, rows: Mapping[str, Mapping[str, Any]], most: int | None
) -> bool:
    """Queue an operation that is due, with its audit event, in a new transaction; wake the workers.

    `rows` has the attributes of `operation`, `event` and, with a request id, `request`. Return
    False and change nothing if the engine has changed since it was read, `most` operations of the
    engine wait, or the request was done before.
    """
    parts = _PARTS_ONCE if RECORD.name in rows else _PARTS
    values = version_of(engine) | {"most": most}
    for part in parts:
        values |= part.values(rows[part.name])
    has_room = "true" if most is None else f"({WAITING}) < %(most)s"
    expressions = {part.name: part.expression for part in parts}
    statement = at_once({"engine": unchanged(has_room), **expressions}, _WAKE)
    try:
        return bool(await db.run(*filled(statement, values), is_change=True))
    except Aborted:
        # A taken id; the reference path draws another.
        return False


async def keep(
    session: Session,
    engine_id: int,
    scope: Mapping[str, str],
    lines: Mapping[bytes, datetime],
) -> None:
    """Store the digests of lines with their expiry times; known digests get the new time."""
    digest = scope_hash(scope)
    # Sorted, so that two generations of a scope cannot deadlock.
    rows = [
        {
            "engine_id": engine_id,
            "scope_hash": digest,
            "digest": line,
            "scope": dict(scope),
            "expire_time": lines[line],
        }
        for line in sorted(lines)
    ]
    await insert_rows(ReadLineRow, session, rows, _LIVES_ON)


async def find_expired(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find expired lines of all engines, for a sweep."""
    statement = (
        select(*_KEY)
        .where(
            ReadLineRow.expire_time <= database_time(session),
            engines.is_settled(ReadLineRow.engine_id),
        )
        .order_by(ReadLineRow.expire_time)
    )
    return await find_keys(session, search.bounded(statement, _KEY))


async def remove_expired(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Remove expired lines of an engine; return the count."""
    is_expired = ReadLineRow.expire_time <= database_time(session)
    settled = engines.is_engine_settled(engine_id)
    return await remove_found(ReadLineRow, _KEY, session, engine_id, keys, is_expired, settled)


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` lines of an engine; return the count."""
    some = (
        select(ReadLineRow.scope_hash, ReadLineRow.digest)
        .where(ReadLineRow.engine_id == engine_id)
        .limit(limit)
        .cte("some")
    )
    statement = (
        delete(ReadLineRow)
        .where(
            ReadLineRow.engine_id == engine_id,
            ReadLineRow.scope_hash == some.c.scope_hash,
            ReadLineRow.digest == some.c.digest,
        )
        .returning(ReadLineRow.engine_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
