"""Opens a namespace for a reader: who may, what is there to read, and by which model.

A text whose indexing was given up is from then on none.
"""

import asyncio
from collections.abc import Sequence

from app.adapters.resources import Resources
from app.artifacts.readers.schemas import Reading
from app.artifacts.readers.services.calls import GivenUp, check_awaited
from app.artifacts.readers.services.choosing import choose
from app.artifacts.readers.services.opened import Opened
from app.artifacts.readers.store import lookups
from app.artifacts.tasks.logic.allowing import Allowed
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.contents import Place
from app.artifacts.tasks.store.indexing import give_up, list_given_up
from app.kernel.auth import Caller
from app.kernel.errors import Aborted, InvalidArgument, PermissionDenied, Reason
from app.kernel.permissions import Permission
from app.kernel.task_names import NamespaceName, TaskMemoryName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import name_of

MAX_DEPTH = 3
"""How many derivations there may be between a result and what a tool has put out."""
MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS, _LONGEST_POLL_SECONDS, _LONGER = 0.2, 2.0, 1.5
"""Between two looks at what is waited for: first, at most, and how much longer each time."""


async def open_namespace(
    resources: Resources,
    name: NamespaceName,
    request: Reading,
    caller: Caller,
    is_given_up: GivenUp,
) -> Opened:
    """Return what a request may read. Waits for texts that are being cut, if the request does.

    Raises:
        Aborted: a text is still being cut; or the result would be derived too often.
        Cancelled: nobody waits for that any more.
        InvalidArgument: nothing in the namespace has a text.
        NotFound: there is no such namespace.
        PermissionDenied: the caller may not have the result in the prompt, or the model not the
            content.
    """
    deadline = _time() + MAX_WAIT_SECONDS
    while True:
        found, indexing = await _found(resources, name, request, caller)
        if not indexing:
            return _checked(found, request)
        if not await _settled(resources, found.name, indexing):
            if not request.wait:
                raise _not_ready(name)
            await _ended(resources, found.name, indexing, is_given_up, deadline)
        if _time() >= deadline:
            raise _not_ready(name)


async def _ended(
    resources: Resources,
    name: NamespaceName,
    indexing: Sequence[str],
    is_given_up: GivenUp,
    deadline: float,
) -> None:
    """Wait until no worker cuts any of some contents any more, or the deadline.

    Many may wait, for long: each looks at nothing else, and ever more seldom.

    Raises:
        Cancelled: nobody waits for that any more.
    """
    pause = _POLL_SECONDS
    while (left := deadline - _time()) > 0:
        await check_awaited(is_given_up)
        await asyncio.sleep(min(pause, left))
        async with resources.db.snapshot() as session:
            ended = await list_given_up(session, name.memory.engine.engine, indexing)
        if len(ended) == len(indexing):
            return
        pause = min(pause * _LONGER, _LONGEST_POLL_SECONDS)


def _time() -> float:
    return asyncio.get_running_loop().time()


def _not_ready(name: NamespaceName) -> Aborted:
    message = f"namespaces/{name.namespace} has texts that are not cut up yet; ask again."
    return Aborted(message, Reason.NOT_READY, retry_after_seconds=1)


async def _settled(resources: Resources, name: NamespaceName, indexing: Sequence[str]) -> bool:
    """Settle what no worker indexes any more; say whether there was any."""
    memory = name.memory
    async with resources.db.snapshot() as session:
        stuck = await list_given_up(session, memory.engine.engine, indexing)
    for content_id in stuck:
        place = Place(memory.engine.engine, memory.memory, name.namespace, content_id)
        async with resources.db.transaction() as session:
            await give_up(session, place)
    return bool(stuck)


async def _found(
    resources: Resources, name: NamespaceName, request: Reading, caller: Caller
) -> tuple[Opened, Sequence[str]]:
    """Return a namespace, and which of its contents are being cut."""
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.memory.engine))
        row = await repository.get_namespace(session, name, now)
        inside = await lookups.measure(session, name, now)
        artifacts = await lookups.list_readable(session, name, now)
    may_show = not row.sensitive or caller.may(Permission.ARTIFACTS_CONTENT)
    if not request.off_prompt and not may_show:
        raise PermissionDenied(
            "offPrompt: must be true: what the namespace holds is sensitive, and what is made of it"
            " is shown with artifacts.content only.",
            Reason.INLINE_DENIED,
            metadata={"permission": Permission.ARTIFACTS_CONTENT.value},
        )
    allowed = Allowed(row.local_only, row.allowed_models)
    readers = resources.readers.by_name
    reader = choose(request.model, readers, allowed, is_sensitive=row.sensitive)
    full = NamespaceName(TaskMemoryName(engine, name.memory.memory), name.namespace)
    opened = Opened(full, row, reader, artifacts, inside.unreadable, may_show)
    return opened, inside.indexing


def _checked(opened: Opened, request: Reading) -> Opened:
    if not opened.artifacts:
        raise InvalidArgument(
            f"namespaces/{opened.name.namespace} has no text that could be read.",
            Reason.NO_READABLE_ARTIFACTS,
            metadata={"artifacts": str(opened.unreadable)},
        )
    if request.off_prompt and opened.depth > MAX_DEPTH:
        raise Aborted(
            f"offPrompt: what is here was derived {MAX_DEPTH} times already, and the result would"
            " be derived once more; ask for it in the prompt.",
            Reason.DERIVATION_TOO_DEEP,
            metadata={"maxDepth": str(MAX_DEPTH)},
        )
    return opened
