"""Candidates of a search, by meaning and by words, selected by one statement inside the scope.

The statement reads the scope once: for each memory, its distance to the query and the query's terms
in it. From these it derives statistics of the terms, each memory's neighbours in its source, and
the best memories by distance and by words. A large scope has `indexed_candidates.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    collate,
    false,
    func,
    literal,
    null,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, aggregate_order_by, array
from sqlalchemy.sql.elements import False_

from app.adapters.db.conditions import BY_SCOPE
from app.adapters.db.lexical import (
    QueryText,
    bits,
    has_bit,
    is_matched,
    joined,
    rarity,
    score,
    terms_of,
)
from app.adapters.db.session import Session
from app.adapters.db.vectors import EMBEDDING
from app.language import grams
from app.language.terms import folded
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.memory.retrieval.logic.ranking import (
    CANDIDATE_FIELDS,
    COMPUTED,
    NEIGHBOUR_FIELDS,
    RankingCandidate,
    Statistics,
)
from app.memory.retrieval.store.indexed_candidates import LargeScope, of_large_scope
from app.memory.retrieval.store.nearest import (
    BY_WORDS,
    MOST,
    POOL,
    ScopeIndex,
    ScopeQuery,
    Vector,
    any_query,
    has_vector,
    plan_for,
)

BY_DISTANCE = MOST // 2
"""Number of nearest memories that become candidates; 100 of each kind raise recall by 0.002."""
TOLD_APART = 1e9
"""Factor that keeps nine decimal places; further ones depend on the order of addition."""
_BYTE_ORDER = "C"
"""Collation that orders ids as `fast_sql.py` does in Python, whatever the database's own."""

_MODEL: Any = bindparam("model_id", type_=Text)
_VECTOR = bindparam("vector", type_=EMBEDDING)
_QUERY = QueryText(bindparam("text", type_=Text), bindparam("grams", type_=Text))
_LANGUAGE = bindparam("language", type_=Text)


_SIDES = {"before": func.lag, "after": func.lead}
_QUESTION = "is:question"


@dataclass(frozen=True)
class CandidateQuery:
    """The search text, its text-search configuration, and its vector; None: words alone count."""

    text: str
    language: str
    model_id: str
    vector: Vector | None


