"""Opens a namespace for a reader: who may, what is there to read, and by which model.

A text whose indexing was given up is from then on none.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.auth import Caller
from app.core.errors import Aborted, InvalidArgument, PermissionDenied, Reason
from app.core.names import NamespaceName, TaskMemoryName
from app.core.permissions import Permission
from app.engines import repository as engines
from app.engines.schemas import name_of
from app.llm.readers import Reader
from app.readers import lookups
from app.readers.asking import GivenUp, check_awaited
from app.readers.choosing import Allowed, choose
from app.readers.lookups import Readable
from app.readers.schemas import Coverage, Reading
from app.resources import Resources
from app.tasks import repository
from app.tasks.contents import Place
from app.tasks.indexing import give_up, list_given_up
from app.tasks.tables import NamespaceRow

MAX_DEPTH = 3
"""How many derivations there may be between a result and what a tool has put out."""
MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Opened:
    """A namespace that may be read.

    Attributes:
        name: with the engine's full name.
        reader: None: the built-in one.
        artifacts: those that have a text, in their order.
        unreadable: how many others there are.
        now: the moment as of which it is read.
        may_show: whether the caller may be shown what is made of it.
    """

    name: NamespaceName
    row: NamespaceRow
    reader: Reader | None
    artifacts: Sequence[Readable]
    unreadable: int
    now: datetime
    may_show: bool

    @property
    def chunks(self) -> int:
        """How many pieces the texts have."""
        return sum(one.chunks for one in self.artifacts)

    @property
    def tokens(self) -> int:
        """About how many tokens the texts have."""
        return sum(one.tokens for one in self.artifacts)

    @property
    def depth(self) -> int:
        """How many derivations a result of these is away from what a tool has put out."""
        return max(one.depth for one in self.artifacts) + 1

    def coverage(self, chunks_used: int, *, truncated: bool) -> Coverage:
        """Return how much of it was read.

        What depends on the content is only for who may be shown that: by what many questions find,
        it could be guessed.
        """
        return Coverage(
            chunks_total=self.chunks if self.may_show else None,
            chunks_used=chunks_used if self.may_show else None,
            truncated=truncated if self.may_show else None,
            artifacts_total=len(self.artifacts) + self.unreadable,
            artifacts_unreadable=self.unreadable,
        )


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
    deadline = asyncio.get_running_loop().time() + MAX_WAIT_SECONDS
    while True:
        found, indexing = await _found(resources, name, request, caller)
        if not indexing:
            return _checked(found, request)
        if await _settled(resources, found.name, indexing):
            continue
        if not request.wait or asyncio.get_running_loop().time() >= deadline:
            message = f"namespaces/{name.namespace} has texts that are not cut up yet; ask again."
            raise Aborted(message, Reason.NOT_READY, retry_after_seconds=1)
        await check_awaited(is_given_up)
        await asyncio.sleep(_POLL_SECONDS)


def changed(name: NamespaceName) -> Aborted:
    """Return what says that a namespace is not any more what was read."""
    message = f"namespaces/{name.namespace} was changed while it was read; ask again."
    return Aborted(message, Reason.CONCURRENT_CHANGE)


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
    reader = choose(request.model, resources.readers.by_name, allowed)
    full = NamespaceName(TaskMemoryName(engine, name.memory.memory), name.namespace)
    opened = Opened(full, row, reader, artifacts, inside.unreadable, now, may_show)
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
