"""Settings for one transaction, such as the time limit of statements."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from app.adapters.db.errors import state_of
from app.kernel.errors import InvalidArgument

_TOO_SLOW = "57014"
_ADVICE = {
    "filter": "the filter takes too long; use a simpler one, or add a comparison of create_time"
    " where that is a field.",
    "text": "takes too long to find; give the whole id or the full name of a resource.",
}
_TOO_MANY = "too many entries must be looked at; narrow the list by this field."


@asynccontextmanager
async def limited(
    session: AsyncSession, seconds: float | None, field: str = "filter"
) -> AsyncIterator[None]:
    """Limit the time of each statement in the block, if a limit is given.

    It is for filters with a cost that depends on the caller's text, and for lists that must read
    rows which the conditions of a key then exclude. The statements must not wait for locks, since a
    timeout caused by another transaction's lock is not the caller's error.

    Raises:
        InvalidArgument: a statement took longer; the error names `field`.
    """
    if seconds is None:
        yield
        return
    before = (await session.execute(text("select current_setting('statement_timeout')"))).scalar()
    await set_local(session, {"statement_timeout": round(seconds * 1000)})
    try:
        yield
    except DBAPIError as error:
        if state_of(error.orig) != _TOO_SLOW:
            raise
        raise InvalidArgument.of_field(field, _ADVICE.get(field, _TOO_MANY)) from error
    await set_local(session, {"statement_timeout": str(before)})


async def set_local(session: AsyncSession, settings: Mapping[str, str | int]) -> None:
    """Apply settings for the rest of the transaction, in one round trip.

    Not by `set_config`, which a distributed database does not propagate to its nodes. Values must
    be the service's or the server's, never a caller's text.
    """
    connection = await session.connection()
    parts = (f"set local {name} = '{value}'" for name, value in settings.items())
    await connection.exec_driver_sql("; ".join(parts))
