"""The fast statement that appends one event to a session.

The parts lock engine, request id and session in the order of the reference path, so neither path
can deadlock with the other, nor with the deletion of the session.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import and_, bindparam, exists, select, table, text, true

from app.adapters.db.hot_sql import Insertion, at_once, filled, text_of
from app.adapters.db.session import Database
from app.kernel.errors import Aborted
from app.kernel.names import SessionName
from app.platform.audit.store import EVENT
from app.platform.engines.store.repository import unchanged, version_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.store.idempotency import RECORD
from app.platform.sessions.logic.event_text import Step
from app.platform.sessions.store.append_batch import MOVES, At, is_live_by_id, moved
from app.platform.sessions.store.tables import SessionEventRow, SessionRow

# `bucket_of_user` in SQL: the first ten bits of the digest of the user's scope.
_BUCKET = """(
    'x' || left(encode(sha256(
        convert_to('{"user_id":' || to_json(user_id)::text || '}', 'UTF8')
    ), 'hex'), 4)
)::bit(16)::int >> 6"""
_EVENT = Insertion(
    "appended",
    SessionEventRow,
    "engine_id session_id seq event_id author invocation_id timestamp utc_offset content actions"
    " error_code error_message event_metadata raw_event exchange token_count size_bytes"
    " create_time",
    "session",
    computed={
        "seq": "last_seq",
        "exchange": "exchanges",
        # The number that was drawn has room for the bucket.
        "event_id": f"(%(appended_event_id)s::bigint + ({_BUCKET}))::text",
    },
)
# A session that has gone meanwhile must not leave the request id, or every retry would count as
# done: a second record of the request undoes the statement.
_AGAIN = replace(RECORD, source="request where not exists (select 1 from session)", ends="")


async def append(
    db: Database,
    engine: EngineRow,
    name: SessionName,
    step: Step,
    *,
    at: At,
    rows: Mapping[str, Mapping[str, Any]],
) -> bool:
    """Append an event that changes no state, with its audit event, in a new transaction.

    `rows` has their attributes under `appended` and `event`, and the record of a request id under
    `request`. Return False and change nothing if the engine has changed since it was read, the
    session does not exist for the caller or has its own policy and gets an answer, or the request
    was done before.
    """
    reach, values = db.reach(SessionRow, SessionRow.__tablename__)
    statement, fixed = _statement(step, reach, is_repeatable=RECORD.name in rows)
    places = {"session": name.session, "now": at.now, "shown": at.shown}
    values = fixed | values | places | version_of(engine)
    for part in (RECORD, _EVENT, EVENT):
        values |= part.values(rows[part.name]) if part.name in rows else {}
    try:
        return bool(await db.run(*filled(statement, values), is_change=True))
    except Aborted:
        # A taken id, or a session that has gone: the reference path decides.
        return False


@cache
def _statement(step: Step, reach: str, *, is_repeatable: bool) -> tuple[str, dict[str, Any]]:
    now = bindparam("now", type_=SessionRow.create_time.type)
    shown = bindparam("shown", type_=SessionRow.create_time.type)
    has_no_listener = SessionRow.memory_policy.is_(None) if step is Step.ANSWERS else true()
    is_it = and_(
        is_live_by_id(bindparam("engine"), bindparam("session"), now),
        has_no_listener,
        text("{reach}"),
    )
    existing, _ = text_of(select(SessionRow.session_id).where(is_it))
    is_new = exists().select_from(table(RECORD.name if is_repeatable else "engine"))
    updated, fixed = text_of(
        moved(MOVES[step], now, shown)
        .where(is_it, is_new)
        .returning(SessionRow.user_id, SessionRow.last_seq, SessionRow.exchanges)
    )
    parts = {"engine": unchanged(f"exists ({existing})".replace("{reach}", reach))}
    if is_repeatable:
        parts[RECORD.name] = RECORD.expression
    parts["session"] = updated.replace("{reach}", reach)
    parts[_EVENT.name] = _EVENT.expression
    parts[EVENT.name] = EVENT.after("session").expression
    if is_repeatable:
        parts["again"] = _AGAIN.expression
    return at_once(parts, "select 1 from session"), fixed
