"""Chooses which reader reads a namespace, of those that may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import PermissionDenied, Reason
from app.llm.readers import Reader
from app.readers.extractive import MODEL_ID
from app.wire.memory_policy import BUILTIN

_BUILTIN_NAMES = (BUILTIN, MODEL_ID)


@dataclass(frozen=True)
class Allowed:
    """What a namespace says of its readers; `models` None: all of the settings, and `builtin`."""

    local_only: bool
    models: Sequence[str] | None

    def takes(self, name: str, *, is_local: bool) -> bool:
        """Say whether a reader may read the namespace."""
        names = _BUILTIN_NAMES if name == BUILTIN else (name,)
        is_listed = self.models is None or any(one in self.models for one in names)
        return is_listed and (is_local or not self.local_only)


def choose(asked: str | None, readers: Mapping[str, Reader], allowed: Allowed) -> Reader | None:
    """Return the reader that is asked for, or else the first that may read; None: the built-in one.

    Raises:
        PermissionDenied: it may not read this, or is not known; or none is, that may.
    """
    may = [name for name, one in readers.items() if allowed.takes(name, is_local=one.is_local)]
    if allowed.takes(BUILTIN, is_local=True):
        may.append(BUILTIN)
    wanted = BUILTIN if asked in _BUILTIN_NAMES else asked
    if wanted is None and may:
        wanted = may[0]
    if wanted not in may:
        raise _not_allowed(may)
    return None if wanted == BUILTIN else readers[wanted]


def _not_allowed(may: Sequence[str]) -> PermissionDenied:
    listed = f"only {', '.join(may)}" if may else "no model of the settings"
    return PermissionDenied(
        f"model: {listed} may read this namespace.",
        Reason.MODEL_NOT_ALLOWED,
        metadata={"allowedModels": ",".join(may)},
    )
