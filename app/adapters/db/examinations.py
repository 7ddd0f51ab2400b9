"""Checks of stored rows that features register for `memory-bank check`."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.kernel.checks import CheckName
from app.kernel.limits import Counted


@dataclass(frozen=True)
class Batches:
    """The rows of a table, examined some thousands at a time in the order of `key`.

    `key` is the column that follows the engine in the primary key.
    """

    table: str
    key: str


@dataclass(frozen=True)
class Examination:
    """A check of stored rows by one statement; many may belong to the same check.

    Attributes:
        check: the check that it belongs to.
        finds: SQL with the columns `level` (of `Level`), `problem` (words, never a stored text),
            `engine_id` and `name` (of the resource, below its engine). Its parameters are
            `share` (the part of the rows to sample, up to 1) and `lengths` (of vectors, by model,
            as JSON). With `batches` there are also `engine`, `after` (a key, excluded) and `last`
            (a key, included). Each query in it must then name `:engine` explicitly: otherwise a
            cluster does not send it to the node of the engine. Without `batches`, `{of_engine}`
            stands for the condition that selects the engines.
        batches: the batches of rows to examine; None: the statement runs once.
    """

    check: CheckName
    finds: str
    batches: Batches | None = None


def overdue(rows: str, table: str, column: str, condition: str = "true") -> Examination:
    """Return an examination that notes rows of a table with an expired time in a column."""
    return Examination(
        CheckName.CONSEQUENCES,
        f"select 'NOTE' as level, '{rows}, which the next sweep removes' as problem, engine_id,"  # noqa: S608 - names that features write
        f" null as name from {table} where {condition} and {column} <= statement_timestamp()"
        " and {of_engine}",
    )


@dataclass(frozen=True)
class CountedRows:
    """Rows that count towards an engine's totals: an SQL expression of a row's share in each."""

    table: str
    adds: Mapping[Counted, str]
