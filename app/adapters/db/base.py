"""The declarative base: constraint naming and the column types shared by all tables."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, ForeignKeyConstraint, MetaData
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

JsonObject = dict[str, Any]
JsonList = list[dict[str, Any]]

_NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The base class of all tables."""

    metadata = MetaData(naming_convention=_NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it as a plain attribute
        int: BigInteger,
        datetime: DateTime(timezone=True),
        # None maps to SQL null; a JSON null would be a second form of absence in queries.
        JsonObject: JSONB(none_as_null=True),
        JsonList: JSONB(none_as_null=True),
    }


def child_of(table: str, *key: str) -> ForeignKeyConstraint:
    """Return the foreign key of rows that are deleted with their parent, a row of `table`."""
    columns = ["engine_id", *key]
    return ForeignKeyConstraint(
        columns, [f"{table}.{column}" for column in columns], ondelete="CASCADE"
    )
