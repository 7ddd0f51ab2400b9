"""Database errors: their classification, the answers to callers, and the log entries."""

import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType, TracebackType

import psycopg
import structlog
from prometheus_client import Counter
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.adapters.logs import RareLines
from app.kernel.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    Reason,
    ServiceError,
    Unavailable,
)

log = structlog.get_logger()

_ERRORS = Counter(
    "memory_bank_database_errors_total",
    "Database errors by SQLSTATE; `pool`: no connection was free in time.",
    ["sqlstate"],
)
_POOL = "pool"
_LOST = "08000"
_NO_ROOM = "53100"
_TOO_MANY_CONNECTIONS = "53300"
_UNKNOWN_USER = "28000"
_WRONG_PASSWORD = "28P01"  # noqa: S105 - a state, not a secret
_UNKNOWN_DATABASE = "3D000"
_READ_ONLY = "25006"
_STARTING = "57P03"
_PROTOCOL = "08P01"
_TOO_SLOW = "57014"
_BAD_REGEX = "2201B"
_NOT_SUPPORTED = "0A000"
_UNFORESEEN = "XX000"
_BEING_ERASED = "OMB01"
"""The state of our own trigger; see the migration `erasures`."""
# A transaction that took too long may have been overtaken by a switch of models.
_TAKEN = "23505"
_CONFLICTS = frozenset({"40001", "40P01", "55P03", "25P04", _TAKEN})
# Connection trouble, shutdown, lack of space, failing disks, idle time-outs and a failover's
# read-only phase are transient. So are faults that an operator has to fix, once they are fixed.
_AWAY_PREFIXES = ("08", "28", "3D", "57P", "53", "58", "25P03", _READ_ONLY)
_UNREACHED_PREFIXES = ("08", "57P")
_QUOTABLE = ("08", "0A", "25", "28", "3D", "53", "57", "58", "F0", "XX")
"""Classes of errors whose messages concern the server and quote no values."""

# A refused connection has no state: the driver only has the server's message. A message in
# another language than English is reported as an unreachable server.
_REFUSALS = (
    (
        re.compile(r"too many (clients|connections)|connection slots are reserved"),
        _TOO_MANY_CONNECTIONS,
    ),
    (re.compile(r"password authentication failed|no password supplied"), _WRONG_PASSWORD),
    (re.compile(r'role ".*" does not exist|no such user|not permitted to log in'), _UNKNOWN_USER),
    (re.compile(r"no pg_hba\.conf entry|[Aa]uthentication failed"), _UNKNOWN_USER),
    (re.compile(r'database ".*" does not exist|no such database'), _UNKNOWN_DATABASE),
    (re.compile(r"the database system is"), _STARTING),
    (re.compile(r"unsupported startup parameter"), _PROTOCOL),
)
_MESSAGES = {
    _NO_ROOM: "The database has no room for writes at the moment.",
    _TOO_MANY_CONNECTIONS: "The database accepts no more connections at the moment.",
    _UNKNOWN_USER: "The database refuses the user of this service.",
    _WRONG_PASSWORD: "The database refuses the password of this service.",
    _UNKNOWN_DATABASE: "The database of this service does not exist on its server.",
    _READ_ONLY: "The database is read-only at the moment.",
    _NOT_SUPPORTED: "The database is read-only at the moment.",
    _UNFORESEEN: "The engine has just moved within the database.",
    _STARTING: "The database is starting or stopping at the moment.",
    _POOL: "All connections to the database are in use at the moment.",
}
_AWAY = "The database cannot be reached at the moment."
_RETRY_SECONDS = 1.0
_STANDBY_SECONDS = 1.0
"""Time for which a server counts as a standby or not; each look takes a connection."""


def state_of(error: BaseException | None) -> str | None:
    """Return the SQLSTATE of a driver's error, also for a connection that could not be opened."""
    state: str | None = getattr(error, "sqlstate", None)
    if state is not None or not isinstance(
        error, psycopg.OperationalError | psycopg.InterfaceError
    ):
        return state
    message = str(error)
    return next((state for words, state in _REFUSALS if words.search(message)), _LOST)


def is_unreached_state(error: ServiceError) -> bool:
    """Return True if an error for callers says that the database or a node cannot be reached."""
    if error.reason is not Reason.DATABASE_UNAVAILABLE:
        return False
    return error.metadata.get("sqlstate", _LOST).startswith(_UNREACHED_PREFIXES)


def is_away(error: DBAPIError | psycopg.Error) -> bool:
    """Return True if an error says that the server cannot be reached, starts or stops."""
    state = state_of(error.orig if isinstance(error, DBAPIError) else error)
    return state is not None and state.startswith(_UNREACHED_PREFIXES)


def meets_taken_key(error: ServiceError) -> bool:
    """Return True if an error for callers says that a unique key is taken."""
    cause = error.__cause__
    return state_of(cause.orig if isinstance(cause, DBAPIError) else cause) == _TAKEN


def meets_split(error: BaseException | None) -> bool:
    """Return True if a statement did nothing, since its shard was split after it was planned."""
    return state_of(error) == _UNFORESEEN and "find valid entry for shard" in str(error)


