"""The first API key: printed once on a terminal, else left in a file of the data folder.

Whatever is not a terminal is kept by somebody, such as a container engine that collects logs.
"""

import os
import sys
from pathlib import Path

import structlog

log = structlog.get_logger()

FILE = "admin-key"


def handed_over(key: str | None, data_dir: Path) -> list[str]:
    """Return the lines that tell the operator of a key which this start made, if any."""
    if key is None:
        return []
    if sys.stdout.isatty():
        told = f"API key, shown only this once: {key}"
    else:
        path = data_dir.resolve() / FILE
        try:
            _write(path, key)
        except OSError as error:
            # It cannot be shown later; `memory-bank keys create`, also named, makes another.
            log.error("admin_key.not_written", path=str(path), error=error.strerror)  # noqa: TRY400 - the reason is in the line
            return []
        log.info("admin_key.written", path=str(path))
        told = f"API key, in a file that you should remove once you have read it: {path}"
    return [
        told,
        "Send it as 'Authorization: Bearer KEY'; in a browser it is the password of /docs.",
    ]


def _write(path: Path, key: str) -> None:
    """Write the key for the owner of this process alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A key of a former database is of no use; a link of somebody else is not followed.
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(key + "\n")
