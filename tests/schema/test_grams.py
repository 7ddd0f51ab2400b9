"""Words of scripts without blanks in a database: of rows from before, and by their indexes."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, true

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import SystemClock
from app.kernel.ids import scope_hash
from app.language.grams import ANY_SIGN, indexed
from app.memory.memories.logic.search_hints import search_hints_of
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE
from app.memory.memories.store import ledger, repository
from app.memory.retrieval.store import indexes
from app.memory.retrieval.store.candidates import CandidateQuery, find_candidates
from app.memory.retrieval.store.indexes import IndexKey
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery
from app.process.features import FEATURES
from app.settings.settings import Settings
from tests.schema.conftest import database_beside
from tests.schema.test_plans import Statement, nodes
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sweeping import batch, sweep

_BEFORE = "c4a7e21b0900"
_FACTS = {
    "latin": "I like green tea.",
    "accents": "Ich mag grünen Tee.",
    "zh": "用户喜欢绿茶。",
    "ja": "緑茶が好きだ。",
    "ko": "녹차를 좋아한다.",
    "th": "ชอบชาเขียว",
    "format": "green\u200btea",
    "variant": "tea\ufe0f time",
    "variant of a sign": "葛\U000e0100城に住む。",
    "hindi": "मुझे चाय पसंद है",
}
_KEPT = ["kept"]
_OF_HINTS = {"format", "variant", "variant of a sign", "hindi"}
_COMPUTED = {"zh", "ja", "ko", "th", *_OF_HINTS}
_INSERT = b"""
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, cues, language)
values (1, %s, 1, '{}', 'x', %s, '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', now(), now(), %s,
        'simple')
"""
_CHUNK = b"""
insert into task_chunks (engine_id, content_id, n, memory, namespace, start_offset, end_offset,
                         text, tokens)
values (1, %s, 0, 'm', 'n', 0, 1, %s, 1)
"""
_MANY = b"""
set session_replication_role = replica;
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, cues, language, grams)
select 1, n::text, 1, '{"user_id": "42"}', %(hash)s, %(many)s, '[]', '{}', %(type)s, now(), now(),
       '{}', 'simple', %(grams)s::tsvector
from generate_series(1, 20000) as n;
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, cues, language, grams)
values (1, 'rare', 1, '{"user_id": "42"}', %(hash)s, %(rare)s, '[]', '{}', %(type)s, now(), now(),
        '{}', 'simple', %(of_rare)s::tsvector);
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, cues, language)
values (1, 'lacking', 1, '{"user_id": "7"}', 'other', %(rare)s, '[]', '{}', %(type)s, now(), now(),
        '{}', 'simple');
