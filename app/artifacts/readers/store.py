"""Searches for chunks of texts: the best ones for a question, or all in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    Text,
    and_,
    case,
    cast,
    column,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR, array

from app.adapters.db.lexical import QueryText, joined, lexemes, quoted, rarity
from app.adapters.db.session import Session
from app.artifacts.readers.logic import TEXT_PAGE_CHARS, text_page
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.store.tables import ArtifactRow, ChunkRow, NamespaceRow, is_in, is_readable
from app.kernel.names import NamespaceName, TaskMemoryName
from app.language import grams
from app.language.bm25 import MAX_TERMS
from app.language.chunking import Chunk, Piece, text_of
from app.language.terms import folded

_NO_OFFSET: ColumnElement[int] = literal_column("0")
"""`OFFSET 0`, which prevents the planner from flattening a subquery."""
_PLACE_AND_TEXT = (ChunkRow.n, ChunkRow.start_offset, ChunkRow.end_offset, ChunkRow.text)
_CHUNKS_AT_ONCE = 100
_PROBES = 50
"""Number of chunks whose offsets are compared at once."""


@dataclass(frozen=True)
class Texts:
    """Readable contents of a namespace at one time; searches are limited to them.

    A search by only the namespace's name would also find content that arrived later.
    """

    name: NamespaceName
    content_ids: Sequence[str]
    now: datetime

    def selected(self) -> list[ColumnElement[bool]]:
        """Return the conditions that select their artifacts, if they are still readable."""
        ids = func.unnest(literal(list(self.content_ids), ARRAY(Text))).column_valued("content_id")
        # The ids are looked up in a separate table, text by text. With a plain list, a cached plan
        # compares every pair, and a plan for a small namespace looks up each id by key.
        is_one = case((ArtifactRow.content_id.in_(select(ids)), true()), else_=false())
        return [*_readable(self.name, self.now), is_one]


async def measure(
    session: Session, name: NamespaceName, now: datetime, only: Sequence[str] | None = None
) -> tuple[int, Sequence[str]]:
    """Return the number of artifacts without text, and the contents that are being indexed.

    `only`: names of the artifacts that count.
    """
    row = ArtifactRow
    is_indexing = row.state == ArtifactState.INDEXING
    has_none = and_(row.chunks == 0, row.state == ArtifactState.READY)
    indexed = func.array_agg(row.content_id).filter(is_indexing)
    counted = select(func.count().filter(has_none), indexed).select_from(row)
    statement = counted.where(*_readable(name, now, only))
    unreadable, indexing = (await session.execute(statement)).one()
    return unreadable, indexing or ()


@dataclass(frozen=True)
class Readable:
    """An artifact with text.

    Attributes:
        tokens: length of the text.
        depth: number of derivations.
        media_type: the declared one.
        has_pages: True for a PDF.
    """

    name: str
    content_id: str
    chunks: int
    tokens: int
    depth: int
    media_type: str
    sniffed_type: str | None
    size_bytes: int
    has_pages: bool


async def list_readable(
    session: Session, name: NamespaceName, now: datetime, only: Sequence[str] | None = None
) -> list[Readable]:
    """Return the artifacts with text, in order."""
    row = ArtifactRow
    statement = (
        select(row.name, row.content_id, row.chunks, row.token_estimate, row.depth)
        .add_columns(row.media_type, row.sniffed_type, row.size_bytes)
        .add_columns(row.page_ends.is_not(None))
        .where(*_readable(name, now, only), row.state == ArtifactState.READY, row.chunks > 0)
        .order_by(row.ordinal)
    )
    return [Readable(*values) for values in await session.execute(statement)]


@dataclass(frozen=True)
class Unreadable:
    """An artifact without text, with its declared and its recognised media type.

    `is_image` if a reader may take it as an image, by its size and type.
    """

    name: str
    content_id: str
    media_type: str
    sniffed_type: str | None
    size: int
    depth: int
    is_image: bool | None


async def list_unreadable(
    session: Session, name: NamespaceName, now: datetime, only: Sequence[str] | None, limit: int
) -> list[Unreadable]:
    """Return the newest artifacts without text, after the images."""
    row = ArtifactRow
    its = (row.name, row.content_id, row.media_type, row.sniffed_type, row.size_bytes, row.depth)
    statement = (
        select(*its, row.is_image)
        .where(*_readable(name, now, only), row.state == ArtifactState.READY, row.chunks == 0)
        .order_by(func.coalesce(row.is_image, false()).desc(), row.ordinal.desc())
        .limit(limit)
    )
    return [Unreadable(*values) for values in await session.execute(statement)]


async def count_there(session: Session, texts: Texts) -> tuple[int, datetime | None]:
    """Return the number of texts that are still readable, and their earliest expiry."""
    statement = select(func.count(), func.min(ArtifactRow.expire_time)).where(
        *texts.selected(), ArtifactRow.state == ArtifactState.READY
    )
    count, expire_time = (await session.execute(statement)).one()
    return count, expire_time


async def find_derived(
    session: Session, name: TaskMemoryName, input_hash: bytes, now: datetime
) -> NamespaceRow | None:
    """Return the newest namespace derived from equal inputs, or None."""
    row = ArtifactRow
    statement = (
        select(NamespaceRow)
        .join(
            row,
            is_in(row, NamespaceRow),
        )
        .where(
            NamespaceRow.engine_id == name.engine.engine,
            NamespaceRow.memory == name.memory,
            NamespaceRow.expire_time > now,
            row.input_hash == input_hash,
            is_readable(now),
            ~row.source_deleted,
        )
        .order_by(row.create_time.desc())
        .limit(1)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def has_derived(session: Session, source: NamespaceName, name: str, now: datetime) -> bool:
    """Return True if a result of a namespace, whose sources all exist, has this name."""
    row = ArtifactRow
    statement = (
        select(row.name)
        .where(
            row.engine_id == source.memory.engine.engine,
            row.memory == source.memory.memory,
            row.origin == source.namespace,
            row.name == name,
            is_readable(now),
            ~row.source_deleted,
        )
        .limit(1)
    )
    return (await session.execute(statement)).first() is not None


async def find_best(session: Session, texts: Texts, question: str, limit: int) -> list[Piece]:
    """Return the chunks that share the rarest words with a question, best first.

    Words are stemmed in each text's language.
    """
    query = QueryText(folded(question), grams.asked(question))
    terms = await _terms(session, texts, query)
    if not terms:
        return []
    held = _term_matches(texts, terms)
    weights = _weights(held, len(terms))
    has = _term_columns(held, len(terms))
    score: ColumnElement[Any] = literal(0.0)
    for has_term, weight in zip(has, weights.c, strict=True):
        score += case((has_term, weight), else_=0.0)
    best = (
        select(held, score.label("score"))
        .join(weights, true())
        .where(or_(*has))
        .order_by(score.desc(), held.c.ordinal, held.c.n)
        .limit(limit)
        .cte("best")
        .prefix_with("MATERIALIZED")
    )
    its = _chunk_at(texts, best)
    statement = (
        select(best.c.name, best.c.ordinal, its)
        .join(its, true())
        .order_by(best.c.score.desc(), best.c.ordinal, best.c.n)
    )
    return _read(await session.execute(statement))


async def list_pieces(
    session: Session, read: Texts, after: tuple[int, int] | None, limit: int
) -> list[Piece]:
    """Return chunks, ordered by artifact and position, after an ordinal and chunk number."""
    ordinal, n = after or (0, -1)
    texts = (
        select(ArtifactRow.name, ArtifactRow.ordinal, ArtifactRow.content_id)
        .where(*read.selected(), ArtifactRow.state == ArtifactState.READY, ArtifactRow.chunks > 0)
        .where(ArtifactRow.ordinal >= ordinal)
        .order_by(ArtifactRow.ordinal)
        # The first text may have no more chunks; every other text has at least one.
        .limit(limit + 1)
        .subquery("texts")
    )
    # The next chunks of each text are read by key; otherwise every page would read and sort all
    # chunks of a long text.
    its = (
        select(*_PLACE_AND_TEXT)
        .where(
            ChunkRow.engine_id == read.name.memory.engine.engine,
            ChunkRow.content_id == texts.c.content_id,
            ChunkRow.n > case((texts.c.ordinal == ordinal, n), else_=-1),
        )
        .order_by(ChunkRow.n)
        .limit(limit)
        .lateral("its")
    )
    statement = (
        select(texts.c.name, texts.c.ordinal, its)
        .join(its, true())
        .order_by(texts.c.ordinal, its.c.n)
        .limit(limit)
    )
    return _read(await session.execute(statement))


async def get_pieces(
    session: Session, texts: Texts, wanted: Sequence[tuple[str, int]]
) -> list[Piece]:
    """Return chunks by content and number, ordered by artifact and position, if not gone."""
    contents = literal([content for content, _ in wanted], ARRAY(Text))
    numbers = literal([n for _, n in wanted], ARRAY(BigInteger))
    wanted_places = (
        func.unnest(contents, numbers).table_valued("content_id", "n").render_derived("wanted")
    )
    its = _chunk_at(texts, wanted_places)
    statement = (
        select(ArtifactRow.name, ArtifactRow.ordinal, its)
        .join(wanted_places, wanted_places.c.content_id == ArtifactRow.content_id)
        .join(its, true())
        .where(*texts.selected(), ArtifactRow.state == ArtifactState.READY)
        .order_by(ArtifactRow.ordinal, its.c.n)
    )
    return _read(await session.execute(statement))


async def find_pages(
    session: Session, texts: Texts, places: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Return the pages, from 1, of characters of PDFs, each given by content and offset."""
    contents = literal([content for content, _ in places], ARRAY(Text))
    offsets = literal([offset for _, offset in places], ARRAY(Integer))
    wanted = func.unnest(contents, offsets).table_valued(
        column("content_id", Text), column("place", Integer)
    )
    wanted = wanted.render_derived("wanted")
    row = ArtifactRow
    statement = (
        select(row.content_id, wanted.c.place, func.width_bucket(wanted.c.place, row.page_ends) + 1)
        .join(wanted, wanted.c.content_id == row.content_id)
        .where(*texts.selected())
    )
    return {(content, place): page for content, place, page in await session.execute(statement)}


