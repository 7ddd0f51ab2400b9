"""Summaries of a whole namespace, by a model in parts or by extraction of sentences."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from itertools import accumulate

from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.logic import (
    ReaderSummary,
    SummaryOptions,
    SummaryParts,
    SummaryRoom,
    calls_of,
    pack,
    room_for,
    summary,
    within,
)
from app.artifacts.readers.services import extractive
from app.artifacts.readers.services.calls import Asking
from app.artifacts.readers.services.open_namespace import OpenNamespace, Reading, changed, reading
from app.kernel.errors import InvalidArgument

_PAGE = 200
_BOUNDLESS = 10**9


async def summarise(
    resources: Resources, opened: OpenNamespace, asking: Asking | None, wish: SummaryOptions
) -> Reading:
    """Summarise by a model in parts, or without one by the sentences with the most frequent words.

    Raises:
        Aborted: the namespace was deleted or changed meanwhile.
        InvalidArgument: a part would not fit into the model's window, or the calls would exceed the
            limit.
        ServiceError: see `Asking.ask`.
    """
    if asking is None:
        return await _by_sentences(resources, opened, wish)
    return await _by_model(asking, wish)


async def _by_sentences(
    resources: Resources, opened: OpenNamespace, wish: SummaryOptions
) -> Reading:
    wanted = _spaced_keys(opened)
    async with reading(resources, opened) as (session, texts):
        pieces = await store.get_pieces(session, texts, wanted)
    if len(pieces) != len(wanted):
        raise changed(opened.name)
    shown = pack(pieces, _BOUNDLESS).shown
    excerpt = await asyncio.to_thread(extractive.summary, shown, wish.max_tokens)
    return Reading(excerpt.text, len(pieces), truncated=len(pieces) < opened.chunks)


def _spaced_keys(opened: OpenNamespace) -> list[tuple[str, int]]:
    ends = list(accumulate(artifact.chunks for artifact in opened.artifacts))
    keys = []
    for place in extractive.spaced(opened.chunks):
        number = bisect_right(ends, place)
        artifact = opened.artifacts[number]
        keys.append((artifact.content_id, place - ends[number] + artifact.chunks))
    return keys


async def _by_model(asking: Asking, wish: SummaryOptions) -> Reading:
    """Summarise part by part; each call includes the summary of the earlier parts."""
    room = _room(asking, wish)
    text, calls, is_cut = "", 0, False
    async for part in _parts(asking, room):
        calls += 1
        _check_calls(asking, calls)
        written = (await asking.ask(summary(part, text, wish), ReaderSummary)).summary
        text = within(written, wish.max_tokens)
        # A cut in one summary also affects the later ones.
        is_cut |= text != written
    return Reading(text, asking.opened.chunks, truncated=False, is_cut=is_cut)


def _room(asking: Asking, wish: SummaryOptions) -> SummaryRoom:
    """Return the room for text in one call, if that is enough for the limit of calls."""
    artifacts, window = asking.opened.artifacts, asking.reader.model.max_input_tokens
    room = room_for(window, wish)
    if not room.is_enough:
        raise InvalidArgument.of_field(
            "maxTokens", f"leaves no room to read: {asking.reader.name} takes {window} tokens."
        )
    tokens = sum(artifact.tokens for artifact in artifacts)
    _check_calls(asking, calls_of(tokens, [artifact.name for artifact in artifacts], room))
    return room


def _check_calls(asking: Asking, calls: int) -> None:
    """Check that a summary may take this number of calls.

    The error omits the number, since that would reveal the length of texts, which may be sensitive.
    """
    most = asking.resources.settings.tuning.task_max_summary_calls
    if calls > most:
        raise InvalidArgument.of_field(
            "model",
            f"{asking.reader.name} would be called more than {most} times, the limit of a request;"
            " choose a model with a longer window, builtin, or a query.",
        )


async def _parts(asking: Asking, room: SummaryRoom) -> AsyncIterator[str]:
    """Yield the texts in parts for a model; no transaction is open while it yields."""
    parts, opened = SummaryParts(room), asking.opened
    count = 0
    after: tuple[int, int] | None = None
    while count < opened.chunks:
        async with reading(asking.resources, opened) as (session, texts):
            page = await store.list_pieces(session, texts, after, _PAGE)
        if not page:
            raise changed(opened.name)
        count += len(page)
        after = page[-1].ordinal, page[-1].chunk.n
        for part in parts.feed(page):
            yield part
    for part in parts.end():
        yield part
