"""The engine that a command fills: an existing one, or a new one that the command creates.

The client is slow to import and is imported only when needed.
"""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.adapters.terminal import MISUSED, fail
from app.process.remote_api import engine_path

if TYPE_CHECKING:
    from app.adapters.api_client import ApiClient

_NEW = "new"
_PRIVATE = 0o600


@dataclass(frozen=True)
class TargetEngine:
    """The engine named by a command.

    Attributes:
        engine: the id, or `new`. A repeated command creates a new engine only once.
        note: the file that records a new engine until the command is done.
        content: the identity of the content to store. Other content gets another new engine.
    """

    engine: str
    note: Path
    content: str

    @property
    def is_new(self) -> bool:
        """True if the command creates the engine."""
        return self.engine == _NEW

    def check(self) -> None:
        """End the command if `engine` is neither an id nor `new`."""
        if not self.is_new and not self.engine.isdecimal():
            fail("--engine: must be the id of an engine, such as 1, or new.", MISUSED)

    def path(self, api: "ApiClient") -> str:
        """Return the engine's path for the client; a new engine is created if necessary."""
        self.check()
        return engine_path(self._created(api) if self.is_new else self.engine)

    def done(self) -> None:
        """Delete the note about a new engine; the same command then creates another one."""
        if self.is_new:
            self.note.unlink(missing_ok=True)

    def _created(self, api: "ApiClient") -> str:
        wanted = {"content": self.content, "url": api.url}
        known = self._noted()
        if any(known.get(name) != value for name, value in wanted.items()):
            known = {**wanted, "requestId": secrets.token_hex(16)}
            self._write(known)
        if "engine" not in known:
            query = {"requestId": known["requestId"]}
            created = api.ask("POST", "/reasoningEngines", {}, query)
            known["engine"] = created["response"]["name"].rpartition("/")[2]
            self._write(known)
        return known["engine"]

    def _noted(self) -> dict[str, str]:
        try:
            known = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: dict[str, str]) -> None:
        part = self.note.with_name(self.note.name + ".part")
        try:
            part.touch(_PRIVATE)
            part.write_text(json.dumps(known), encoding="utf-8")
            part.replace(self.note)
        except OSError as error:
            fail(
                f"{self.note}, which notes the new engine, cannot be written: {error.strerror};"
                " create an engine yourself and name it by --engine.",
                MISUSED,
            )
