"""Checks of a database, and the severity of their findings."""

from enum import StrEnum


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