"""


def _expected(fact: str) -> tuple[list[str], set[str]]:
    hints = search_hints_of({"fact": fact}, None)
    return hints["cues"], _lexemes(hints["grams"])


def _lexemes(vector: str | None) -> set[str]:
    return set((vector or "").split())


def _read(url: str) -> dict[str, tuple[Any, set[str]]]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(b"select memory_id, cues, grams::text from memories")
        return {name: (cues, _lexemes(grams)) for name, cues, grams in rows}


async def test_rows_from_before_get_their_grams(
    empty_database_url: str, settings: Settings
) -> None:
    url = empty_database_url
    migrate.upgrade(url, revision=_BEFORE)
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(b"set session_replication_role = replica")
        cursor.executemany(_INSERT, [(name, fact, _KEPT) for name, fact in _FACTS.items()])
        cursor.executemany(_CHUNK, list(_FACTS.items()))
    migrate.upgrade(url)
    assert {name for name, (cues, _) in _read(url).items() if cues is None} == _OF_HINTS
    with psycopg.connect(url) as connection:
        # What a process of the former release may still write.
        connection.execute(b"set session_replication_role = replica")
        connection.execute(_INSERT, ("late", "아침마다 녹차를 마신다.", _KEPT))
    database = Database(open_engine(url, settings))
    resources = Resources(settings, SystemClock(), database, url, ScriptedEmbedder())
    try:
        assert await sweep(resources, "memories without traits") == len(_COMPUTED) + 1
        assert await sweep(resources, "memories without traits") == 0
        assert await sweep(resources, "chunks without grams") == 5
        assert await sweep(resources, "chunks without grams") == 0
    finally:
        await database.close()
    found = _read(url)
    assert found.pop("late")[1]
    for name, fact in _FACTS.items():
        assert found[name] == (_expected(fact) if name in _COMPUTED else (_KEPT, set()))
    with psycopg.connect(url) as connection:
        rows = connection.execute(b"select content_id, grams::text from task_chunks").fetchall()
    # Of chunks the sweep looks for signs alone: others with format characters stay as they were.
    assert {name: _lexemes(grams) for name, grams in rows} == {
        name: _lexemes(indexed(fact)) if re.search(ANY_SIGN, fact) else set()
        for name, fact in _FACTS.items()
    }
    migrate.downgrade(url, _BEFORE)
    migrate.upgrade(url)


def test_postgres_and_python_know_the_same_signs(database_url: str) -> None:
    sign = re.compile(ANY_SIGN)
    codes = [code for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            b"select n from unnest(%s::int[]) as n where chr(n) ~ %s", (codes, ANY_SIGN)
        )
        assert [n for (n,) in rows] == [code for code in codes if sign.match(chr(code))]


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "grams") as url:
        migrate.upgrade(url)
        many, rare = "我们喜欢喝茶和咖啡", "他们养了一只蜥蜴"
        values = {
            "hash": scope_hash(USER),
            "type": DEFAULT_MEMORY_TYPE,
            "many": many,
            "grams": indexed(many),
            "rare": rare,
            "of_rare": indexed(rare),
        }
        with psycopg.connect(url, autocommit=True) as connection:
            psycopg.ClientCursor(connection).execute(_MANY, values)
            key = IndexKey(1, scope_hash(USER), "none")
            connection.execute(indexes.build_words(key))
            connection.execute(b"analyze")
        yield url


def _plan(url: str, statement: Statement) -> set[str]:
    text, values = statement
    with psycopg.connect(url) as connection:
        connection.execute(b"set plan_cache_mode = force_custom_plan")
        connection.execute(b"set enable_sort = off")
        (row,) = psycopg.ClientCursor(connection).execute(
            b"explain (format json) " + text.encode(), values
        )
    return {str(node.get("Index Name")) for node in nodes(row[0][0]["Plan"])}


async def test_the_index_of_a_large_scope_serves_grams(url: str, settings: Settings) -> None:
    sent: list[Statement] = []
    database = Database(open_engine(url, settings))
    event.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda *arguments: sent.append((arguments[2], arguments[3])),
    )
    query = ScopeQuery(1, scope_hash(USER), [DEFAULT_MEMORY_TYPE], true(), SystemClock().now())
    wanted = CandidateQuery("蜥蜴吃什么", "simple", "none", None)
    try:
        async with database.snapshot() as session:
            _, found = await find_candidates(session, query, wanted, ScopeIndex(16, 20_001))
    finally:
        await database.close()
    assert {one.memory_id for one in found if one.matched} == {"rare"}
    entering = next(one for one in sent if "sample" in one[0])
    assert IndexKey(1, scope_hash(USER), "none").words_name in _plan(url, entering)


async def test_the_sweep_finds_what_lacks_grams_by_an_index(url: str, settings: Settings) -> None:
    sent: list[Statement] = []
    database = Database(open_engine(url, settings))
    resources = Resources(settings, SystemClock(), database, url, ScriptedEmbedder())
    event.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda *arguments: sent.append((arguments[2], arguments[3])),
    )
    try:
        found, _ = await batch(
            resources, repository.find_without_hints, ledger.backfill_search_hints
        )
    finally:
        await database.close()
    assert found == 1
    assert "ix_memories_without_hints" in _plan(url, sent[0])
    assert {sweep.name for feature in FEATURES for sweep in feature.sweeps} >= {
        "memories without traits",
        "chunks without grams",
    }
