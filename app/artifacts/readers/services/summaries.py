"""Summarises all that a namespace has: by a model in parts, or without one by sentences."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import accumulate

from app.adapters.resources import Resources
from app.artifacts.readers.logic.packing import pack
from app.artifacts.readers.logic.prompts import Summarised, Summarising, summary, within
from app.artifacts.readers.logic.summarising import Parts, Room, calls_of, room_for
from app.artifacts.readers.services import extractive
from app.artifacts.readers.services.calls import Asking
from app.artifacts.readers.services.opened import Opened, changed, reading
from app.artifacts.readers.store import lookups
from app.kernel.errors import InvalidArgument

_PAGE = 200
_BOUNDLESS = 10**9


@dataclass(frozen=True)
class Summary:
    """A summary; `is_cut`: its end is missing. `chunks_used`: the pieces that were read."""

    text: str
    chunks_used: int
    is_cut: bool = False


async def by_sentences(resources: Resources, opened: Opened, wish: Summarising) -> Summary:
    """Summarise with the sentences that say most of what the texts say.

    Raises:
        Aborted: what is read was deleted or changed meanwhile.
    """
    wanted = _spaced_keys(opened)
    async with reading(resources, opened) as (session, texts):
        pieces = await lookups.get_pieces(session, texts, wanted)
    if len(pieces) != len(wanted):
        raise changed(opened.name)
    shown = pack(pieces, _BOUNDLESS).shown
    made = await asyncio.to_thread(extractive.summary, shown, wish.max_tokens)
    return Summary(made.text, len(pieces))


def _spaced_keys(opened: Opened) -> list[tuple[str, int]]:
    """Return contents and numbers of the pieces that a summary without a model is made of."""
    ends = list(accumulate(one.chunks for one in opened.artifacts))
    keys = []
    for place in extractive.spaced(opened.chunks):
        number = bisect_right(ends, place)
        one = opened.artifacts[number]
        keys.append((one.content_id, place - ends[number] + one.chunks))
    return keys


@dataclass(frozen=True)
class Calls:
    """The calls of a model for one summary: at most so many."""

    asking: Asking
    most: int

    def room(self, wish: Summarising) -> Room:
        """Return what there is room for in one call.

        Raises:
            InvalidArgument: the model has no room for a part; or there would be too many.
        """
        reader, opened = self.asking.reader, self.asking.opened
        window = reader.model.max_input_tokens
        room = room_for(window, wish)
        if not room.is_enough:
            raise InvalidArgument.of_field(
                "maxTokens", f"leaves no room to read: {reader.name} takes {window} tokens."
            )
        tokens = sum(one.tokens for one in opened.artifacts)
        self.check(calls_of(tokens, [one.name for one in opened.artifacts], room))
        return room

    def check(self, calls: int) -> None:
        """Make sure that so many calls may be made.

        Raises:
            InvalidArgument: they may not. How many it would be, which is how long the texts are, is
                not told: they may be sensitive.
        """
        if calls > self.most:
            raise InvalidArgument.of_field(
                "model",
                f"{self.asking.reader.name} would be called more than {self.most} times, the most"
                " for a request; name one of a longer window, or builtin, or ask a query.",
            )


async def by_model(calls: Calls, wish: Summarising) -> Summary:
    """Have a model summarise part after part, each with the summary of those before.

    Raises:
        Aborted: what is read was deleted or changed meanwhile.
        InvalidArgument: as `Calls.room`.
        ServiceError: as `Asking.ask`.
    """
    room = calls.room(wish)
    text, made, is_cut = "", 0, False
    async for part in _parts(calls.asking, room):
        made += 1
        calls.check(made)
        written = (await calls.asking.ask(summary(part, text, wish), Summarised)).summary
        text = within(written, wish.max_tokens)
        # What one of them lacks, those after it lack, too.
        is_cut |= text != written
    return Summary(text, calls.asking.opened.chunks, is_cut)


async def _parts(asking: Asking, room: Room) -> AsyncIterator[str]:
    """Yield the texts in parts for a model; no transaction is open at any."""
    parts, opened = Parts(room), asking.opened
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
