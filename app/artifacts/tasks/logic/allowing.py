"""Which readers a namespace lets read it (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.kernel.wire.memory_policy import BUILTIN

EXTRACTIVE = f"{BUILTIN}:extractive"
"""The reader that needs no model, as answers name it; requests may say `builtin` as well."""
BUILTIN_NAMES = (BUILTIN, EXTRACTIVE)


class Located(Protocol):
    """A reader of the settings: `app.settings.task_settings.ReaderModel`."""

    @property
    def locality(self) -> str:
        """`local` or `remote`."""
        ...


@dataclass(frozen=True)
class Allowed:
    """What a namespace says of its readers; `models` None: all of the settings, and `builtin`."""

    local_only: bool
    models: Sequence[str] | None

    def takes(self, name: str, *, is_local: bool) -> bool:
        """Say whether a reader may read the namespace."""
        names = BUILTIN_NAMES if name == BUILTIN else (name,)
        is_listed = self.models is None or any(one in self.models for one in names)
        return is_listed and (is_local or not self.local_only)

    def takes_any(self, readers: Mapping[str, Located]) -> bool:
        """Say whether any reader of the settings, or the built-in one, may read the namespace."""
        named = ((name, one.locality == "local") for name, one in readers.items())
        return any(self.takes(name, is_local=near) for name, near in (*named, (BUILTIN, True)))