def _answer_of_cluster(error: BaseException | None) -> ServiceError | None:
    """Return the answer to errors that Citus reports as internal; None: it is none of these."""
    if meets_split(error):
        return unavailable(_UNFORESEEN)
    # A node was lost before it said whether it had committed.
    if state_of(error) == _UNFORESEEN and "could not commit transaction" in str(error):
        return unavailable()
    return None


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error; it may name a host, a user or a file."""
    return next(iter(str(error).splitlines()), "").strip()


class DatabaseErrors:
    """The errors of one database, as seen by one process."""

    def __init__(
        self,
        is_standby: Callable[[], Awaitable[bool]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_standby = is_standby
        self._monotonic = monotonic
        self._asked = -_STANDBY_SECONDS
        self._was_standby = False
        self._lines = RareLines(monotonic)

    async def translate(self, error: Exception) -> Exception:
        """Count an error, log it if it is the service's fault, and return the error to raise."""
        if isinstance(error, PoolTimeoutError):
            state: str | None = _POOL
            cause: BaseException | None = error
        elif isinstance(error, DBAPIError):
            cause = error.orig
            state = state_of(cause) or (_LOST if error.connection_invalidated else None)
        elif isinstance(error, psycopg.Error):
            cause, state = error, state_of(error)
        else:
            return error
        _ERRORS.labels(state or "none").inc()
        answer = _answer_of_cluster(cause) or _being_erased(cause) or await self._answer(state)
        if answer is None or answer.http_status >= 500:
            is_refused = answer is None or isinstance(answer, Internal)
            self._log(state or "none", cause, error, is_refused=is_refused)
        return error if answer is None else answer

    async def _answer(self, state: str | None) -> ServiceError | None:
        """Return the answer to callers; None: only that the service fails."""
        answer = _ANSWERS.get(state or "")
        if answer is not None:
            return answer()
        if state == _NOT_SUPPORTED and not await self._follows_another():
            message = "The service failed; its log names the statement that the database refuses."
            return Internal(message, Reason.INTERNAL)
        if state in {_POOL, _NOT_SUPPORTED} or (state or "").startswith(_AWAY_PREFIXES):
            return unavailable(state or _LOST)
        return None

    async def _follows_another(self) -> bool:
        if self._monotonic() - self._asked >= _STANDBY_SECONDS:
            self._was_standby = await self._is_standby()
            self._asked = self._monotonic()
        return self._was_standby

    def _log(
        self, state: str, cause: BaseException | None, error: Exception, *, is_refused: bool
    ) -> None:
        """Log an error once a minute per state and statement, with the number left out."""
        statement = _failed_function(error.__traceback__)
        left_out = self._lines.due((state, statement))
        if left_out is None:
            return
        diagnosis = cause.diag if isinstance(cause, psycopg.Error) else None
        is_quotable = state == _POOL or state.startswith(_QUOTABLE)
        write, event = (
            (log.error, "database.statement_refused")
            if is_refused
            else (log.warning, "database.failed")
        )
        write(
            event,
            sqlstate=state,
            error=type(cause).__name__,
            # Messages of other errors may quote the text of a memory.
            message=first_line(cause) if is_quotable else None,
            routine=None if diagnosis is None else diagnosis.source_function,
            statement=statement,
            left_out=left_out,
        )


def _conflict() -> ServiceError:
    return Aborted("A concurrent change won; retry.", Reason.CONCURRENT_CHANGE)


def _bad_regex() -> ServiceError:
    return InvalidArgument.of_field("filter", "the regular expression cannot be used.")


def _too_slow() -> ServiceError:
    message = "The database took too long to answer."
    return DeadlineExceeded(message, Reason.DATABASE_UNAVAILABLE, metadata={"sqlstate": _TOO_SLOW})


def _being_erased(cause: BaseException | None) -> ServiceError | None:
    """Return the answer to a write that our trigger refuses, which names the operation."""
    if not isinstance(cause, psycopg.Error) or cause.sqlstate != _BEING_ERASED:
        return None
    operation, state = cause.diag.message_detail or "", cause.diag.message_hint or ""
    if state in {"PENDING", "RUNNING"}:
        end = "write to it again when that has ended."
    else:
        end = "that has not ended well: ask for the erasure again, or wait until it is taken up."
    return FailedPrecondition(
        f"The scope is being erased by {operation}; {end}",
        Reason.SCOPE_BEING_ERASED,
        metadata={"operation": operation, "state": state},
    )


_ANSWERS: dict[str, Callable[[], ServiceError]] = {
    **dict.fromkeys(_CONFLICTS, _conflict),
    _BAD_REGEX: _bad_regex,
    _TOO_SLOW: _too_slow,
}


def unavailable(state: str = _LOST) -> Unavailable:
    """Return the error of a database that cannot be used for the reason of a state."""
    return Unavailable(
        _MESSAGES.get(state, _AWAY),
        Reason.DATABASE_UNAVAILABLE,
        metadata={"sqlstate": state},
        retry_after_seconds=_RETRY_SECONDS,
    )


def _failed_function(traceback: TracebackType | None) -> str | None:
    """Return the name of the innermost function of ours that the error passed."""
    passed = [name for frame in _frames(traceback) if (name := _name(frame))]
    if passed:
        return passed[-1]
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way to it
    while frame is not None and _name(frame) is None:
        frame = frame.f_back
    return None if frame is None else _name(frame)


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _name(frame: FrameType) -> str | None:
    module = str(frame.f_globals.get("__name__"))
    is_ours = module.startswith("app.") and not module.startswith("app.adapters.db.")
    return f"{module}.{frame.f_code.co_qualname}" if is_ours else None
