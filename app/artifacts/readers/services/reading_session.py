"""Opening of a namespace for a reader: access checks, readable texts, choice of the model.

If the indexing of a text was given up, the artifact counts as having no text.
"""

import asyncio
from collections.abc import Mapping, Sequence

from app.adapters.llm.models import ReaderHandle
from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.schemas import ReadFields
from app.artifacts.readers.services.calls import check_awaited
from app.artifacts.readers.services.open_namespace import OpenNamespace, list_unread
from app.artifacts.tasks.logic import BUILTIN_NAMES, Allowed
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.indexing import failures, give_up, list_given_up
from app.artifacts.tasks.store.tables import ContentPlace
from app.kernel.auth import Caller
from app.kernel.errors import Aborted, InvalidArgument, PermissionDenied, Reason
from app.kernel.names import NamespaceName, TaskMemoryName
from app.kernel.permissions import Permission
from app.kernel.wire.memory_policy import BUILTIN
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.operations import GivenUp

MAX_DEPTH = 3
"""Maximum number of derivations between a tool's output and a result."""
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS, LONGEST_POLL_SECONDS, _LONGER = 0.2, 2.0, 1.5
"""Exponential backoff: first pause, longest pause, and growth factor."""


async def open_namespace(
    resources: Resources,
    name: NamespaceName,
    request: ReadFields,
    caller: Caller,
    is_given_up: GivenUp,
) -> OpenNamespace:
    """Return the texts that a request may read; wait for indexing if the request asks to.

    Raises:
        Aborted: a text is still being indexed, or the result would have too many derivations.
        Cancelled: the client no longer waits.
        InvalidArgument: no artifact in the namespace has a text.
        NotFound: the namespace does not exist.
        PermissionDenied: the caller may not have the result in the prompt, or the model may not
            read the content.
    """
    deadline = _time() + MAX_WAIT_SECONDS
    while True:
        opened, indexing = await _read_namespace(resources, name, request, caller)
        if not indexing:
            return _checked(opened, request)
        if not await _give_up_stuck(resources, opened.name, indexing):
            if not request.wait:
                raise await _not_ready(resources, opened.name, indexing)
            await _wait_until_indexed(resources, opened.name, indexing, is_given_up, deadline)
        if _time() >= deadline:
            raise await _not_ready(resources, opened.name, indexing)


async def _wait_until_indexed(
    resources: Resources,
    name: NamespaceName,
    indexing: Sequence[str],
    is_given_up: GivenUp,
    deadline: float,
) -> None:
    """Wait until no worker is indexing any of the contents, or until the deadline.

    Many requests may wait for a long time, so each polls with one query and exponential backoff.

    Raises:
        Cancelled: the client no longer waits.
    """
    pause = POLL_SECONDS
    while (left := deadline - _time()) > 0:
        await check_awaited(is_given_up)
        await asyncio.sleep(min(pause, left))
        async with resources.db.snapshot() as session:
            ended = await list_given_up(session, name.memory.engine.engine, indexing)
        if len(ended) == len(indexing):
            return
        pause = min(pause * _LONGER, LONGEST_POLL_SECONDS)


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _not_ready(resources: Resources, name: NamespaceName, indexing: Sequence[str]) -> Aborted:
    async with resources.db.snapshot() as session:
        failed = await failures(session, name.memory.engine.engine, indexing)
    message = f"namespaces/{name.namespace} has texts that are still being indexed; try again."
    if failed:
        message += f" The last attempt failed: {next(iter(failed.values()))}"
    return Aborted(message, Reason.NOT_READY, retry_after_seconds=1)


async def _give_up_stuck(
    resources: Resources, name: NamespaceName, indexing: Sequence[str]
) -> bool:
    """Mark texts that no worker will index any more as missing; return True if there were any."""
    memory = name.memory
    async with resources.db.snapshot() as session:
        stuck = await list_given_up(session, memory.engine.engine, indexing)
    for content_id in stuck:
        place = ContentPlace(memory.engine.engine, memory.memory, name.namespace, content_id)
        async with resources.db.transaction() as session:
            await give_up(session, place)
    return bool(stuck)


async def _read_namespace(
    resources: Resources, name: NamespaceName, request: ReadFields, caller: Caller
) -> tuple[OpenNamespace, Sequence[str]]:
    """Return an opened namespace, and the ids of its contents that are being indexed."""
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.memory.engine))
        row = await repository.get_namespace(session, name, now)
        unreadable, indexing = await store.measure(session, name, now)
        artifacts = await store.list_readable(session, name, now)
        unread = await list_unread(session, name, now) if unreadable else ()
    may_show = not row.sensitive or caller.may(Permission.ARTIFACTS_CONTENT)
    if not request.off_prompt and not may_show:
        raise PermissionDenied(
            "offPrompt: must be true: the namespace is sensitive, and inline results need"
            " artifacts.content.",
            Reason.INLINE_DENIED,
            metadata={"permission": Permission.ARTIFACTS_CONTENT.value},
        )
    allowed = Allowed(row.local_only, row.allowed_models)
    readers = resources.readers.by_name
    reader = choose(request.model, readers, allowed, is_sensitive=row.sensitive)
    full = NamespaceName(TaskMemoryName(engine, name.memory.memory), name.namespace)
    opened = OpenNamespace(full, row, reader, artifacts, unreadable, unread, may_show)
    return opened, indexing


def _checked(opened: OpenNamespace, request: ReadFields) -> OpenNamespace:
    if not opened.artifacts:
        raise _unreadable(opened)
    if request.off_prompt and opened.depth > MAX_DEPTH:
        raise Aborted(
            f"offPrompt: must be false: the content was already derived {MAX_DEPTH} times, the most"
            " that is stored.",
            Reason.DERIVATION_TOO_DEEP,
            metadata={"maxDepth": str(MAX_DEPTH)},
        )
    return opened


def _unreadable(opened: OpenNamespace) -> InvalidArgument:
    message = f"namespaces/{opened.name.namespace} has no readable text."
    failed = next(
        (artifact.failure for artifact in opened.unread if artifact.failure is not None), None
    )
    if failed is not None:
        message += f" The indexing of an artifact failed: {failed}"
    metadata = {"artifacts": str(opened.unreadable)}
    return InvalidArgument(message, Reason.NO_READABLE_ARTIFACTS, metadata=metadata)


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
