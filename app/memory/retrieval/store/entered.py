"""The candidates of a search in a large scope, in one statement that enters it by its indexes.

What the scope says of the query's terms is told from a part of it. Memories are looked for by
the rarest terms alone, as many as bring in few enough: what a common term weighs would not bring
one among the first. The statement makes the same rows as that of `candidates.py`.
"""

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal,
    null,
    or_,
    select,
    true,
    union,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, aggregate_order_by, array
from sqlalchemy.orm import aliased

from app.adapters.db.columns import EMBEDDING
from app.adapters.db.conditions import BY_SCOPE
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.memory.retrieval.store.nearest import PLACE, ScopeIndex, ScopeQuery, any_query, nearest
from app.memory.retrieval.store.words import (
    any_of,
    bits,
    has_bit,
    is_matched,
    rarity,
    score,
    terms_of,
)

_SAMPLED = 1_000
"""Memories of the scope from which it is told how many have a term, and in which languages."""
_ENTERED = 60
"""Of those, as many may have one of the rare terms; one term is looked for in any case."""
_MAX_ENTERED = 4_000
"""Memories with rare terms that are weighed."""
_QUESTION = "is:question"


@cache
def of_large_scope(
    dimensions: int, most: tuple[int, int], *, with_vectors: bool
) -> Select[*tuple[Any, ...]]:
    """Return the statement for any query without filters, made once; `most` as `LargeScope` has it.

    Its values are those of `ScopeQuery.values`, and `model_id`, `vector`, `text` and `language`.
    """
    vector = bindparam("vector", type_=EMBEDDING) if with_vectors else None
    model_id: Any = bindparam("model_id", type_=Text)
    text, language = (bindparam(name, type_=Text) for name in ("text", "language"))
    large = LargeScope(any_query(), model_id, vector, ScopeIndex(dimensions))
    return large.statement(text, language, most)


