"""Errors of archives that cannot be read."""

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.release import RELEASE

SHOWN_CHARS = 40
"""Maximum length of text from an archive that an error repeats."""


def invalid(message: str, **metadata: object) -> InvalidArgument:
    """Return the error of an archive that is damaged, changed or in a wrong order."""
    told = {name: str(value) for name, value in metadata.items()}
    return InvalidArgument(message, Reason.ARCHIVE_INVALID, metadata=told)


class RefusedArchive(InvalidArgument):
    """Error of an intact archive with a value that no release stores; a retry fails again."""


def refused(message: str, **metadata: object) -> RefusedArchive:
    """Return the error of an intact archive with a value that no release stores."""
    told = {name: str(value) for name, value in metadata.items()}
    return RefusedArchive(message, Reason.ARCHIVE_INVALID, metadata=told)


def truncated(lines: int) -> InvalidArgument:
    """Return the error of an archive that ends early, after `lines` lines."""
    return InvalidArgument(
        f"The archive is cut after line {lines}: it has no trailer.",
        Reason.ARCHIVE_TRUNCATED,
        metadata={"lines": str(lines)},
    )


def unknown(what: str, release: object) -> InvalidArgument:
    """Return the error of an archive with content that this release does not know.

    Args:
        what: the content, as the object of "The archive has".
        release: the release that wrote the archive, from its header.
    """
    named = release[:SHOWN_CHARS] if isinstance(release, str) else "later"
    return InvalidArgument(
        f"The archive has {what}: it needs the release {named} or a later one; this is {RELEASE}.",
        Reason.ARCHIVE_FORMAT_UNKNOWN,
        metadata={"release": named},
    )
