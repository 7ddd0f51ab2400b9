"""Tables of memories and their derived rows: vectors, revisions, and the labels of revisions.

All lists of columns of memories and revisions are derived from the roles of their columns.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Computed,
    Double,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSVECTOR
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.adapters.db.base import Base, JsonList, JsonObject, child_of
from app.adapters.db.conditions import ByParent, ByScope, parts_index
from app.adapters.db.vectors import EMBEDDING, IN_BYTE_ORDER
from app.language.grams import ANY_SIGN

Row = type[DeclarativeBase]


class ColumnRole(StrEnum):
    """The role of a column in its row, as `info["role"]`.

    Further keys of `info`: `empty` makes the default of a column that cannot be null. `counted`
    adds a column without content to the bytes of its engine. `filtered` allows the column in
    filters.
    """

    CONTENT = "content"
    """Written by users and models. Revisions keep it, a rollback restores it, its bytes count."""
    KEPT = "kept"
    """Content that never changes after creation. Its bytes do not count."""
    PROVENANCE = "provenance"
    """Origin of the content: kept and restored with it. Its bytes do not count."""
    STATE = "state"
    """Shown to readers with its present value; no rollback restores it."""
    INTERNAL = "internal"
    """Read by this service alone; no rollback restores it."""
    KEY = "key"
    """Identity of the row."""
    TOMBSTONE = "tombstone"
    """Null unless the memory is deleted."""
    SEARCH = "search"
    """Read only by searches: written with the content, not loaded with the row."""
    COMPUTED = "computed"
    """Written by the database."""
    HISTORY = "history"
    """Record of a change in its revision, in addition to the content after the change."""


def columns_of(row: Row, *roles: ColumnRole) -> dict[str, Column[Any]]:
    """Return the columns with one of the roles, or all columns, by attribute name."""
    columns = dict(row.__mapper__.columns)
    lacking = [
        name for name in columns if not isinstance(columns[name].info.get("role"), ColumnRole)
    ]
    if lacking:
        raise AssertionError(f"info['role'] must be a Role; {row.__name__} has none for {lacking}.")
    wanted = roles or tuple(ColumnRole)
    return {name: column for name, column in columns.items() if column.info["role"] in wanted}


def counted_columns(row: Row) -> set[str]:
    """Return the names of the columns whose bytes count against their engine."""
    return {
        column.name
        for column in columns_of(row).values()
        if column.info["role"] is ColumnRole.CONTENT or column.info.get("counted")
    }


def filtered_columns(row: Row) -> dict[str, Column[Any]]:
    """Return the columns that filters may name, by attribute name."""
    return {name: column for name, column in columns_of(row).items() if column.info.get("filtered")}


def check_equal(name: str, has: Iterable[str], declared: Iterable[str]) -> None:
    """Raise an AssertionError unless `name` has exactly the declared columns as fields."""
    missing, unknown = set(declared) - set(has), set(has) - set(declared)
    if missing or unknown:
        raise AssertionError(
            f"{name} must have a field for each of its columns;"
            f" missing: {sorted(missing)}, without a column: {sorted(unknown)}."
        )


def empty_value(column: Column[Any]) -> Any:  # noqa: ANN401 - of any column
    """Return the default value of a column."""
    make: Callable[[], object] | None = column.info.get("empty")
    return None if make is None else make()


# Accents are removed, as in `folded` for queries.
_TERMS = (
    "to_tsvector(language,"
    " regexp_replace(normalize(coalesce(fact, ''), NFD), '[\\u0300-\\u036f]', '', 'g'))"
)


class MemoryContent:
    """Columns that a memory shares with its revisions; the only place that lists them."""

    fact: Mapped[str | None] = mapped_column(
        Text, info={"role": ColumnRole.CONTENT, "filtered": True}
    )
    display_name: Mapped[str | None] = mapped_column(
        Text, info={"role": ColumnRole.CONTENT, "filtered": True}
    )
    description: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.CONTENT})
    topics: Mapped[JsonList] = mapped_column(info={"role": ColumnRole.CONTENT, "empty": list})
    user_metadata: Mapped[JsonObject] = mapped_column(
        "metadata", info={"role": ColumnRole.CONTENT, "empty": dict}
    )
    memory_type: Mapped[str] = mapped_column(Text, info={"role": ColumnRole.KEPT})
    structured_content: Mapped[JsonObject | None] = mapped_column(info={"role": ColumnRole.CONTENT})
    context: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.CONTENT})
    source: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.PROVENANCE})
    position: Mapped[float | None] = mapped_column(Double, info={"role": ColumnRole.PROVENANCE})
    event_time: Mapped[datetime | None] = mapped_column(
        info={"role": ColumnRole.PROVENANCE, "filtered": True}
    )


class MemoryRow(MemoryContent, Base):
    """A memory, live or a tombstone (`delete_time` set) that can be recovered for a while.

    Written and removed by `store/ledger.py` alone. The columns from `language` on serve searches
    and are not loaded with a row. `cues` is null until the search hints are computed. `grams` is
    also null for a fact without grams.
    """

    __tablename__ = "memories"
    conditioned_by = ByScope()
    __table_args__ = (
        # With both times, live memories are counted by the index alone. Updates of either are in
        # another index already, so that no further update rewrites the indexes.
        Index("ix_memories_scope", "engine_id", "scope_hash", "delete_time", "expire_time"),
        parts_index("ix_memories_scope_parts", "scope"),
        Index("ix_memories_create_time", "engine_id", "create_time", "memory_id"),
        Index("ix_memories_update_time", "engine_id", "update_time", "memory_id"),
        Index(
            "ix_memories_expire_time",
            "expire_time",
            postgresql_where=text("expire_time is not null"),
        ),
        Index(
            "ix_memories_recover_until",
            "recover_until",
            postgresql_where=text("recover_until is not null"),
        ),
        Index(
            "ix_memories_delete_time",
            "engine_id",
            "delete_time",
            "memory_id",
            postgresql_where=text("delete_time is not null"),
        ),
        Index(
            "ix_memories_position",
            "engine_id",
            "scope_hash",
            "source",
            "position",
            postgresql_where=text("source is not null and position is not null"),
        ),
        Index(
            "ix_memories_without_hints",
            "engine_id",
            "memory_id",
            postgresql_where=text(f"cues is null or grams is null and fact ~ '{ANY_SIGN}'"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(
        primary_key=True, autoincrement=False, info={"role": ColumnRole.KEY}
    )
    memory_id: Mapped[str] = mapped_column(Text, primary_key=True, info={"role": ColumnRole.KEY})
    version: Mapped[int] = mapped_column(info={"role": ColumnRole.STATE})
    scope: Mapped[JsonObject] = mapped_column(info={"role": ColumnRole.STATE, "counted": True})
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary, info={"role": ColumnRole.KEY})
    create_time: Mapped[datetime] = mapped_column(info={"role": ColumnRole.STATE, "filtered": True})
    update_time: Mapped[datetime] = mapped_column(info={"role": ColumnRole.STATE, "filtered": True})
    expire_time: Mapped[datetime | None] = mapped_column(
        info={"role": ColumnRole.STATE, "filtered": True}
    )
    delete_time: Mapped[datetime | None] = mapped_column(info={"role": ColumnRole.TOMBSTONE})
    recover_until: Mapped[datetime | None] = mapped_column(info={"role": ColumnRole.TOMBSTONE})
    held_time: Mapped[datetime | None] = mapped_column(info={"role": ColumnRole.INTERNAL})
    """Time at which a person last set the content by hand; null if it rests on a statement.

    In a tombstone, the time of the statement that ended the memory, or of a deletion by hand.
    """
    language: Mapped[str] = mapped_column(
        REGCONFIG,
        server_default=text("'simple'::regconfig"),
        deferred=True,
        info={"role": ColumnRole.SEARCH},
    )
    terms: Mapped[str] = mapped_column(
        TSVECTOR,
        Computed(_TERMS, persisted=True),
        deferred=True,
        info={"role": ColumnRole.COMPUTED},
    )
    cues: Mapped[list[str] | None] = mapped_column(
        ARRAY(Text), deferred=True, info={"role": ColumnRole.SEARCH}
    )
    grams: Mapped[str | None] = mapped_column(
        TSVECTOR, deferred=True, info={"role": ColumnRole.SEARCH}
    )

    @hybrid_property
    def rests_on(self) -> datetime:
        """The time that the fact rests on: set by hand, else stated, else created."""
        return self.held_time or self.event_time or self.create_time

    @rests_on.inplace.expression
    @classmethod
    def _rests_on(cls) -> ColumnElement[datetime]:
        return func.coalesce(cls.held_time, cls.event_time, cls.create_time)


class MemoryVectorRow(Base):
    """The vector of a live memory's fact by one model; a tombstone has none."""

    __tablename__ = "memory_vectors"
    conditioned_by = ByParent("memories", ("engine_id", "memory_id"))
    __table_args__ = (
        child_of("memories", "memory_id"),
        Index("ix_memory_vectors_scope", "engine_id", "scope_hash", "model_id"),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_id: Mapped[str] = mapped_column(Text, primary_key=True)
    model_id: Mapped[str] = mapped_column(Text, primary_key=True)
    scope_hash: Mapped[bytes] = mapped_column(LargeBinary)
    expire_time: Mapped[datetime | None]
    vector: Mapped[list[float]] = mapped_column(EMBEDDING)


class UnembeddedRow(Base):
    """A memory whose fact is queued for embedding: its model was unavailable or was replaced.

    Until `due_time` the row belongs to the worker that took it last.
    """

    __tablename__ = "unembedded_memories"
    conditioned_by = ByParent("memories", ("engine_id", "memory_id"))
    __table_args__ = (
        child_of("memories", "memory_id"),
        Index("ix_unembedded_memories_due_time", "due_time"),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_id: Mapped[str] = mapped_column(Text, primary_key=True)
    due_time: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))


