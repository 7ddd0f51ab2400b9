"""Reads and writes of artifact bytes in pages, and of artifact texts in chunks.

`Pages` opens a short transaction for each page: none stays open while a slow client sends or reads.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, literal_column, select, true, update
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.bulk import insert_rows
from app.adapters.db.session import Database, Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked
from app.artifacts.tasks.store.tables import ArtifactRow, ChunkRow, ContentPlace, PageRow, is_in
from app.kernel.errors import Aborted, Reason
from app.kernel.names import NamespaceName
from app.language.grams import ANY_SIGN, indexed
from app.platform.engines.store import repository as engines

PAGE_BYTES = 256 * 1024
_CHUNKS_AT_ONCE = 500
_CHUNK_KEY = (ChunkRow.engine_id, ChunkRow.content_id, ChunkRow.n)


def pages_of(data: bytes) -> list[bytes]:
    """Split bytes into pages; empty bytes have no page."""
    return [data[start : start + PAGE_BYTES] for start in range(0, len(data), PAGE_BYTES)]


async def insert_pages(
    session: Session, place: ContentPlace, first: int, pages: Sequence[bytes]
) -> None:
    """Insert pages, numbered from `first`, of an artifact that the caller has locked."""
    for number, data in enumerate(pages, start=first):
        values = {**place.columns, "page": number, "data": data}
        await session.execute(insert(PageRow).values(values))


def page_count(size: int) -> int:
    """Return the number of pages of a content."""
    return -(-size // PAGE_BYTES)


async def read_page(session: Session, place: ContentPlace, page: int) -> bytes | None:
    """Return a page, or None if it does not exist."""
    statement = select(PageRow.data).where(
        is_in(PageRow, place),
        PageRow.content_id == place.content_id,
        PageRow.page == page,
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def read_whole(session: Session, name: NamespaceName, content_id: str) -> bytes:
    """Return the bytes of an artifact that is known to be short."""
    is_its = and_(is_in(PageRow, name), PageRow.content_id == content_id)
    pages = await session.execute(select(PageRow.data).where(is_its).order_by(PageRow.page))
    return b"".join(pages.scalars())


async def insert_chunks(
    session: Session, place: ContentPlace, language: str, chunks: Sequence[Mapping[str, Any]]
) -> None:
    """Insert chunks of the text of an artifact that the caller has locked.

    Each has `n`, `start_offset`, `end_offset`, `text` and `tokens`.
    """
    for start in range(0, len(chunks), _CHUNKS_AT_ONCE):
        values = [
            {**place.columns, "language": language, **chunk, "grams": indexed(chunk["text"])}
            for chunk in chunks[start : start + _CHUNKS_AT_ONCE]
        ]
        await insert_rows(ChunkRow, session, values)


async def find_without_grams(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find chunks of any engine without their grams, for a sweep."""
    statement = (
        select(*_CHUNK_KEY)
        .where(_lacks_grams(), engines.is_settled(ChunkRow.engine_id))
        .order_by(*_CHUNK_KEY)
    )
    return await find_keys(session, search.bounded(statement, _CHUNK_KEY))


async def backfill_grams(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Store the missing grams of chunks of an engine; return the count."""
    statement = locked(
        _CHUNK_KEY, engine_id, keys, _lacks_grams(), engines.is_engine_settled(engine_id)
    ).add_columns(ChunkRow.text)
    rows = (await session.execute(statement)).all()
    if rows:
        values = [
            {"engine_id": engine, "content_id": content, "n": n, "grams": indexed(text)}
            for engine, content, n, text in rows
        ]
        await session.execute(update(ChunkRow), values)
    return len(rows)


def _lacks_grams() -> ColumnElement[bool]:
    has_grams = ChunkRow.text.regexp_match(literal_column(f"'{ANY_SIGN}'"))
    return and_(ChunkRow.grams.is_(None), has_grams)


async def remove_chunks(session: Session, place: ContentPlace) -> None:
    """Delete the chunks of an artifact."""
    await session.execute(
        delete(ChunkRow).where(
            is_in(ChunkRow, place),
            ChunkRow.content_id == place.content_id,
        )
    )


async def lock_uploading(
    session: Session, place: ContentPlace, now: datetime | None = None
) -> None:
    """Lock the row of an upload, or raise Aborted if it was swept or deleted, or expired by `now`.

    A sweep deletes its pages in several transactions, and no page may be written between them.
    """
    has_time = true() if now is None else ArtifactRow.expire_time > now
    statement = (
        select(ArtifactRow.content_id)
        .where(
            is_in(ArtifactRow, place),
            ArtifactRow.content_id == place.content_id,
            has_time,
        )
        .with_for_update(read=True, key_share=True)
    )
    if (await session.execute(statement)).scalar_one_or_none() is None:
        message = "The upload took too long, or its namespace was deleted; send it again."
        raise Aborted(message, Reason.CONCURRENT_CHANGE)


@dataclass(frozen=True)
class Pages:
    """Pages of one content; each is written and read in its own transaction."""

    db: Database
    place: ContentPlace

    async def write(self, page: int, data: bytes, now: datetime) -> None:
        """Write a page, or raise Aborted if the artifact was deleted or has expired."""
        async with self.db.transaction() as session:
            await lock_uploading(session, self.place, now)
            await insert_pages(session, self.place, page, [data])

    async def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `start` up to `end`; raise Aborted if the artifact is deleted."""
        while start < end:
            page, offset = divmod(start, PAGE_BYTES)
            async with self.db.snapshot() as session:
                data = await read_page(session, self.place, page)
            if data is None:
                message = "The artifact was deleted while it was read."
                raise Aborted(message, Reason.CONCURRENT_CHANGE)
            piece = data[offset : offset + end - start]
            start += len(piece)
            yield piece
