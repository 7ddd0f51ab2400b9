"""Candidates of a search in a large scope, selected by one statement that uses its indexes.

A sample of the scope provides the statistics of the query's terms. Only the rarest terms select
memories, as many terms as keep the matches few. A common term alone would not bring a memory into
the first hits.
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

from app.adapters.db.conditions import BY_SCOPE
from app.adapters.db.lexical import (
    QueryText,
    any_of,
    bits,
    has_bit,
    is_matched,
    joined,
    rarity,
    score,
    terms_of,
)
from app.adapters.db.vectors import EMBEDDING
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.memory.retrieval.logic.ranking import CANDIDATE_FIELDS
from app.memory.retrieval.store.nearest import (
    BY_WORDS,
    PLACE,
    POOL,
    ScopeIndex,
    ScopeQuery,
    nearest,
    of_any_scope,
)

_SAMPLED = 1_000
"""Size of the sample for the frequency of each term and the languages of the scope."""
_ENTERED = 60
"""Maximum sampled memories that the rare terms may match in total; one term always counts."""
_MAX_ENTERED = 4_000
"""Maximum number of memories with rare terms that are weighed."""
_QUESTION = "is:question"


@cache
def of_large_scope(
    dimensions: int, *, with_vectors: bool, at_scope: bool = False
) -> Select[*tuple[Any, ...]]:
    """Return the cached statement for a query without filters.

    Its parameters are the keys of `ScopeQuery.values`, and `model_id`, `vector`, `text`, `grams`,
    `language`; with `at_scope`, the function of this name fills in the key of the scope.
    """
    vector = bindparam("vector", type_=EMBEDDING) if with_vectors else None
    query, model_id = of_any_scope(has_index=at_scope)
    text, grams, language = (bindparam(name, type_=Text) for name in ("text", "grams", "language"))
    large = LargeScope(query, model_id, vector, ScopeIndex(dimensions))
    return large.statement(QueryText(text, grams), language)


class LargeScope:
    """Builder of the statement for one search; the order of its rows is undefined."""

    def __init__(
        self,
        query: ScopeQuery,
        model_id: str | ColumnElement[str],
        vector: ColumnElement[Any] | None,
        index: ScopeIndex,
    ) -> None:
        self._query = query
        self._model_id = model_id
        self._vector = vector
        self._index = index

    def statement(self, text: QueryText, language: ColumnElement[str]) -> Select[*tuple[Any, ...]]:
        """Return the statement."""
        sample = self._sample()
        languages = select(sample.c.language).distinct().cte("languages")
        words = terms_of(languages, text, language)
        holding = self._holding(words, sample)
        average = select(func.avg(sample.c.length)).scalar_subquery()
        # Without vectors, words have to find all candidates: with fewer, the scope is read.
        by_words = POOL if self._vector is None else BY_WORDS
        weighed = self._weighed(words, holding, average).limit(by_words)
        places = [select(weighed.subquery("weighed").c.place)]
        if self._vector is not None:
            # The hits by distance are enough; finding more would require reading the scope.
            near = nearest(self._query, self._model_id, self._vector, POOL, self._index)
            places.append(select(near.subquery("near").c.place))
        return self._select_candidates(
            words, union(*places).cte("chosen"), _statistics(sample, holding)
        )

    def _sample(self) -> FromClause:
        query, terms = self._query, joined(MemoryRow)
        return (
            select(MemoryRow.language, terms.label("terms"), func.length(terms).label("length"))
            .where(
                MemoryRow.engine_id == query.engine_id,
                MemoryRow.scope_hash == query.scope_hash,
                MemoryRow.delete_time.is_(None),
            )
            .limit(_SAMPLED)
            .cte("sample")
        )

    def _holding(self, words: FromClause, sample: FromClause) -> FromClause:
        """Select for each term its count in the sample, and the sum up to its frequency."""
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
        """Select memories that have rare terms, best first by the weight of all their terms."""
        terms = joined(MemoryRow)
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
                func.length(terms).label("length"),
                _matched(words, MemoryRow).label("matched"),
            )
            .where(self._query.condition(), terms.bool_op("@@")(rare))
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

    def _select_candidates(
        self, words: FromClause, chosen: FromClause, statistics: ColumnElement[Any]
    ) -> Select[*tuple[Any, ...]]:
        row = MemoryRow
        before, after = self._beside(words, "before"), self._beside(words, "after")
        is_first = func.row_number().over() == 1
        computed = self._computed(words, row)
        return (
            select(
                *(
                    computed[name].label(name) if name in computed else getattr(row, name)
                    for name in CANDIDATE_FIELDS
                ),
                *before.c,
                *after.c,
                case((is_first, statistics)).label("statistics"),
            )
            .select_from(chosen)
            # By their row address, as in `nearest.py`.
            .join(row, chosen.c.place == PLACE)
            .join(before, true(), isouter=True)
            .join(after, true(), isouter=True)
            .where(row.engine_id == self._query.engine_id)
            .execution_options(**BY_SCOPE)
        )

    def _beside(self, words: FromClause, side: str) -> FromClause:
        row, query = aliased(MemoryRow, name=side), self._query
        is_before = side == "before"
        at = MemoryRow.position
        is_question = literal(_QUESTION) == func.any(row.cues)
        columns = self._computed(words, row) | {"is_question": is_question}
        return (
            select(*(value.label(f"{side}_{name}") for name, value in columns.items()))
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

    def _computed(self, words: FromClause, row: type[MemoryRow]) -> dict[str, ColumnElement[Any]]:
        return {
            "distance": self._distance(row),
            "matched": _matched(words, row),
            "length": func.length(joined(row)),
        }

    def _distance(self, row: type[MemoryRow]) -> ColumnElement[Any]:
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
        .where(is_matched(words, row.language, joined(row)))
        .correlate(row)
        .scalar_subquery()
    )


def _statistics(sample: FromClause, holding: FromClause) -> ColumnElement[Any]:
    length = func.coalesce(func.avg(sample.c.length), 0)
    whole = select(array([cast(value, DOUBLE_PRECISION) for value in (func.count(), length)]))
    of_terms = func.array_agg(aggregate_order_by(holding.c.memories, holding.c.n))
    terms = select(cast(of_terms, ARRAY(DOUBLE_PRECISION)))
    return whole.select_from(sample).scalar_subquery().op("||")(terms.scalar_subquery())