class RevisionRow(MemoryContent, Base):
    """A snapshot of a memory after one change. Appended by the ledger alone.

    It never changes, with two exceptions: a scan masks sensitive values in it (`redact_time`), and
    an erasure empties quotes in it and replaces its `caller` with an alias.
    """

    __tablename__ = "memory_revisions"
    conditioned_by = ByParent("memories", ("engine_id", "memory_id"))
    __table_args__ = (
        UniqueConstraint("engine_id", "memory_id", "version"),
        child_of("memories", "memory_id"),
        Index("ix_memory_revisions_expire_time", "expire_time"),
        Index("ix_memory_revisions_operation", "engine_id", "operation_id"),
        Index("ix_memory_revisions_time", "engine_id", "create_time", "revision_id"),
    )

    engine_id: Mapped[int] = mapped_column(
        primary_key=True, autoincrement=False, info={"role": ColumnRole.KEY}
    )
    revision_id: Mapped[int] = mapped_column(
        primary_key=True, autoincrement=False, info={"role": ColumnRole.HISTORY}
    )
    memory_id: Mapped[str] = mapped_column(Text, info={"role": ColumnRole.KEY})
    version: Mapped[int] = mapped_column(info={"role": ColumnRole.STATE})
    action: Mapped[str] = mapped_column(Text, info={"role": ColumnRole.HISTORY})
    memory_expire_time: Mapped[datetime | None] = mapped_column(info={"role": ColumnRole.HISTORY})
    labels: Mapped[JsonObject] = mapped_column(info={"role": ColumnRole.HISTORY, "counted": True})
    extracted_memories: Mapped[JsonList] = mapped_column(
        info={"role": ColumnRole.HISTORY, "counted": True}
    )
    author: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.HISTORY})
    prompt_version: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.HISTORY})
    operation_id: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.HISTORY})
    caller: Mapped[str | None] = mapped_column(Text, info={"role": ColumnRole.HISTORY})
    restored_revision_id: Mapped[int | None] = mapped_column(info={"role": ColumnRole.HISTORY})
    redact_time: Mapped[datetime | None] = mapped_column(info={"role": ColumnRole.HISTORY})
    create_time: Mapped[datetime] = mapped_column(info={"role": ColumnRole.HISTORY})
    expire_time: Mapped[datetime] = mapped_column(info={"role": ColumnRole.HISTORY})


class RevisionLabelRow(Base):
    """A label of a revision as a row, which lets a filter over all memories use an index."""

    __tablename__ = "revision_labels"
    conditioned_by = ByParent("memory_revisions", ("engine_id", "revision_id"))
    __table_args__ = (
        child_of("memory_revisions", "revision_id"),
        # For the lookup by the foreign key when a revision is removed.
        Index("ix_revision_labels_revision", "engine_id", "revision_id"),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[str] = mapped_column(IN_BYTE_ORDER, primary_key=True)
    value: Mapped[str] = mapped_column(IN_BYTE_ORDER, primary_key=True)
    revision_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
