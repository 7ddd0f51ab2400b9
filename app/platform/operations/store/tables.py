"""Operations (resource and queue in one row), request ids, and the ticks of periodic work."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Index,
    Integer,
    LargeBinary,
    Text,
    and_,
    func,
    literal_column,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.adapters.db.conditions import ByScopes, parts_index
from app.platform.operations.logic.states import OperationState


def name_of(engine: str, memory_id: str | None, operation_id: str) -> str:
    """Return the full name of an operation: below its engine, or below one of its memories."""
    parent = engine if memory_id is None else f"{engine}/memories/{memory_id}"
    return f"{parent}/operations/{operation_id}"


_SOURCE_SESSION = "split_part(details #>> '{source,session}', '/sessions/', 2)"


class OperationRow(Base):
    """A long-running operation: clients poll this row and workers run it."""

    __tablename__ = "operations"
    conditioned_by = ByScopes()
    __table_args__ = (
        # At most one running operation of a key: claiming relies on it.
        Index(
            "uq_operations_running_key",
            "engine_id",
            "key",
            unique=True,
            postgresql_where=text("state = 'RUNNING'"),
        ),
        # In claiming order: neither a long queue nor future operations slow a claim.
        Index(
            "ix_operations_unfinished",
            "due_time",
            "operation_id",
            postgresql_where=text("state = 'PENDING' or state = 'RUNNING'"),
        ),
        # Counted by each request that queues an operation.
        Index(
            "ix_operations_queued",
            "engine_id",
            postgresql_where=text("state = 'PENDING' and kind <> 'ingestion.ingest'"),
        ),
        Index("ix_operations_remove_time", "remove_time"),
        parts_index("ix_operations_scope_parts", "scopes"),
        # Few rows, searched at each erasure of a memory.
        Index(
            "ix_operations_previews",
            "engine_id",
            postgresql_where=text("kind = 'generation.preview'"),
        ),
        Index(
            "ix_operations_kept_requests",
            "engine_id",
            "update_time",
            postgresql_where=text("state = 'FAILED' and request is not null"),
        ),
        # Of all engines, counted by their time.
        Index(
            "ix_operations_failed_time",
            "update_time",
            postgresql_where=text("state = 'FAILED'"),
        ),
        # In the order of an engine's list.
        Index(
            "ix_operations_failed",
            "engine_id",
            "operation_id",
            postgresql_where=text("state = 'FAILED'"),
        ),
        Index(
            "ix_operations_open",
            "engine_id",
            "operation_id",
            postgresql_where=text("state = 'PENDING' or state = 'RUNNING'"),
        ),
        Index(
            "ix_operations_unmet_requests",
            "engine_id",
            postgresql_where=text("details ? 'unmetForgetRequests'"),
        ),
        # In the order of an engine's list; searched at each removal of a session, too.
        Index(
            "ix_operations_source_session",
            "engine_id",
            text(_SOURCE_SESSION),
            "operation_id",
            postgresql_where=text(f"{_SOURCE_SESSION} is not null"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    operation_id: Mapped[str] = mapped_column(Text, primary_key=True)
    # Stored in full, since an operation outlives its deleted engine.
    engine_name: Mapped[str] = mapped_column(Text)
    # The memory that is the parent in its name; null: the engine is.
    memory_id: Mapped[str | None] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    key: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    request: Mapped[JsonObject | None]
    response: Mapped[JsonObject | None]
    error: Mapped[JsonObject | None]
    details: Mapped[JsonObject] = mapped_column(server_default=text("'{}'"))
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
    due_time: Mapped[datetime]
    # The first claim by a worker.
    start_time: Mapped[datetime | None]
    remove_time: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    cancel_requested: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    owner: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None]
    # Scopes concerned: for each scope key, the values. Null: possibly any.
    scopes: Mapped[JsonObject | None]
    # The id of the key that asked for it; null: the service itself.
    caller: Mapped[str | None] = mapped_column(Text)
    # The id of the request that asked for it, for the log of the worker.
    request_id: Mapped[str | None] = mapped_column(Text)
    # The span of that request, to which the worker links its own.
    traceparent: Mapped[str | None] = mapped_column(Text)

    @property
    def name(self) -> str:
        """The full name."""
        return name_of(self.engine_name, self.memory_id, self.operation_id)


class _RequestId:
    """The columns of a caller's request id, with the operation or answer of its first request."""

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    caller: Mapped[str] = mapped_column(Text, primary_key=True)
    request_id: Mapped[str] = mapped_column(Text, primary_key=True)
    request_hash: Mapped[bytes] = mapped_column(LargeBinary)
    operation_engine_id: Mapped[int]
    operation_id: Mapped[str | None] = mapped_column(Text)
    answer: Mapped[JsonObject | None]
    """The answer of a request without an operation: names and numbers, no texts."""
    remove_time: Mapped[datetime]


class RequestIdRow(_RequestId, Base):
    """A request id in an engine."""

    __tablename__ = "request_ids"
    __table_args__ = (Index("ix_request_ids_remove_time", "remove_time"),)


class ServiceRequestIdRow(_RequestId, Base):
    """A request id of no engine, whose `engine_id` is 0; the rows lie where the keys do."""

    __tablename__ = "service_request_ids"
    __table_args__ = (Index("ix_service_request_ids_remove_time", "remove_time"),)


AnyRequestId = RequestIdRow | ServiceRequestIdRow


class DueEngineRow(Base):
    """A hint to workers of a distributed database: an engine has unfinished operations.

    The table is not distributed, so no statement joins it with one that is.
    """

    __tablename__ = "due_engines"
    __table_args__ = (Index("ix_due_engines_due_time", "due_time"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    due_time: Mapped[datetime]
    """Not later than the next operation becomes due, or the next lease ends."""
    touched: Mapped[int]
    """Changes with every hint, so that a worker sees hints that came after its look."""


class TickRow(Base):
    """The last slot of a periodic task that a process has taken."""

    __tablename__ = "ticks"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    last_slot: Mapped[datetime]


def source_session() -> ColumnElement[str]:
    """Return the id of the session in an operation's source, as the index has it."""
    name = OperationRow.details.op("#>>")(literal_column("'{source,session}'::text[]"))
    return func.split_part(name, literal_column("'/sessions/'"), literal_column("2"), type_=Text())


@dataclass(frozen=True)
class Owned:
    """A running operation and the token of its worker."""

    engine_id: int
    operation_id: str
    owner: str

    def is_mine(self) -> ColumnElement[bool]:
        """Select the row while this worker still owns it."""
        return and_(
            OperationRow.engine_id == self.engine_id,
            OperationRow.operation_id == self.operation_id,
            OperationRow.owner == self.owner,
            OperationRow.state == OperationState.RUNNING,
        )
