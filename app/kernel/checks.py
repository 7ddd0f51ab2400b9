"""Checks of `memory-bank check`: their names, and the statements that features register."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.kernel.limits import Counted


class CheckName(StrEnum):
    """The checks of `memory-bank check`, in the order of their numbers, which begin at 1."""

    EXTENSION = "extension"
    REVISION = "schema revision"
    OBJECTS = "objects"
    ORPHANS = "orphans"
    NEWEST = "newest revision"
    VERSIONS = "versions"
    VECTORS = "vectors"
    TOTALS = "totals"
    SCOPE_HASH = "scope hash"
    SESSIONS = "sessions"
    ARTIFACTS = "artifacts"
    OPERATIONS = "operations"
    CLOCKS = "clocks"
    CONSEQUENCES = "consequences"

    @property
    def number(self) -> int:
        """The number of the check."""
        return list(CheckName).index(self) + 1


QUICK = frozenset(
    {
        CheckName.EXTENSION,
        CheckName.REVISION,
        CheckName.OBJECTS,
        CheckName.CLOCKS,
        CheckName.CONSEQUENCES,
    }
)
"""The checks that read no more than the catalogue and a few counts."""


class Level(StrEnum):
    """The severity of a finding, most severe first."""

    FAILED = "FAILED"
    """The database is inconsistent."""
    WARNING = "WARNING"
    """An operator should look at the finding."""
    NOTE = "NOTE"
    """The finding is as expected."""


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
