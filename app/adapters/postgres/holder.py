"""The process that holds a data folder, as recorded in its lock file."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from app.adapters.postgres.files import open_private, try_lock

_FILE = "service.lock"
_MAX_BYTES = 4_096


@dataclass(frozen=True)
class Holder:
    """A process that holds a data folder.

    Attributes:
        pid: its process id.
        address: the address at which it serves the API; None: it does not serve.
    """

    pid: int = field(default_factory=os.getpid)
    address: str | None = None

    def hold(self, folder: Path) -> int | None:
        """Lock a folder and record this holder; return the lock, or None if another has it."""
        lock = open_private(folder / _FILE)
        if not try_lock(lock):
            os.close(lock)
            return None
        os.ftruncate(lock, 0)
        os.write(lock, json.dumps(asdict(self)).encode())
        return lock

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """Return the process that holds a folder; None: no live one, or the file is unreadable."""
        try:
            with (folder / _FILE).open("rb") as file:
                said = json.loads(file.read(_MAX_BYTES))
            holder = cls(int(said["pid"]), said["address"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return holder if _lives(holder.pid) else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # it belongs to another user
    except OSError:
        return False
    return True
