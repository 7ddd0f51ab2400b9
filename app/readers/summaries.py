"""Summarises all that a namespace has: by a model in parts, or without one by sentences."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from app.core.errors import InvalidArgument
from app.db.session import Database
from app.readers import extractive, lookups
from app.readers.asking import Asking
from app.readers.opening import Opened, changed
from app.readers.packing import pack
from app.readers.prompts import Summarised, Summarising, summary, within
from app.readers.summarising import LEAST_PART_TOKENS, Parts, calls_of, part_tokens

_PAGE = 200
_BOUNDLESS = 10**9


@dataclass(frozen=True)
class Summary:
    """A summary; `is_cut`: its end is missing. `chunks_used`: the pieces that were read."""

    text: str
    chunks_used: int
    is_cut: bool = False


async def by_sentences(db: Database, opened: Opened, wish: Summarising) -> Summary:
    """Summarise with the sentences that say most of what the texts say.

    Raises:
        Aborted: what is read was deleted meanwhile.
    """
    keys = [(one.content_id, n) for one in opened.artifacts for n in range(one.chunks)]
    wanted = [keys[place] for place in extractive.spaced(len(keys))]
    async with db.snapshot() as session:
        pieces = await lookups.get_pieces(session, opened.name, opened.now, wanted)
    if not pieces:
        raise changed(opened.name)
    shown = pack(pieces, _BOUNDLESS).shown
    made = await asyncio.to_thread(extractive.summary, shown, wish.max_tokens)
    return Summary(made.text, len(pieces))


@dataclass(frozen=True)
class Calls:
    """The calls of a model for one summary: at most so many."""

    asking: Asking
    most: int

    def part_tokens(self, opened: Opened, wish: Summarising) -> int:
        """Return the most tokens of text in one call.

        Raises:
            InvalidArgument: the model has no room for a part; or there would be too many.
        """
        reader = self.asking.reader
        window = reader.model.max_input_tokens
        room = part_tokens(window, wish)
        if room < LEAST_PART_TOKENS:
            raise InvalidArgument.of_field(
                "maxTokens", f"leaves no room to read: {reader.name} takes {window} tokens."
            )
        calls = calls_of(opened.tokens, room)
        if calls > self.most:
            raise InvalidArgument.of_field(
                "model",
                f"{reader.name} would be called {calls} times, and a request may call it"
                f" {self.most} times; name one of a longer window, or builtin, or ask a query.",
            )
        return room


async def by_model(db: Database, calls: Calls, opened: Opened, wish: Summarising) -> Summary:
    """Have a model summarise part after part, each with the summary of those before.

    Raises:
        Aborted: what is read was deleted meanwhile.
        InvalidArgument: as `Calls.part_tokens`.
        ServiceError: as `Asking.ask`.
    """
    most = calls.part_tokens(opened, wish)
    text = written = ""
    async for part in _parts(db, opened, most):
        written = (await calls.asking.ask(summary(part, text, wish), Summarised)).summary
        text = within(written, wish.max_tokens)
    return Summary(text, opened.chunks, is_cut=text != written)


async def _parts(db: Database, opened: Opened, most_tokens: int) -> AsyncIterator[str]:
    """Yield the texts in parts for a model; no transaction is open at any."""
    parts = Parts(most_tokens)
    last, count = opened.artifacts[-1].ordinal, 0
    after: tuple[int, int] | None = None
    while True:
        async with db.snapshot() as session:
            page = await lookups.list_pieces(session, opened.name, opened.now, after, _PAGE)
        # What has come since is not read.
        page = [piece for piece in page if piece.ordinal <= last]
        if not page:
            break
        count += len(page)
        after = page[-1].ordinal, page[-1].chunk.n
        for part in parts.feed(page):
            yield part
    if count != opened.chunks:
        raise changed(opened.name)
    for part in parts.end():
        yield part
