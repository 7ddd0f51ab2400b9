"""Chooses which reader reads a namespace, of those that may."""

from collections.abc import Mapping, Sequence

from app.adapters.llm.readers import Reader
from app.artifacts.tasks.logic.allowing import BUILTIN_NAMES, Allowed
from app.kernel.errors import PermissionDenied, Reason
from app.kernel.wire.memory_policy import BUILTIN


def choose(
    asked: str | None,
    readers: Mapping[str, Reader],
    allowed: Allowed,
    *,
    is_sensitive: bool = False,
) -> Reader | None:
    """Return the reader that is asked for, or else the first that may read; None: the built-in one.

    What is sensitive goes to a remote one only by name, or where no other may read it.

    Raises:
        PermissionDenied: it may not read this, or is not known; or none is, that may.
    """
    may = [name for name, one in readers.items() if allowed.takes(name, is_local=one.is_local)]
    if allowed.takes(BUILTIN, is_local=True):
        may.append(BUILTIN)
    wanted = BUILTIN if asked in BUILTIN_NAMES else asked
    if wanted is None and may:
        local = [name for name in may if name == BUILTIN or readers[name].is_local]
        wanted = (local if is_sensitive and local else may)[0]
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
