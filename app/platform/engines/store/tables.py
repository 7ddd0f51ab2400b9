"""The tables of engines and of the models that embedded their memories."""

from datetime import datetime

from sqlalchemy import Index, Integer, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonObject


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
