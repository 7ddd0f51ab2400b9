"""What is chosen in a small scope is what the statement for scopes of any size chooses."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
from psycopg.types.json import Jsonb
from sqlalchemy import true

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.ids import scope_hash
from app.language.grams import indexed
from app.memory.retrieval.logic.ranking import (
    CANDIDATE_FIELDS,
    COMPUTED,
    RankingCandidate,
    Statistics,
)
from app.memory.retrieval.services.search import LargeScopeSearch
from app.memory.retrieval.store import fast_sql
from app.memory.retrieval.store.candidates import CandidateQuery
from app.memory.retrieval.store.fast_sql import MAX_SMALL_SCOPE
from app.memory.retrieval.store.nearest import ScopeQuery
from tests.support.bank import ok

SCOPE = {"user_id": "random"}
TYPE = "NATURAL_LANGUAGE_COLLECTION"
MODEL = "random/1"
WORDS = (
    "tea",
    "garden",
    "anna",
    "running",
    "dogs",
    "the",
    "and",
    "likes",
    "Häuser",
    "film",
    "2021",
    "绿茶",
)
QUERIES = (
    "Which tea does Anna like in the garden?",
    "dogs",
    "the and",
    "😀",
    "Häuser run run film",
    "绿茶 film",
)
INSERT = b"""
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, expire_time, cues, language, source,
                      position, grams)
values (1, %(id)s, 1, %(scope)s, %(hash)s, %(fact)s, '[]', '{}',
        %(type)s, %(created)s, %(created)s, %(expire)s, %(cues)s, %(language)s, %(source)s,
        %(position)s, %(grams)s::tsvector)
"""
INSERT_VECTOR = b"""
insert into memory_vectors (engine_id, memory_id, model_id, scope_hash, expire_time, vector)
values (1, %(id)s, %(model)s, %(hash)s, %(expire)s, %(vector)s)
"""


def _memory(random: Random, number: int, now: datetime) -> dict[str, Any]:
    source = random.choice(["chat", "call", "Chat"]) if random.random() < 0.6 else None
    # Some have the same place.
    position = random.choice([number, 3, -1.5]) if random.random() < 0.8 else None
    fact = " ".join(random.choices(WORDS, k=random.randint(0, 9)))
    kinds = ["is:question", "subject:anna", "has:time", f"time:2021-{1 + number % 12:02}"]
    return {
        "id": f"m{random.choice('ab-')}{number:04}",
        "scope": Jsonb(SCOPE),
        "hash": scope_hash(SCOPE),
        "fact": fact,
        "grams": indexed(fact),
        "source": source,
        "position": position,
        "type": TYPE if random.random() < 0.97 else "STRUCTURED_PROFILE",
        # Some at the same time.
        "created": now - timedelta(minutes=random.randint(1, 300)),
        "expire": random.choice([None] * 8 + [now, now + timedelta(days=1)]),
        "cues": random.choice([None, [], random.sample(kinds, 2)]),
        "language": random.choice(["english", "english", "german", "simple"]),
        "model": random.choice([MODEL] * 9 + ["another/1"]),
        # Some at the same distance.
        "vector": str([random.randint(-2, 2) or 1 for _ in range(3)]),
    }


def _fill(url: str, random: Random, now: datetime, count: int) -> None:
    with psycopg.connect(url) as connection:
        for number in range(count):
            values = _memory(random, number, now)
            connection.execute(INSERT, values)
            if random.random() < 0.9:
                connection.execute(INSERT_VECTOR, values)


def _query(now: datetime) -> ScopeQuery:
    return ScopeQuery(1, scope_hash(SCOPE), [TYPE], true(), now)


async def _both(
    database: Database, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[tuple[Statistics, list[RankingCandidate]], tuple[Statistics, list[RankingCandidate]]]:
    small = await fast_sql.find_if_small(database, query, wanted)
    assert small is not None
    return small, await fast_sql.find_candidates(database, query, wanted)


@pytest.mark.parametrize("count", [0, 1, 30, 90, 200])
async def test_it_chooses_and_tells_what_the_statement_for_all_does(
    resources: Resources, database_url: str, clock: FixedClock, count: int
) -> None:
    random, now = Random(count), clock.now()
    _fill(database_url, random, now, count)
    for text in QUERIES:
        for vector in (None, np.array([1, -1, 2], dtype=np.float32)):
            wanted = CandidateQuery(text, random.choice(["english", "german"]), MODEL, vector)
            small, whole = await _both(resources.db, _query(now), wanted)
            assert small == whole
            assert len(small[1]) >= min(3, count)
            if count == 200:
                # Any statement reads a column alike that is empty in all memories.
                for name in sorted(set(CANDIDATE_FIELDS) - COMPUTED):
                    assert len({str(getattr(one, name)) for one in whole[1]}) > 1, name


async def test_as_many_as_are_wanted_are_chosen(
    resources: Resources, database_url: str, clock: FixedClock
) -> None:
    _fill(database_url, Random(7), clock.now(), 150)
    small, whole = await _both(
        resources.db, _query(clock.now()), CandidateQuery("😀", "english", MODEL, None)
    )
    assert small == whole
    assert len(small[1]) == 100


@pytest.mark.parametrize("more", [0, 1])
async def test_a_larger_scope_is_searched_whole_and_known_for_it(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock, database_url: str, more: int
) -> None:
    with psycopg.connect(database_url) as connection:
        for number in range(MAX_SMALL_SCOPE + more):
            plain = {"type": TYPE, "expire": None, "fact": f"Fact {number} is about tea."}
            values = _memory(Random(number), number, clock.now())
            connection.execute(INSERT, values | plain | {"language": "english"})
    ok(await client.post("memories", json={"fact": "So the engine is known.", "scope": {"a": "b"}}))
    text = "Fact 7 is about tea."
    body = {"scope": SCOPE, "similaritySearchParams": {"searchQuery": text, "topK": 1}}
    for _ in range(2):
        (found,) = ok(await client.post("/memories:retrieve", json=body))["retrievedMemories"]
        assert found["memory"]["fact"] == text
    query = _query(clock.now())
    scope = (query.engine_id, query.scope_hash)
    assert (scope in LargeScopeSearch.of(resources).known) is (more > 0)
    wanted = CandidateQuery(text, "english", MODEL, None)
    assert (await fast_sql.find_if_small(resources.db, query, wanted) is None) is (more > 0)
    statistics, _ = await fast_sql.find_candidates(resources.db, query, wanted)
    assert statistics.memories == MAX_SMALL_SCOPE + more