@dataclass(frozen=True)
class PageBounds:
    """The characters of a page of a text, and the number of its pages."""

    start: int
    end: int
    pages: int


async def find_bounds(session: Session, row: ArtifactRow, page: int) -> PageBounds:
    """Return the bounds of a page of a text with chunks; they mean nothing after the last page."""
    ends = ArtifactRow.page_ends
    own = await session.execute(
        select(func.cardinality(ends), ends[page - 1], ends[page]).where(
            ArtifactRow.engine_id == row.engine_id, ArtifactRow.content_id == row.content_id
        )
    )
    pages, start, end = own.one()
    if pages is not None:
        return PageBounds(start or 0, end or 0, pages)
    last = select(ChunkRow.end_offset).where(*_chunks_of(row), ChunkRow.n == row.chunks - 1)
    length = (await session.execute(last)).scalar_one()
    start = (page - 1) * TEXT_PAGE_CHARS
    return PageBounds(start, min(start + TEXT_PAGE_CHARS, length), text_page(length - 1))


async def read_text(session: Session, row: ArtifactRow, bounds: PageBounds) -> str:
    """Return the characters of a page; reads few chunks besides its own."""
    first = await _chunk_with(session, row, bounds.start)
    pieces: list[Chunk] = []
    while not pieces or pieces[-1].end < bounds.end:
        begin = first + len(pieces)
        statement = (
            select(*_PLACE_AND_TEXT)
            .where(*_chunks_of(row), ChunkRow.n.between(begin, begin + _CHUNKS_AT_ONCE - 1))
            .order_by(ChunkRow.n)
        )
        pieces += [Chunk(*values) for values in await session.execute(statement)]
    base = pieces[0].start
    return "".join(text_of(pieces))[bounds.start - base : bounds.end - base]