async def find_candidates(
    session: Session, query: ScopeQuery, wanted: CandidateQuery, index: ScopeIndex | None = None
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the scope's statistics of the query's terms, and the candidates.

    All memories are candidates, up to `POOL`; a large scope may return more. Memories that are near
    or match words come before the rest, in both groups the newer ones first.
    """
    rows: Sequence[Row[Any]] = ()
    if isinstance(query.clause, False_):
        # No statement at all: its duration would reveal the size of the scope.
        return candidates_of(rows)
    if index is not None:
        await plan_for(session, index)
        rows = (await session.execute(*_of_large_scope(query, wanted, index))).all()
    if len(rows) < POOL:
        rows = (await session.execute(*of_whole_scope(query, wanted))).all()
    return candidates_of(rows)


def _of_large_scope(
    query: ScopeQuery, wanted: CandidateQuery, index: ScopeIndex
) -> tuple[Select[*tuple[Any, ...]], dict[str, Any]]:
    if query.is_unfiltered:
        statement = of_large_scope(index.dimensions, with_vectors=wanted.vector is not None)
        return statement, values_of(query, wanted) | {"model_id": wanted.model_id}
    vector = None if wanted.vector is None else literal(wanted.vector, EMBEDDING)
    large = LargeScope(query, wanted.model_id, vector, index)
    text = QueryText(literal(folded(wanted.text), Text), literal(grams.asked(wanted.text), Text))
    return large.statement(text, literal(wanted.language, Text)), {}


def candidates_of(rows: Sequence[Any]) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the statistics and the candidates in the rows of a statement."""
    return _statistics(rows), [RankingCandidate(*row[:-1]) for row in rows]


def of_whole_scope(
    query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Select[*tuple[Any, ...]], dict[str, Any]]:
    """Return the statement that reads the whole scope, and its values."""
    with_vectors = wanted.vector is not None
    if query.is_unfiltered:
        return _unfiltered(with_vectors=with_vectors), values_of(query, wanted)
    return _statement(query.clause, with_vectors=with_vectors), values_of(query, wanted)


def values_of(query: ScopeQuery, wanted: CandidateQuery) -> dict[str, Any]:
    """Return the values for the parameters of a statement that reads the scope."""
    text = {"text": folded(wanted.text), "grams": grams.asked(wanted.text)}
    values = query.values() | text | {"language": wanted.language}
    if wanted.vector is not None:
        values |= {"model_id": wanted.model_id, "vector": wanted.vector}
    return values


def _statistics(rows: Sequence[Any]) -> Statistics:
    totals = next((row[-1] for row in rows if row[-1] is not None), None)
    if totals is None:
        return Statistics(0, (), 0.0)
    memories, average_length, *holding = totals
    return Statistics(int(memories), [int(count) for count in holding], average_length)


@cache
def _unfiltered(*, with_vectors: bool) -> Select[*tuple[Any, ...]]:
    return _statement(true(), with_vectors=with_vectors)


def _statement(clause: ColumnElement[bool], *, with_vectors: bool) -> Select[*tuple[Any, ...]]:
    # The statement has parameters, but the filters in `clause` contain their values.
    memories, words = read_scope(clause, with_vectors=with_vectors)
    patterns = _patterns(memories)
    holding = _holding(words, patterns)
    totals = _totals(memories)
    weights = _weights(patterns, holding, totals)
    placed = _placed(memories, weights, totals, with_vectors=with_vectors)
    is_chosen = and_(placed.c.nearby_words > 0, placed.c.by_words <= BY_WORDS)
    if with_vectors:
        is_near = and_(placed.c.distance.is_not(None), placed.c.by_distance <= BY_DISTANCE)
        is_chosen = or_(is_chosen, is_near)
    best = (
        select(placed, is_chosen.label("is_chosen"))
        .where(placed.c.fits)
        .order_by(is_chosen.desc(), placed.c.create_time.desc(), placed.c.memory_id.desc())
        .limit(POOL)
        .subquery("best")
    )
    is_first = func.row_number().over() == 1
    return (
        select(
            *(best.c[name] for name in RankingCandidate._fields),
            _first_row_statistics(is_first, totals, holding).label("statistics"),
        )
        .order_by(best.c.is_chosen.desc(), best.c.create_time.desc(), best.c.memory_id.desc())
        .execution_options(**BY_SCOPE)
    )


def read_scope(
    clause: ColumnElement[bool], *, with_vectors: bool, most: int | None = None
) -> tuple[FromClause, FromClause]:
    """Return selections of the scope's memories, up to `most`, and of the query's terms.

    Each memory has its distance and the bits of its terms (`matched`).
    """
    scoped = _scoped(clause, with_vectors=with_vectors, most=most)
    languages = select(scoped.c.language).distinct().cte("languages")
    words = terms_of(languages, _QUERY, _LANGUAGE)
    return _with_matches(scoped, words), words


def _scoped(clause: ColumnElement[bool], *, with_vectors: bool, most: int | None) -> FromClause:
    # Memories that the filters exclude still count as neighbours and in the statistics of
    # terms. The full join reads both sides once, whatever the planner's statistics (see
    # `nearest.py`).
    row, terms = MemoryRow, joined(MemoryRow)
    memories = (
        select(
            *(getattr(row, name).label(name) for name in CANDIDATE_FIELDS if name not in COMPUTED),
            row.create_time,
            row.language,
            terms.label("terms"),
            func.length(terms).label("length"),
            func.coalesce(literal(_QUESTION) == func.any(row.cues), false()).label("is_question"),
            func.coalesce(clause, false()).label("fits"),
        )
        .where(any_query().condition(), row.fact.is_not(None))
        .limit(most)
        .subquery("meeting")
    )
    if not with_vectors:
        distance = cast(null(), DOUBLE_PRECISION).label("distance")
        return select(memories, distance).cte("scoped")
    vectors = MemoryVectorRow
    having = (
        select(vectors.memory_id, vectors.vector.l2_distance(_VECTOR).label("distance"))
        .where(has_vector(any_query(), _MODEL))
        .subquery("having_vector")
    )
    is_same = memories.c.memory_id == having.c.memory_id
    return (
        select(memories, having.c.distance)
        .join_from(memories, having, is_same, full=True)
        .where(func.coalesce(memories.c.length, -1) >= 0)
        .cte("scoped")
    )


def _with_matches(scoped: FromClause, words: FromClause) -> FromClause:
    matched = (
        select(bits(words))
        .where(is_matched(words, scoped.c.language, scoped.c.terms))
        .correlate(scoped)
        .scalar_subquery()
    )
    kept = [column for column in scoped.c if column.name not in {"language", "terms"}]
    return select(*kept, matched.label("matched")).cte("found")


def _patterns(memories: FromClause) -> FromClause:
    return (
        select(memories.c.matched, func.count().label("memories"))
        .group_by(memories.c.matched)
        .cte("patterns")
    )


def _holding(words: FromClause, patterns: FromClause) -> FromClause:
    numbers = select(words.c.n).distinct().subquery("numbers")
    return (
        select(numbers.c.n, func.coalesce(func.sum(patterns.c.memories), 0).label("memories"))
        .join_from(numbers, patterns, has_bit(patterns.c.matched, numbers.c.n), isouter=True)
        .group_by(numbers.c.n)
        .cte("holding")
    )


def _totals(memories: FromClause) -> FromClause:
    # Not `avg`, because it rounds differently: `fast_sql.py` must return the same number.
    average = cast(func.sum(memories.c.length), DOUBLE_PRECISION) / func.count()
    return (
        select(func.count().label("memories"), func.coalesce(average, 0).label("average"))
        .select_from(memories)
        .cte("totals")
    )


def _weights(patterns: FromClause, holding: FromClause, totals: FromClause) -> FromClause:
    """Select the total weight of each set of terms; rare terms weigh most."""
    weight = func.sum(rarity(totals.c.memories, holding.c.memories))
    return (
        select(patterns.c.matched, weight.label("weight"))
        .join_from(patterns, holding, has_bit(patterns.c.matched, holding.c.n))
        .join(totals, true())
        .group_by(patterns.c.matched)
        .cte("weights")
    )


def _placed(
    memories: FromClause, weights: FromClause, totals: FromClause, *, with_vectors: bool
) -> FromClause:
    average = select(totals.c.average).scalar_subquery()
    of_words = func.coalesce(score(weights.c.weight, memories.c.length, average), 0)
    weighed = (
        select(memories, of_words.label("of_words"))
        # A full join for the same reason as in `_scoped`.
        .join_from(memories, weights, memories.c.matched == weights.c.matched, full=True)
        .where(func.coalesce(memories.c.length, -1) >= 0)
        .subquery("weighed")
    )
    has_place = and_(weighed.c.source.is_not(None), weighed.c.position.is_not(None))
    source, place = weighed.c.source, (weighed.c.position, weighed.c.memory_id)
    sides = {
        f"{side}_{name}": case(
            (has_place, beside_of(weighed.c[name]).over(partition_by=source, order_by=place))
        )
        for side, beside_of in _SIDES.items()
        for name in (*NEIGHBOUR_FIELDS, "of_words")
    }
    beside = select(weighed, *(value.label(name) for name, value in sides.items())).subquery(
        "beside"
    )
    # A memory's neighbours count as part of it: see `benchmarks/recall`.
    around = (beside.c[f"{side}_of_words"] for side in _SIDES)
    nearby = sum((func.coalesce(words, 0) for words in around), beside.c.of_words)
    fits, memory_id = beside.c.fits.desc(), collate(beside.c.memory_id, _BYTE_ORDER)
    told_apart = func.trunc(nearby * TOLD_APART)
    orders: dict[str, tuple[ColumnElement[Any], ...]] = {
        "by_words": (fits, told_apart.desc(), memory_id)
    }
    if with_vectors:
        orders["by_distance"] = (fits, beside.c.distance, memory_id)
    places = [func.row_number().over(order_by=order).label(name) for name, order in orders.items()]
    return select(beside, nearby.label("nearby_words"), *places).subquery("placed")


def _first_row_statistics(
    is_first: ColumnElement[bool], totals: FromClause, holding: FromClause
) -> ColumnElement[Any]:
    # Only the first row has the statistics.
    of_terms = func.array_agg(aggregate_order_by(holding.c.memories, holding.c.n))
    terms = select(cast(of_terms, ARRAY(DOUBLE_PRECISION))).scalar_subquery()
    counted = array([cast(totals.c.memories, DOUBLE_PRECISION), totals.c.average])
    whole = select(counted).scalar_subquery()
    return case((is_first, whole.op("||")(terms)))
