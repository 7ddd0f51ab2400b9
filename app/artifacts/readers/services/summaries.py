"""Summaries of a whole namespace, by a model in parts or by extraction of sentences."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import accumulate

from app.adapters.resources import Resources
from app.artifacts.readers.logic.packing import pack
from app.artifacts.readers.logic.prompts import ReaderSummary, SummaryOptions, summary, within
from app.artifacts.readers.logic.summarising import SummaryParts, SummaryRoom, calls_of, room_for
from app.artifacts.readers.services import extractive
from app.artifacts.readers.services.calls import Asking
from app.artifacts.readers.services.open_namespace import OpenNamespace, changed, reading
from app.artifacts.readers.store import lookups
from app.kernel.errors import InvalidArgument

_PAGE = 200
_BOUNDLESS = 10**9


@dataclass(frozen=True)
class NamespaceSummary:
    """A summary; `chunks_used` counts the chunks read, `is_cut` means that its end is missing."""

    text: str
    chunks_used: int
    is_cut: bool = False


async def by_sentences(
    resources: Resources, opened: OpenNamespace, wish: SummaryOptions
) -> NamespaceSummary:
    """Summarise by extracting the sentences with the most frequent words.

    Raises:
        Aborted: the namespace was deleted or changed meanwhile.
    """
    wanted = _spaced_keys(opened)
    async with reading(resources, opened) as (session, texts):
        pieces = await lookups.get_pieces(session, texts, wanted)
    if len(pieces) != len(wanted):
        raise changed(opened.name)
    shown = pack(pieces, _BOUNDLESS).shown
    made = await asyncio.to_thread(extractive.summary, shown, wish.max_tokens)
    return NamespaceSummary(made.text, len(pieces))


def _spaced_keys(opened: OpenNamespace) -> list[tuple[str, int]]:
    """Return the keys of the chunks to read for a summary without a model."""
    ends = list(accumulate(artifact.chunks for artifact in opened.artifacts))
    keys = []
    for place in extractive.spaced(opened.chunks):
        number = bisect_right(ends, place)
        artifact = opened.artifacts[number]
        keys.append((artifact.content_id, place - ends[number] + artifact.chunks))
    return keys


@dataclass(frozen=True)
class Calls:
    """The model calls for one summary, limited to `most`."""

    asking: Asking
    most: int

    def room(self, wish: SummaryOptions) -> SummaryRoom:
        """Return the room in one call.

        Raises:
            InvalidArgument: a part would not fit into the model's window, or the calls would exceed
                the limit.
        """
        reader, opened = self.asking.reader, self.asking.opened
        window = reader.model.max_input_tokens
        room = room_for(window, wish)
        if not room.is_enough:
            raise InvalidArgument.of_field(
                "maxTokens", f"leaves no room to read: {reader.name} takes {window} tokens."
            )
        tokens = sum(artifact.tokens for artifact in opened.artifacts)
        self.check(calls_of(tokens, [artifact.name for artifact in opened.artifacts], room))
        return room

    def check(self, calls: int) -> None:
        """Check that this number of calls is allowed.

        Raises:
            InvalidArgument: it is not. The error omits the number, since that would reveal the
                length of texts, which may be sensitive.
        """
        if calls > self.most:
            raise InvalidArgument.of_field(
                "model",
                f"{self.asking.reader.name} would be called more than {self.most} times, the"
                " limit of a request; choose a model with a longer window, builtin, or a query.",
            )


async def by_model(calls: Calls, wish: SummaryOptions) -> NamespaceSummary:
    """Summarise part by part with a model; each call includes the summary of the earlier parts.

    Raises:
        Aborted: the namespace was deleted or changed meanwhile.
        InvalidArgument: see `Calls.room`.
        ServiceError: see `Asking.ask`.
    """
    room = calls.room(wish)
    text, made, is_cut = "", 0, False
    async for part in _parts(calls.asking, room):
        made += 1
        calls.check(made)
        written = (await calls.asking.ask(summary(part, text, wish), ReaderSummary)).summary
        text = within(written, wish.max_tokens)
        # A cut in one summary also affects the later ones.
        is_cut |= text != written
    return NamespaceSummary(text, calls.asking.opened.chunks, is_cut)


async def _parts(asking: Asking, room: SummaryRoom) -> AsyncIterator[str]:
    """Yield the texts in parts for a model; no transaction is open while it yields."""
    parts, opened = SummaryParts(room), asking.opened
    count = 0
    after: tuple[int, int] | None = None
    while count < opened.chunks:
        async with reading(asking.resources, opened) as (session, texts):
            page = await lookups.list_pieces(session, texts, after, _PAGE)
        if not page:
            raise changed(opened.name)
        count += len(page)
        after = page[-1].ordinal, page[-1].chunk.n
        for part in parts.feed(page):
            yield part
    for part in parts.end():
        yield part
