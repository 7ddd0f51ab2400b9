"""Operations (resource and queue in one row), request ids, and the ticks of periodic work."""

from datetime import datetime

from sqlalchemy import Boolean, Index, Integer, LargeBinary, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.adapters.db.bindings import ByScopes, parts_index


def name_of(engine: str, memory_id: str | None, operation_id: str) -> str:
    """Return the full name of an operation: below its engine, or below a memory of that."""
    parent = engine if memory_id is None else f"{engine}/memories/{memory_id}"
    return f"{parent}/operations/{operation_id}"


class OperationRow(Base):
    """A long-running operation: what the client polls and what a worker runs are this row."""

    __tablename__ = "operations"
    conditioned_by = ByScopes()
    __table_args__ = (
        # At most one running operation of a key: the claim relies on it.
        Index(
            "uq_operations_running_key",
            "engine_id",
            "key",
            unique=True,
            postgresql_where=text("state = 'RUNNING'"),
        ),
        # In the order of claims: neither a long queue nor what waits for its time makes one slow.
        Index(
            "ix_operations_unfinished",
            "due_time",
            "operation_id",
            postgresql_where=text("state = 'PENDING' or state = 'RUNNING'"),
        ),
        # Counted at each request that has a worker do something.
        Index(
            "ix_operations_queued",
            "engine_id",
            postgresql_where=text("state = 'PENDING' and kind <> 'ingestion.ingest'"),
        ),
        Index("ix_operations_remove_time", "remove_time"),
        parts_index("ix_operations_scope_parts", "scopes"),
        # Few, and looked for whenever a memory is erased.
        Index(
            "ix_operations_previews",
            "engine_id",
            postgresql_where=text("kind = 'generation.preview'"),
        ),
        Index(
            "ix_operations_unmet_requests",
            "engine_id",
            postgresql_where=text("details ? 'unmetForgetRequests'"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    operation_id: Mapped[str] = mapped_column(Text, primary_key=True)
    # The engine's full name is kept here, since an operation outlives a deleted engine.
    engine_name: Mapped[str] = mapped_column(Text)
    # The memory below which it is named; null: it is named below the engine.
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
    remove_time: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    cancel_requested: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    owner: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None]
    # Which scopes it concerns: by key of a scope, the values. Null: it may be any.
    scopes: Mapped[JsonObject | None]
    # Who asked for it: the id of the key; null where the service itself did.
    caller: Mapped[str | None] = mapped_column(Text)

    @property
    def name(self) -> str:
        """Its full name."""
        return name_of(self.engine_name, self.memory_id, self.operation_id)


class RequestIdRow(Base):
    """A request id that a caller chose, with the operation or the answer that it first had."""

    __tablename__ = "request_ids"
    __table_args__ = (Index("ix_request_ids_remove_time", "remove_time"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    caller: Mapped[str] = mapped_column(Text, primary_key=True)
    request_id: Mapped[str] = mapped_column(Text, primary_key=True)
    request_hash: Mapped[bytes] = mapped_column(LargeBinary)
    operation_engine_id: Mapped[int]
    operation_id: Mapped[str | None] = mapped_column(Text)
    answer: Mapped[JsonObject | None]
    """What a request without an operation was answered with: names and numbers, no texts."""
    remove_time: Mapped[datetime]


class TickRow(Base):
    """The last slot of a periodic task that some process has taken."""

    __tablename__ = "ticks"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    last_slot: Mapped[datetime]
