"""The first API key: printed once on a terminal, else written to a file in the data folder.

Output to anything but a terminal may be stored, for example by a container engine's logs.
"""

import os
import sys
from pathlib import Path

import structlog

log = structlog.get_logger()

FILE = "admin-key"


def handed_over(key: str | None, data_dir: Path) -> list[str]:
    """Return the lines for the operator about a key that this start created, if any."""
    if key is None:
        return []
    if sys.stdout.isatty():
        told = f"API key, shown only this once: {key}"
    else:
        path = data_dir.resolve() / FILE
        try:
            _write(path, key)
        except OSError as error:
            # The key cannot be shown later, but `memory-bank keys create` makes another one.
            log.error("admin_key.not_written", path=str(path), error=error.strerror)  # noqa: TRY400 - the reason is in the line
            return []
        log.info("admin_key.written", path=str(path))
        told = f"API key, in a file that you should remove once you have read it: {path}"
    return [
        told,
        "Send it as 'Authorization: Bearer KEY'; in a browser it is the password of /docs.",
    ]


def _write(path: Path, key: str) -> None:
    """Write the key to a file that only the owner of this process can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Removes the key of a former database; a link made by another user is not followed.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(key + "\n")
