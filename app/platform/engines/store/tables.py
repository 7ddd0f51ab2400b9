"""The tables of engines and of the models that embedded their memories."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, Text, inspect, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject
from app.kernel.names import EngineName
from app.kernel.wire.privacy_config import PrivacyConfig
from app.platform.engines.logic.config import STORED, MemoryBankConfig


class EngineRow(Base):
    """An engine. `delete_time` hides it at once; an operation then removes its children."""

    __tablename__ = "engines"
    __table_args__ = (
        Index("ix_engines_location", "project", "location", "create_time"),
        Index(
            "ix_engines_stale_vectors",
            "engine_id",
            postgresql_where=text("stale_vectors_until is not null"),
        ),
        Index("ix_engines_restore", "engine_id", postgresql_where=text("restore is not null")),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    project: Mapped[str] = mapped_column(Text)
    location: Mapped[str] = mapped_column(Text)
    display_name: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    labels: Mapped[JsonObject] = mapped_column(server_default=text("'{}'"))
    bank_config: Mapped[JsonObject | None]
    encryption_spec: Mapped[JsonObject | None]
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
    delete_time: Mapped[datetime | None]
    # The model that serves it; null until it has a vector.
    embedding_model: Mapped[str | None] = mapped_column(Text)
    # The target of the last re-embedding until it serves: its vectors are kept as well.
    embedding_target: Mapped[str | None] = mapped_column(Text)
    # Set while vectors of other models may exist: until then, more of them may be written.
    stale_vectors_until: Mapped[datetime | None]
    # The state of a restore from an archive that has not ended; null: ordinary.
    restore: Mapped[JsonObject | None]


class EmbeddingModelRow(Base):
    """The vector length of a model; written once."""

    __tablename__ = "embedding_models"

    model_id: Mapped[str] = mapped_column(Text, primary_key=True)
    dimensions: Mapped[int] = mapped_column(Integer)


class BucketsRow(Base):
    """The single row with the time, in milliseconds, from which generated ids carry a bucket."""

    __tablename__ = "ids_carry_buckets_from"

    milliseconds: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


def name_of(row: EngineRow) -> EngineName:
    """Return the full name under which the engine is stored."""
    return EngineName(row.project, row.location, row.engine_id)


def config_of(row: EngineRow) -> MemoryBankConfig:
    """Return the bank's configuration; defaults if the engine has none."""
    return MemoryBankConfig.model_validate(row.bank_config or {}, context=STORED)


def privacy_of(row: EngineRow) -> PrivacyConfig | None:
    """Return the engine's own rules about sensitive values, without reading the rest."""
    stored = (row.bank_config or {}).get("privacyConfig")
    return None if stored is None else PrivacyConfig.model_validate(stored, context=STORED)


def memory_policy_of(row: EngineRow) -> Any:  # noqa: ANN401 - JSON of a row
    """Return the engine's policy for the contexts of sessions, without reading the rest."""
    return (row.bank_config or {}).get("memoryPolicy")


def is_detached(row: EngineRow) -> bool:
    """Return True if no transaction holds the row, or could still expire its values."""
    return inspect(row).session is None
