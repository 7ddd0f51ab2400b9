"""What enters a large scope by its indexes tells the same of a memory as what reads the scope."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from sqlalchemy import true

from app.adapters.db.session import Database, Session
from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.kernel.auth import Caller, Reach
from app.kernel.clock import FixedClock
from app.kernel.ids import scope_hash
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.logic.ranking import RankingCandidate, Statistics
from app.memory.retrieval.store.candidates import CandidateQuery, find_candidates
from app.memory.retrieval.store.nearest import ScopeIndex, ScopeQuery
from tests.support.copies import Copies
from tests.support.operations import USER, create_memory
from tests.support.scripted_models import ScriptedEmbedder

INDEX = ScopeIndex(384)
QUERY = "Which green boat was rare, Anna?"
WORDS = ("boat", "house", "garden")


async def _fill(client: httpx.AsyncClient) -> None:
    """Create 80 memories in two languages, some with a place, and one of another scope."""
    for number in range(80):
        fact = f"The green {WORDS[number % 3]} has number {number}."
        if number % 30 == 7:
            fact = f"Anna: Is boat {number} a rare one?"
        if number % 40 == 9:
            fact = f"Das Haus ist grün, und rare Boote hat es {number}."
        if number % 40 == 11:
            fact = f"第{number}号船是绿色的 也叫boat。"
        place = {
            "source": {"stringValue": f"s{number // 20}"},
            "position": {"doubleValue": number % 20},
        }
        await create_memory(client, fact, metadata=place if number % 4 else {})
    await create_memory(client, "A rare green boat of another.", {"user_id": "other"})


@pytest.fixture
async def filled(client: httpx.AsyncClient, resources: Resources, copies: Copies) -> Database:
    """A database with a large scope."""
    await copies.fill(resources.db, "large scope", lambda: _fill(client))
    return resources.db


@pytest.fixture
async def session(filled: Database) -> AsyncIterator[Session]:
    async with filled.snapshot() as found:
        yield found


@pytest.fixture
def query(clock: FixedClock) -> ScopeQuery:
    return ScopeQuery(1, scope_hash(USER), [DEFAULT_MEMORY_TYPE], true(), clock.now())


def _wanted(
    embedder: ScriptedEmbedder, vector: Vectors | None, text: str = QUERY
) -> CandidateQuery:
    return CandidateQuery(text, "english", embedder.model_id, vector)


Found = tuple[Statistics, dict[str, RankingCandidate]]


async def _both(session: Session, query: ScopeQuery, wanted: CandidateQuery) -> tuple[Found, Found]:
    """Return what reading the whole finds, and what entering does."""
    found = []
    for index in (None, INDEX):
        statistics, candidates = await find_candidates(session, query, wanted, index)
        found.append((statistics, {one.memory_id: one for one in candidates}))
        assert len(candidates) == len(found[-1][1])
    return found[0], found[1]


async def test_both_tell_the_same(
    session: Session, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    for vector in (embedder._vector(QUERY), None):
        whole, large = await _both(session, query, _wanted(embedder, vector))
        assert large[0] == whole[0]
        assert large[0].memories == 80
        assert len(large[0].holding) == 4
        # By words, the one looks at a memory alone, the other at those beside it as well.
        both = large[1].keys() & whole[1].keys()
        assert len(both) > len(large[1]) / 2
        for memory_id in both:
            assert large[1][memory_id] == whole[1][memory_id]
        assert any(one.before_length and one.after_length for one in large[1].values())
        assert any(one.before_is_question for one in large[1].values())


async def test_both_tell_the_same_of_scripts_without_blanks(
    session: Session, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    for text in ("绿色的船", "哪艘船是绿色 boat", "第11号"):
        whole, large = await _both(session, query, _wanted(embedder, None, text))
        assert large[0] == whole[0]
        having = {key for key, one in whole[1].items() if one.matched}
        assert having
        assert having <= large[1].keys() | whole[1].keys()
        for memory_id in large[1].keys() & whole[1].keys():
            assert large[1][memory_id] == whole[1][memory_id]


async def test_memories_with_rare_words_are_among_them(
    session: Session, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    whole, large = await _both(session, query, _wanted(embedder, None))
    most = max(one.matched.bit_count() for one in whole[1].values())
    best = {one.memory_id for one in whole[1].values() if one.matched.bit_count() == most}
    assert best <= large[1].keys()


async def test_without_a_word_that_is_there_as_many_are_found(
    session: Session, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    for text in ("", "the", "xyzzy", "'); |&!", "?"):
        for vector in (embedder._vector(QUERY), None):
            whole, large = await _both(session, query, _wanted(embedder, vector, text))
            assert len(large[1]) >= 3
            assert large[1].keys() <= whole[1].keys()
            assert not any(one.matched for one in large[1].values())


async def test_filters_hold_in_both(
    session: Session, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    for clause in (MemoryRow.fact.contains("boat"), MemoryRow.fact == "none"):
        narrow = replace(query, clause=clause)
        wanted = _wanted(embedder, embedder._vector(QUERY))
        whole, large = await _both(session, narrow, wanted)
        assert large[1].keys() == whole[1].keys()


async def test_a_bound_caller_finds_what_is_theirs(
    filled: Database, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    wanted = _wanted(embedder, embedder._vector(QUERY))
    for user in ("42", "7"):
        reach = Reach(conditions={"user_id": frozenset([user])})
        seen = filled.for_caller(Caller("a-key", frozenset(), reach))
        async with seen.snapshot() as bound:
            whole, large = await _both(bound, query, wanted)
        assert bool(whole[1]) == (user == "42")
        assert bool(large[1]) == bool(whole[1])
