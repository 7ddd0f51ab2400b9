"""Choice of the reader for a namespace among the permitted readers."""

from collections.abc import Mapping, Sequence

from app.adapters.llm.models import ReaderHandle
from app.artifacts.tasks.logic.allowing import BUILTIN_NAMES, Allowed
from app.kernel.errors import PermissionDenied, Reason
from app.kernel.wire.memory_policy import BUILTIN


def choose(
    asked: str | None,
    readers: Mapping[str, ReaderHandle],
    allowed: Allowed,
    *,
    is_sensitive: bool = False,
) -> ReaderHandle | None:
    """Return the requested reader, or the first permitted one; None means the built-in reader.

    Sensitive content goes to a remote reader only if the request names it, or if no local reader is
    permitted.

    Raises:
        PermissionDenied: the requested reader is unknown or not permitted, or none is permitted.
    """
    may = [
        name for name, reader in readers.items() if allowed.takes(name, is_local=reader.is_local)
    ]
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
