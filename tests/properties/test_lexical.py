"""BM25 by Postgres equals BM25 in Python, on random texts."""

from random import Random

import pytest
from sqlalchemy import BigInteger, Text, cast, column, func, literal, select, true, values
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, TSVECTOR

from app.adapters.db.lexical import QueryText, bits, has_bit, is_matched, rarity, score, terms_of
from app.adapters.db.session import Database
from app.language.bm25 import MAX_TERMS, Bm25
from tests.support.cases import in_one_test

WORDS = [f"w{n}x" for n in range(70)]


def _text(random: Random, most: int) -> list[str]:
    # The first words are the most frequent, as in any language.
    return [WORDS[int(len(WORDS) * random.random() ** 3)] for _ in range(random.randint(1, most))]


@in_one_test("seed", range(20))
async def test_postgres_scores_random_texts_as_python_does(database: Database, seed: int) -> None:
    random = Random(seed)
    query = random.sample(WORDS, random.randint(1, len(WORDS)))
    texts = [_text(random, random.choice([3, 20, 200])) for _ in range(random.randint(1, 120))]
    terms = query[:MAX_TERMS]
    read = [
        (sum(1 << n for n, term in enumerate(terms) if term in text), len(set(text)))
        for text in texts
    ]
    bm25 = Bm25.of_texts(read, len(terms))
    matched, scores = zip(*await _scores(database, query, texts), strict=True)
    assert list(matched) == [bits_of_text for bits_of_text, _ in read]
    assert list(scores) == pytest.approx([bm25.score(*text) for text in read], rel=0, abs=1e-9)


async def _scores(
    database: Database, query: list[str], texts: list[list[str]]
) -> list[tuple[int, float]]:
    """Return the bits of the query's terms in each text, and its score, as Postgres has them."""
    language = literal("simple", Text)
    languages = select(language.label("language")).cte("languages")
    words = terms_of(languages, QueryText(" ".join(query), ""), language)
    given = values(column("n", BigInteger), column("text", Text), name="given").data(
        [(n, " ".join(text)) for n, text in enumerate(texts)]
    )
    terms = func.to_tsvector("simple", given.c.text, type_=TSVECTOR)
    matched = select(bits(words)).where(is_matched(words, language, terms)).scalar_subquery()
    read = select(given.c.n, func.length(terms).label("length"), matched.label("matched")).cte(
        "read"
    )
    average = cast(func.sum(read.c.length), DOUBLE_PRECISION) / func.count()
    totals = select(func.count().label("texts"), average.label("average")).select_from(read).cte()
    holding = (
        select(words.c.n, func.count().label("texts"))
        .join_from(words, read, has_bit(read.c.matched, words.c.n))
        .group_by(words.c.n)
        .cte("holding")
    )
    weight = (
        select(func.sum(rarity(totals.c.texts, holding.c.texts)))
        .where(has_bit(read.c.matched, holding.c.n))
        .scalar_subquery()
    )
    scored = func.coalesce(score(weight, read.c.length, totals.c.average), 0.0)
    statement = select(read.c.matched, scored).join_from(read, totals, true()).order_by(read.c.n)
    async with database.snapshot() as session:
        return [(row[0], row[1]) for row in await session.execute(statement)]
