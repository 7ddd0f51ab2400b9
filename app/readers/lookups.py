"""Statements that find pieces of texts: the best for a question, or all in their order.

All functions take part in the caller's transaction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Text, and_, case, cast, func, literal, or_, select, tuple_
from sqlalchemy.dialects.postgresql import REGCONFIG, TSQUERY, array

from app.core.names import NamespaceName, TaskMemoryName
from app.db.session import Session
from app.documents.chunking import Chunk, Piece
from app.tasks.kinds import State
from app.tasks.tables import ArtifactRow, ChunkRow, NamespaceRow

MAX_TERMS = 48
"""Words of a question that are looked for: the first of each language."""


@dataclass(frozen=True)
class Inside:
    """What is in a namespace for readers.

    Attributes:
        unreadable: artifacts that have no text.
        indexing: artifacts whose texts are being cut.
    """

    artifacts: int
    chunks: int
    unreadable: int
    indexing: int


async def measure(session: Session, name: NamespaceName, now: datetime) -> Inside:
    """Return how much of a namespace readers can be given."""
    row = ArtifactRow
    is_indexing = row.state == State.INDEXING
    has_none = and_(row.chunks == 0, row.state == State.READY)
    statement = select(
        func.count(),
        func.coalesce(func.sum(row.chunks), 0),
        func.count().filter(has_none),
        func.count().filter(is_indexing),
    ).where(*_readable(name, now))
    found = (await session.execute(statement)).one()
    return Inside(*map(int, found))


@dataclass(frozen=True)
class Readable:
    """An artifact that has a text: how long that is, in tokens, and how often it was derived."""

    name: str
    ordinal: int
    content_id: str
    chunks: int
    tokens: int
    depth: int


async def list_readable(session: Session, name: NamespaceName, now: datetime) -> list[Readable]:
    """Return the artifacts that have a text, in their order."""
    row = ArtifactRow
    statement = (
        select(row.name, row.ordinal, row.content_id, row.chunks, row.token_estimate, row.depth)
        .where(*_readable(name, now), row.state == State.READY, row.chunks > 0)
        .order_by(row.ordinal)
    )
    return [Readable(*found) for found in await session.execute(statement)]


async def find_derived(
    session: Session, name: TaskMemoryName, input_hash: bytes, now: datetime
) -> NamespaceRow | None:
    """Return the newest namespace with what was derived by the same, if there is one still."""
    row = ArtifactRow
    statement = (
        select(NamespaceRow)
        .join(
            row,
            and_(
                row.engine_id == NamespaceRow.engine_id,
                row.memory == NamespaceRow.memory,
                row.namespace == NamespaceRow.namespace,
            ),
        )
        .where(
            NamespaceRow.engine_id == name.engine.engine,
            NamespaceRow.memory == name.memory,
            NamespaceRow.expire_time > now,
            row.input_hash == input_hash,
            row.state != State.UPLOADING,
            row.expire_time > now,
            ~row.source_deleted,
        )
        .order_by(row.create_time.desc())
        .limit(1)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def find_best(
    session: Session, name: NamespaceName, question: str, now: datetime, limit: int
) -> list[Piece]:
    """Return the pieces that share the rarest words with a question, best first.

    Words count as the language of each text reduces them; `question` has no accents, as `folded`
    of the searches makes it. Pieces without any of its words are not among them.
    """
    terms = await _terms(session, name, question, now)
    if not terms:
        return []
    has = [ChunkRow.terms.bool_op("@@")(cast(literal(term), TSQUERY)) for term in terms]
    held = (
        select(func.count(), *(func.count().filter(one) for one in has))
        .select_from(ChunkRow)
        .join(ArtifactRow, _is_its())
        .where(*_readable(name, now))
    )
    total, *holding = (await session.execute(held)).one()
    weights = [_rarity(total, holds) for holds in holding]
    score: ColumnElement[Any] = literal(0.0)
    for one, weight in zip(has, weights, strict=True):
        score += case((one, weight), else_=0.0)
    statement = (
        _pieces(name, now)
        .where(or_(*has))
        .order_by(score.desc(), ArtifactRow.ordinal, ChunkRow.n)
        .limit(limit)
    )
    return _read(await session.execute(statement))


async def list_pieces(
    session: Session,
    name: NamespaceName,
    now: datetime,
    after: tuple[int, int] | None,
    limit: int,
) -> list[Piece]:
    """Return pieces in the order of the artifacts and of their texts.

    `after` is the ordinal of the artifact and the number of the piece that came last.
    """
    statement = _pieces(name, now).order_by(ArtifactRow.ordinal, ChunkRow.n).limit(limit)
    if after is not None:
        ordinal, n = after
        statement = statement.where(
            or_(
                ArtifactRow.ordinal > ordinal,
                and_(ArtifactRow.ordinal == ordinal, ChunkRow.n > n),
            )
        )
    return _read(await session.execute(statement))


async def get_pieces(
    session: Session, name: NamespaceName, now: datetime, wanted: Sequence[tuple[str, int]]
) -> list[Piece]:
    """Return some pieces, by content and number, in the order of the artifacts and of their texts.

    Those that are gone are not among them.
    """
    key = tuple_(ChunkRow.content_id, ChunkRow.n)
    statement = _pieces(name, now).where(key.in_(wanted))
    return _read(await session.execute(statement.order_by(ArtifactRow.ordinal, ChunkRow.n)))


async def _terms(
    session: Session, name: NamespaceName, question: str, now: datetime
) -> Sequence[str]:
    """Return the words of a question, quoted, in each of the languages of the texts."""
    languages = (
        select(ArtifactRow.language).where(*_readable(name, now), ArtifactRow.chunks > 0).distinct()
    )
    known = [one for one in (await session.execute(languages)).scalars() if one]
    found: dict[str, None] = {}
    for language in known:
        words = func.unnest(
            func.tsvector_to_array(func.to_tsvector(cast(literal(language), REGCONFIG), question))
        ).column_valued("word")
        quoted = cast(func.array_to_tsvector(array([words])), Text)
        statement = select(quoted).limit(MAX_TERMS)
        found |= dict.fromkeys((await session.execute(statement)).scalars())
    return list(found)


def _rarity(total: int, holding: int) -> float:
    """Return how much it tells that a piece has a word, by how many have it."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def _readable(name: NamespaceName, now: datetime) -> list[ColumnElement[bool]]:
    return [
        ArtifactRow.engine_id == name.memory.engine.engine,
        ArtifactRow.memory == name.memory.memory,
        ArtifactRow.namespace == name.namespace,
        ArtifactRow.state != State.UPLOADING,
        ArtifactRow.expire_time > now,
    ]


def _is_its() -> ColumnElement[bool]:
    return and_(
        ChunkRow.engine_id == ArtifactRow.engine_id,
        ChunkRow.memory == ArtifactRow.memory,
        ChunkRow.namespace == ArtifactRow.namespace,
        ChunkRow.content_id == ArtifactRow.content_id,
    )


def _pieces(name: NamespaceName, now: datetime) -> Any:  # noqa: ANN401 - a select of six columns
    row = ChunkRow
    return (
        select(
            ArtifactRow.name,
            ArtifactRow.ordinal,
            row.n,
            row.start_offset,
            row.end_offset,
            row.text,
        )
        .join(ArtifactRow, _is_its())
        .where(*_readable(name, now), ArtifactRow.state == State.READY)
    )


def _read(rows: Any) -> list[Piece]:  # noqa: ANN401 - rows of these columns
    return [Piece(row[0], row[1], Chunk(row[2], row[3], row[4], row[5])) for row in rows]
