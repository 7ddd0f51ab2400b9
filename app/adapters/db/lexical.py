"""Terms of a query and BM25, as expressions for search statements.

A term is a word of the query that is not a stop word. Each memory's own language stems the word for
the match, so one query matches memories of several languages in one scope.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    SmallInteger,
    Text,
    and_,
    cast,
    column,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import (
    ARRAY,
    DOUBLE_PRECISION,
    REGCONFIG,
    TSQUERY,
    TSVECTOR,
    array,
)

from app.language.bm25 import BASE, MAX_TERMS, SLOPE


@dataclass(frozen=True)
class QueryText:
    """The text of a query without accents, and its grams as a `tsvector` (`app/language/grams`)."""

    text: ColumnElement[str] | str
    grams: ColumnElement[str] | str


def terms_of(languages: FromClause, query: QueryText, language: ColumnElement[str]) -> FromClause:
    """Select the terms of a query: the number `n`, a language, and the term in it as a `tsquery`.

    A word is not a term if it is a stop word in the query's own `language` or in all `languages`.
    """
    own = lexemes(language, query, "own")
    first = select(own.c.positions).order_by(own.c.positions).limit(MAX_TERMS).cte("first_words")
    given = lexemes(languages.c.language, query, "given").lateral("given")
    return (
        select(
            (func.dense_rank().over(order_by=first.c.positions) - 1).label("n"),
            languages.c.language,
            any_of(quoted(given)).label("query"),
        )
        .select_from(languages)
        .join(given, true())
        .join(first, first.c.positions.bool_op("&&")(given.c.positions))
        .group_by(first.c.positions, languages.c.language)
        .cte("words")
    )


def lexemes(language: ColumnElement[str], query: QueryText, name: str) -> Any:  # noqa: ANN401 - of no public type
    """Select the lexemes of a query in a language, grams first, with their positions in it."""
    words = func.to_tsvector(cast(language, REGCONFIG), query.text)
    # Grams come first: concatenation shifts the second vector's positions by the last position of
    # the first. The last word differs between languages, the last gram does not.
    return (
        func.unnest(cast(query.grams, TSVECTOR).concat(words))
        .table_valued("lexeme", column("positions", ARRAY(SmallInteger)), "weights")
        .render_derived(name=name)
    )


def quoted(words: FromClause) -> ColumnElement[str]:
    """Return the query for one lexeme; the text form of its vector has the needed quoting."""
    return cast(func.array_to_tsvector(array([words.c.lexeme])), Text)


def any_of(queries: ColumnElement[str]) -> ColumnElement[Any]:
    """Return a query that matches if any of the given queries does; an aggregate."""
    return cast(func.string_agg(queries, literal(" | ")), TSQUERY)


def joined(row: Any) -> ColumnElement[Any]:  # noqa: ANN401 - a row with both columns
    """Return all lexemes of a text from its columns `terms` and `grams`; `grams` may be null."""
    return func.coalesce(row.terms.concat(row.grams), row.terms, type_=TSVECTOR)


def is_matched(words: FromClause, language: Any, terms: Any) -> ColumnElement[bool]:  # noqa: ANN401 - columns of any place
    """Select the terms that occur in a memory with these columns."""
    return and_(words.c.language == language, terms.bool_op("@@")(words.c.query))


def bits(words: FromClause) -> ColumnElement[int]:
    """Return the union of the bits of terms; an aggregate."""
    bit = literal(1, BigInteger).bitwise_lshift(cast(words.c.n, Integer))
    return func.coalesce(func.bit_or(bit), 0)


def has_bit(matched: ColumnElement[int], n: ColumnElement[int]) -> ColumnElement[bool]:
    """Select rows in which the bit of a term is set."""
    return matched.bitwise_rshift(cast(n, Integer)).bitwise_and(1) == 1


def rarity(memories: ColumnElement[Any], holding: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the weight of a term that occurs in `holding` of the memories or other texts."""
    return func.ln(1 + (memories - holding + 0.5) / (holding + 0.5))


def score(
    weight: ColumnElement[Any], length: ColumnElement[Any], average: ColumnElement[Any]
) -> ColumnElement[Any]:
    """Return the BM25 score of a memory from its terms' weight and its length, like `Bm25`."""
    slope = _double(SLOPE) / func.greatest(average, _double(1))
    return weight / (_double(BASE) + slope * length)


def _double(value: float) -> ColumnElement[float]:
    # Postgres reads a literal fraction as `numeric`; its arithmetic takes ten times as long.
    return literal(value, DOUBLE_PRECISION)
