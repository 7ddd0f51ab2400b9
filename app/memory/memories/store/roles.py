"""Roles of the columns of memories and revisions; all column lists are derived from them."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from sqlalchemy import Column
from sqlalchemy.orm import DeclarativeBase

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
    """Return the columns with one of the roles, or all columns, by attribute name.

    Raises:
        AssertionError: a column has no role.
    """
    columns = dict(row.__mapper__.columns)
    strange = [
        name for name in columns if not isinstance(columns[name].info.get("role"), ColumnRole)
    ]
    if strange:
        raise AssertionError(f"info['role'] must be a Role; {row.__name__} has none for {strange}.")
    wanted = roles or tuple(ColumnRole)
    return {name: column for name, column in columns.items() if column.info["role"] in wanted}


def counted_columns(row: Row) -> set[str]:
    """Return the names of the columns whose bytes count against their engine."""
    columns = columns_of(row).values()
    return {
        column.name
        for column in columns
        if column.info["role"] is ColumnRole.CONTENT or column.info.get("counted")
    }


def filtered_columns(row: Row) -> dict[str, Column[Any]]:
    """Return the columns that filters may name, by attribute name."""
    return {name: column for name, column in columns_of(row).items() if column.info.get("filtered")}


def check_equal(name: str, has: Iterable[str], declared: Iterable[str]) -> None:
    """Compare the fields of `name` with the declared columns.

    Raises:
        AssertionError: they differ; the message names the fields.
    """
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
