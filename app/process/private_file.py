"""Files that only their owner may read, since they hold personal data or keys."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.adapters.terminal import fail


@contextmanager
def written(target: Path) -> Iterator[BinaryIO]:
    """Open a file to write; it gets its final name if the block succeeds, else it is deleted."""
    part = target.with_name(target.name + ".part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        part.replace(target)
    except OSError as error:
        fail(f"{target} cannot be written: {error.strerror or error}.")
    finally:
        part.unlink(missing_ok=True)
