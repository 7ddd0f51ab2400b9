"""The table of model usage, by engine, day, model and kind of work."""

from datetime import date

from sqlalchemy import Date, Double, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base


class ModelUsageRow(Base):
    """The calls of one model for one engine on one UTC day, for one kind of work.

    `cost` is null as soon as some of the calls had no configured price.
    """

    __tablename__ = "model_usage"
    # For the metrics, which read the last days of all engines.
    __table_args__ = (Index("ix_model_usage_day", "day"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    model_id: Mapped[str] = mapped_column(Text, primary_key=True)
    # The kind of an operation, or one of `logic/costs.py`; unknown: from before this column.
    kind: Mapped[str] = mapped_column(Text, primary_key=True)
    calls: Mapped[int]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    milliseconds: Mapped[int]
    cost: Mapped[float | None] = mapped_column(Double)
