"""Answers to questions from a namespace, and summaries of it, by a model or by sentences."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import structlog

from app.adapters.llm.ports import IMAGE_TOKENS, Vectors
from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.logic import (
    Answered,
    ReaderSummary,
    ShownChunk,
    SummaryOptions,
    SummaryParts,
    SummaryRoom,
    best_first,
    calls_of,
    fused,
    lined,
    pack,
    passage,
    passage_tokens,
    question,
    room_for,
    room_of,
    summary,
    within,
)
from app.artifacts.readers.schemas import Citation, QueryNamespaceRequest
from app.artifacts.readers.services import extractive
from app.artifacts.readers.services.reading_session import (
    Asking,
    OpenNamespace,
    Reading,
    changed,
    reading,
)
from app.artifacts.tasks.services.preparing import embedder_of
from app.artifacts.tasks.store import indexing
from app.kernel.errors import InvalidArgument, Reason, ServiceError
from app.language.chunking import Piece
from app.language.tokens import estimate_tokens
from app.memory.memories.services.embedding import EngineEmbedding

log = structlog.get_logger()

_CANDIDATES = 200
"""Number of chunks with the rarest words to choose from."""
_NEAREST = 200
"""Number of nearest chunks to rank: the maximum that a reader is shown."""
_BOUNDLESS = 10**9
_MAX_CITATIONS = 100


async def answer(
    resources: Resources,
    opened: OpenNamespace,
    asking: Asking | None,
    request: QueryNamespaceRequest,
) -> Reading:
    """Answer a question by a model, or without one by extracted sentences.

    Raises:
        Aborted: the namespace has changed since it was opened.
        InvalidArgument: no chunk fits into the model's window with the question and the answer.
        ServiceError: see `Asking.ask`.
    """
    pieces = await _find_pieces(resources, opened, request.query, request.top_k)
    if opened.artifacts and not pieces:
        raise changed(opened.name)
    if asking is None:
        made = await _by_sentences(pieces, request)
    else:
        made = await _by_model(asking, pieces, request)
    return replace(made, citations=await _paged(resources, opened, made.citations))


async def _paged(
    resources: Resources, opened: OpenNamespace, citations: Sequence[Citation]
) -> list[Citation]:
    """Return citations with the pages of the PDFs among their artifacts."""
    paged = {one.name: one.content_id for one in opened.artifacts if one.has_pages}
    places = [(paged[one.artifact], one.start) for one in citations if one.artifact in paged]
    if not places:
        return list(citations)
    async with reading(resources, opened) as (session, texts):
        pages = await store.find_pages(session, texts, places)
    return [
        one.model_copy(update={"page": pages[paged[one.artifact], one.start]})
        if one.artifact in paged
        else one
        for one in citations
    ]


async def _find_pieces(
    resources: Resources, opened: OpenNamespace, query: str, top_k: int
) -> list[Piece]:
    """Return the chunks that may answer a question, best first, found by words and by vectors.

    Without any, return the first chunks: the question may be about the whole, or in another
    language.
    """
    near = await _find_near(resources, opened, query)
    async with reading(resources, opened) as (session, texts):
        by_words = await store.find_best(session, texts, query, _CANDIDATES)
        if not by_words and not near:
            return await store.list_pieces(session, texts, None, top_k)
    ranked = await asyncio.to_thread(best_first, query, by_words, opened.chunks)
    return fused([ranked or by_words, near])[:top_k]


async def _find_near(resources: Resources, opened: OpenNamespace, query: str) -> list[Piece]:
    """Return the chunks nearest to a question, by the namespace's model; empty without vectors.

    If the model fails, the search by words still works.
    """
    embedder = embedder_of(resources.embedders, opened.row)
    if embedder is None:
        return []
    async with reading(resources, opened) as (session, texts):
        if not await indexing.has_any(session, opened.name, embedder.model_id, texts.now):
            return []
    vector = await _embed_query(resources, embedder.model_id, query)
    if vector is None:
        return []
    async with reading(resources, opened) as (session, texts):
        nearest = await indexing.list_nearest(
            session, texts.selected(), embedder.model_id, vector, _NEAREST
        )
        pieces = await store.get_pieces(session, texts, list(nearest))
    at = {(piece.ordinal, piece.chunk.n): piece for piece in pieces}
    places = [(ordinal, n) for (_, n), ordinal in nearest.items()]
    return [at[place] for place in places if place in at]


async def _embed_query(resources: Resources, model_id: str, query: str) -> Vectors | None:
    embedding = EngineEmbedding.of(resources)
    try:
        async with asyncio.timeout(embedding.query_seconds):
            return await embedding.embedded_query(model_id, query)
    except TimeoutError:
        trouble = Reason.MODEL_TIMEOUT
    except ServiceError as error:
        trouble = error.reason
    log.warning("task_query.not_embedded", model_id=model_id, reason=trouble)
    return None


async def _by_sentences(pieces: Sequence[Piece], request: QueryNamespaceRequest) -> Reading:
    packed = pack(pieces, _BOUNDLESS)
    excerpt = await asyncio.to_thread(
        extractive.answer, request.query, packed.shown, request.answer_tokens
    )
    return Reading(excerpt.text, packed.chunks_used, packed.truncated, excerpt.citations)


async def _by_model(
    asking: Asking, pieces: Sequence[Piece], request: QueryNamespaceRequest
) -> Reading:
    tokens, window = request.answer_tokens, asking.reader.model.max_input_tokens
    images = asking.opened.image_passages
    of_images = len(images) * IMAGE_TOKENS
    asked = replace(question(request.query, images, tokens), image_tokens=of_images)
    packed = pack(pieces, room_of(window, tokens, asked.tokens), passage_tokens)
    if (pieces and not packed.shown) or tokens + asked.tokens > window:
        raise InvalidArgument.of_field(
            "answerTokens",
            f"leaves no room to read: {asking.reader.name} takes {window} tokens, the question"
            f" {asked.tokens}.",
        )
    shown = [*packed.shown, *images]
    asked = replace(question(request.query, shown, tokens), image_tokens=of_images)
    reply = await asking.ask(asked, Answered)
    text, citations = within(reply.answer, tokens), cited(reply.citations, shown)
    return Reading(text, packed.chunks_used, packed.truncated, citations)


def cited(numbers: Iterable[int], shown: Sequence[ShownChunk]) -> list[Citation]:
    """Return citations, in text order, for the passage numbers, from 1, that a reader cites.

    Duplicates, and numbers that the model made up, are dropped.
    """
    known = sorted({number for number in numbers if 1 <= number <= len(shown)})
    passages = [shown[number - 1] for number in known[:_MAX_CITATIONS]]
    return [extractive.citation_of(passage, passage.start, passage.end) for passage in passages]


_PAGE = 200


async def summarise(
    resources: Resources, opened: OpenNamespace, asking: Asking | None, wish: SummaryOptions
) -> Reading:
    """Summarise by a model in parts, or without one by the sentences with the most frequent words.

    Raises:
        Aborted: the namespace was deleted or changed meanwhile.
        InvalidArgument: a part would not fit into the model's window, or the calls exceed the
            limit.
        ServiceError: see `Asking.ask`.
    """
    if asking is None:
        return await _summed_by_sentences(resources, opened, wish)
    return await _summed_by_model(asking, wish)


async def _summed_by_sentences(
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


async def _summed_by_model(asking: Asking, wish: SummaryOptions) -> Reading:
    room = _room(asking, wish)
    text, calls, is_cut = "", 0, False
    async for part in _parts(asking, room):
        calls += 1
        check_calls(asking, calls)
        # Images have a call of their own, which is the first.
        images = len(asking.opened.images) if calls == 1 else 0
        asked = replace(summary(part, text, wish), image_tokens=images * IMAGE_TOKENS)
        written = (await asking.ask(asked, ReaderSummary)).summary
        text = within(written, wish.max_tokens)
        # A cut in one summary also affects the later ones.
        is_cut |= text != written
    return Reading(text, asking.opened.chunks, truncated=False, is_cut=is_cut)


def _room(asking: Asking, wish: SummaryOptions) -> SummaryRoom:
    artifacts, window = asking.opened.artifacts, asking.reader.model.max_input_tokens
    room, images = room_for(window, wish), len(asking.opened.images)
    of_images = estimate_tokens(_images_part(asking.opened)) + images * IMAGE_TOKENS
    if not room.is_enough or of_images > room.shown_tokens:
        raise InvalidArgument.of_field(
            "maxTokens", f"leaves no room to read: {asking.reader.name} takes {window} tokens."
        )
    tokens = sum(artifact.tokens for artifact in artifacts)
    check_calls(asking, calls_of(tokens, [artifact.name for artifact in artifacts], room))
    return room


def check_calls(asking: Asking, calls: int) -> None:
    """Check that reading a whole namespace may take this number of calls.

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
    parts = SummaryParts(room)
    if asking.opened.images:
        yield _images_part(asking.opened)
    async for page in all_pieces(asking):
        for part in parts.feed(page):
            yield part
    for part in parts.end():
        yield part


def _images_part(opened: OpenNamespace) -> str:
    return lined("\n".join(map(passage, opened.image_passages)))


async def all_pieces(asking: Asking) -> AsyncIterator[Sequence[Piece]]:
    """Yield all chunks, in pages, ordered by artifact and position.

    Raises:
        Aborted: the namespace was deleted or changed meanwhile.
    """
    opened, count = asking.opened, 0
    after: tuple[int, int] | None = None
    while count < opened.chunks:
        async with reading(asking.resources, opened) as (session, texts):
            page = await store.list_pieces(session, texts, after, _PAGE)
        if not page:
            raise changed(opened.name)
        count += len(page)
        after = page[-1].ordinal, page[-1].chunk.n
        yield page