class LargeScope:
    """Builds the statement for one search. Its rows come in no order."""

    def __init__(
        self,
        query: ScopeQuery,
        model_id: str,
        vector: ColumnElement[Any] | None,
        index: ScopeIndex,
    ) -> None:
        self._query = query
        self._model_id = model_id
        self._vector = vector
        self._index = index

    def statement(
        self, text: ColumnElement[str], language: ColumnElement[str], most: tuple[int, int]
    ) -> Select[*tuple[Any, ...]]:
        """Return it; `most` are taken by distance, and by words."""
        by_distance, by_words = most
        sample = self._sample()
        languages = select(sample.c.language).distinct().cte("languages")
        words = terms_of(languages, text, language)
        holding = self._holding(words, sample)
        average = select(func.avg(sample.c.length)).scalar_subquery()
        weighed = self._weighed(words, holding, average).limit(by_words)
        places = [select(weighed.subquery("weighed").c.place)]
        if self._vector is not None:
            near = nearest(self._query, self._model_id, self._vector, by_distance, self._index)
            places.append(select(near.subquery("near").c.place))
        return self._told(words, union(*places).cte("chosen"), _statistics(sample, holding))

    def _sample(self) -> FromClause:
        """Return some memories of the scope, whatever the filters."""
        query = self._query
        return (
            select(
                MemoryRow.language, MemoryRow.terms, func.length(MemoryRow.terms).label("length")
            )
            .where(
                MemoryRow.engine_id == query.engine_id,
                MemoryRow.scope_hash == query.scope_hash,
                MemoryRow.delete_time.is_(None),
            )
            .limit(_SAMPLED)
            .cte("sample")
        )

    def _holding(self, words: FromClause, sample: FromClause) -> FromClause:
        """Return how many of the sample have each term, and those that are at most as frequent."""
        counted = (
            select(words.c.n, func.count(sample.c.length).label("memories"))
            .join_from(
                words, sample, is_matched(words, sample.c.language, sample.c.terms), isouter=True
            )
            .group_by(words.c.n)
            .subquery("counted")
        )
        order = (counted.c.memories, counted.c.n)
        return select(
            counted,
            func.sum(counted.c.memories).over(order_by=order).label("entered"),
            func.row_number().over(order_by=order).label("place"),
        ).cte("holding")

    def _weighed(
        self, words: FromClause, holding: FromClause, average: ColumnElement[Any]
    ) -> Select[*tuple[Any, ...]]:
        """Return memories that have rare terms, by what all of theirs weigh."""
        is_rare = or_(holding.c.entered <= _ENTERED, holding.c.place == 1)
        rare = (
            select(any_of(cast(words.c.query, Text)))
            .join_from(words, holding, holding.c.n == words.c.n)
            .where(is_rare)
            .scalar_subquery()
        )
        entered = (
            select(
                MemoryRow.memory_id,
                PLACE.label("place"),
                func.length(MemoryRow.terms).label("length"),
                _matched(words, MemoryRow).label("matched"),
            )
            .where(self._query.condition(), MemoryRow.terms.bool_op("@@")(rare))
            .limit(_MAX_ENTERED)
            .subquery("entered")
        )
        weight = (
            select(func.sum(rarity(literal(_SAMPLED), holding.c.memories)))
            .where(has_bit(entered.c.matched, holding.c.n))
            .correlate(entered)
            .scalar_subquery()
        )
        return select(entered.c.place).order_by(
            score(weight, entered.c.length, average).desc(), entered.c.memory_id
        )

    def _told(
        self, words: FromClause, chosen: FromClause, statistics: ColumnElement[Any]
    ) -> Select[*tuple[Any, ...]]:
        """Return what is told of the candidates, and once of the scope."""
        row = MemoryRow
        before, after = self._beside(words, "before"), self._beside(words, "after")
        is_first = func.row_number().over() == 1
        return (
            select(
                row.memory_id,
                self._distance(row).label("distance"),
                _matched(words, row).label("matched"),
                func.length(row.terms).label("length"),
                row.cues,
                row.source,
                row.position,
                *before.c,
                *after.c,
                case((is_first, statistics)).label("statistics"),
            )
            .select_from(chosen)
            # By their place, as in `nearest.py`.
            .join(row, chosen.c.place == PLACE)
            .join(before, true(), isouter=True)
            .join(after, true(), isouter=True)
            .where(row.engine_id == self._query.engine_id)
            .execution_options(**BY_SCOPE)
        )

    def _beside(self, words: FromClause, side: str) -> FromClause:
        """Return what is told of the memory before or after one in its source."""
        row, query = aliased(MemoryRow, name=side), self._query
        is_before = side == "before"
        at = MemoryRow.position
        told = {
            "distance": self._distance(row),
            "matched": _matched(words, row),
            "length": func.length(row.terms),
            "is_question": literal(_QUESTION) == func.any(row.cues),
        }
        return (
            select(*(value.label(f"{side}_{name}") for name, value in told.items()))
            .where(
                row.engine_id == query.engine_id,
                row.scope_hash == query.scope_hash,
                row.source == MemoryRow.source,
                row.position < at if is_before else row.position > at,
                query.has_type(row),
                row.delete_time.is_(None),
                or_(row.expire_time.is_(None), row.expire_time > query.now),
                row.fact.is_not(None),
            )
            .order_by(row.position.desc() if is_before else row.position)
            .limit(1)
            .correlate(MemoryRow)
            .lateral(f"the_{side}")
        )

    def _distance(self, row: type[MemoryRow]) -> ColumnElement[Any]:
        """Return the distance of a memory, if it has a vector."""
        vectors = MemoryVectorRow
        if self._vector is None:
            return cast(null(), DOUBLE_PRECISION)
        return (
            select(vectors.vector.l2_distance(self._vector))
            .where(
                vectors.engine_id == row.engine_id,
                vectors.memory_id == row.memory_id,
                vectors.engine_id == self._query.engine_id,
                vectors.model_id == self._model_id,
            )
            .correlate(row)
            .scalar_subquery()
        )


def _matched(words: FromClause, row: type[MemoryRow]) -> ColumnElement[Any]:
    return (
        select(bits(words))
        .where(is_matched(words, row.language, row.terms))
        .correlate(row)
        .scalar_subquery()
    )


def _statistics(sample: FromClause, holding: FromClause) -> ColumnElement[Any]:
    """Return how many memories were counted, their length, and how many have each term."""
    length = func.coalesce(func.avg(sample.c.length), 0)
    whole = select(array([cast(one, DOUBLE_PRECISION) for one in (func.count(), length)]))
    of_terms = func.array_agg(aggregate_order_by(holding.c.memories, holding.c.n))
    terms = select(cast(of_terms, ARRAY(DOUBLE_PRECISION)))
    return whole.select_from(sample).scalar_subquery().op("||")(terms.scalar_subquery())
