"""Readers that a namespace admits (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.kernel.wire.memory_policy import BUILTIN

EXTRACTIVE = f"{BUILTIN}:extractive"
"""Name, in responses, of the reader that needs no model; requests may also use `builtin`."""
BUILTIN_NAMES = (BUILTIN, EXTRACTIVE)


class Located(Protocol):
    """A configured reader: `app.settings.task_settings.ReaderModel`."""

    @property
    def locality(self) -> str:
        """`local` or `remote`."""
        ...


@dataclass(frozen=True)
class Allowed:
    """A namespace's rules about readers; `models` None: every configured model, and `builtin`."""

    local_only: bool
    models: Sequence[str] | None

    def takes(self, name: str, *, is_local: bool) -> bool:
        """Return True if a reader may read the namespace."""
        names = BUILTIN_NAMES if name == BUILTIN else (name,)
        is_listed = self.models is None or any(alias in self.models for alias in names)
        return is_listed and (is_local or not self.local_only)

    def takes_any(self, readers: Mapping[str, Located]) -> bool:
        """Return True if any configured reader, or the built-in one, may read the namespace."""
        named = ((name, reader.locality == "local") for name, reader in readers.items())
        return any(self.takes(name, is_local=near) for name, near in (*named, (BUILTIN, True)))