async def _chunk_with(session: Session, row: ArtifactRow, offset: int) -> int:
    """Return the number of the first chunk that ends after an offset.

    Chunks have no index of their offsets, and a long text has tens of thousands of them.
    """
    low, high = 0, row.chunks - 1
    while low < high:
        numbers = range(low, high, max((high - low) // _PROBES, 1))
        statement = select(func.count()).where(
            *_chunks_of(row), ChunkRow.n.in_(numbers), ChunkRow.end_offset <= offset
        )
        passed = (await session.execute(statement)).scalar_one()
        low = numbers[passed - 1] + 1 if passed else low
        high = numbers[passed] if passed < len(numbers) else high
    return low


def _chunks_of(row: ArtifactRow) -> list[ColumnElement[bool]]:
    return [ChunkRow.engine_id == row.engine_id, ChunkRow.content_id == row.content_id]


async def _terms(session: Session, texts: Texts, query: QueryText) -> Sequence[str]:
    """Return the first words of a query, stemmed and quoted, in each language of the texts."""
    languages = (
        select(ArtifactRow.language).where(*texts.selected(), ArtifactRow.chunks > 0).distinct()
    )
    known = [tongue for tongue in (await session.execute(languages)).scalars() if tongue]
    terms: dict[str, None] = {}
    for language in known:
        words = lexemes(literal(language), query, "words")
        # In the order of the query, as in `Terms`; the default order is alphabetical.
        in_order = select(quoted(words)).order_by(words.c.positions, words.c.lexeme)
        terms |= dict.fromkeys((await session.execute(in_order.limit(MAX_TERMS))).scalars())
    return list(terms)


def _term_matches(texts: Texts, terms: Sequence[str]) -> CTE:
    # Term vectors are compressed, and many are stored out of line: `strip` decompresses each once
    # for all terms. The offset keeps the planner from repeating that at every use. It also forces
    # reading text by text, even if the planner misjudges the size of a new namespace.
    lists = (
        select(ChunkRow.n, func.strip(joined(ChunkRow), type_=TSVECTOR).label("terms"))
        .where(_is_chunk_of_artifact())
        .offset(_NO_OFFSET)
        .lateral("lists")
    )
    has = array([lists.c.terms.bool_op("@@")(cast(literal(term), TSQUERY)) for term in terms])
    return (
        select(
            ArtifactRow.name,
            ArtifactRow.ordinal,
            ArtifactRow.content_id,
            lists.c.n,
            has.label("has"),
        )
        .select_from(ArtifactRow)
        .join(lists, true())
        .where(*texts.selected(), ArtifactRow.state == ArtifactState.READY)
        .cte("held")
    )


def _term_columns(held: CTE, terms: int) -> list[ColumnElement[bool]]:
    return [held.c.has[number] for number in range(1, terms + 1)]


def _weights(held: CTE, terms: int) -> CTE:
    total = func.count()
    weights = []
    for has_term in _term_columns(held, terms):
        holding = func.count().filter(has_term)
        weights.append(rarity(total, holding))
    named = [weight.label(f"weight_{number}") for number, weight in enumerate(weights)]
    # Materialised, to compute the weights once even if the planner expects few chunks.
    return select(*named).select_from(held).cte("weights").prefix_with("MATERIALIZED")


def _readable(
    name: NamespaceName, now: datetime, only: Sequence[str] | None = None
) -> list[ColumnElement[bool]]:
    chosen = true() if only is None else ArtifactRow.name.in_(only)
    return [is_in(ArtifactRow, name), is_readable(now), chosen]


def _chunk_at(texts: Texts, places: FromClause) -> FromClause:
    """Return the chunk at each place (content id and chunk number), always looked up by key."""
    return (
        select(*_PLACE_AND_TEXT)
        .where(
            ChunkRow.engine_id == texts.name.memory.engine.engine,
            ChunkRow.content_id == places.c.content_id,
            ChunkRow.n == places.c.n,
        )
        .offset(_NO_OFFSET)
        .lateral("its")
    )


def _is_chunk_of_artifact() -> ColumnElement[bool]:
    # A content id is unique in its engine. With the namespace as a further condition, the planner
    # would consider that selective and read the whole namespace for each content.
    return and_(
        ChunkRow.engine_id == ArtifactRow.engine_id,
        ChunkRow.content_id == ArtifactRow.content_id,
    )


def _read(rows: Any) -> list[Piece]:  # noqa: ANN401 - rows of these columns
    return [Piece(row[0], row[1], Chunk(row[2], row[3], row[4], row[5])) for row in rows]
