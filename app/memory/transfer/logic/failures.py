"""Errors of archives that cannot be read."""

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.release import RELEASE

SHOWN_CHARS = 40
"""The most of a foreign text that an error repeats."""


def invalid(message: str, **metadata: object) -> InvalidArgument:
    """Return the error of an archive that is damaged, changed or in a wrong order."""
    told = {name: str(value) for name, value in metadata.items()}
    return InvalidArgument(message, Reason.ARCHIVE_INVALID, metadata=told)


class RefusedArchive(InvalidArgument):
    """An intact archive with what no release stores; sent again, it fails again."""


def refused(message: str, **metadata: object) -> RefusedArchive:
    """Return the error of such an archive."""
    told = {name: str(value) for name, value in metadata.items()}
    return RefusedArchive(message, Reason.ARCHIVE_INVALID, metadata=told)


def truncated(lines: int) -> InvalidArgument:
    """Return the error of an archive that ends after so many lines."""
    return InvalidArgument(
        f"The archive is cut after line {lines}: it has no trailer.",
        Reason.ARCHIVE_TRUNCATED,
        metadata={"lines": str(lines)},
    )


def unknown(what: str, release: object) -> InvalidArgument:
    """Return the error of an archive with what this release does not know.

    Args:
        what: as in "the archive has ...".
        release: that wrote it, as its header has it.
    """
    named = release[:SHOWN_CHARS] if isinstance(release, str) else "later"
    return InvalidArgument(
        f"The archive has {what}: it needs the release {named} or a later one; this is {RELEASE}.",
        Reason.ARCHIVE_FORMAT_UNKNOWN,
        metadata={"release": named},
    )
