"""Which facts fit in a room, and how much is counted to find out."""

from hypothesis import given
from hypothesis import strategies as st

from app.conversation.contexts.services import contexts
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.service import Counter, Scale
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy

_RULES = rules_of(MemoryPolicy(strategy=Strategy.WINDOW, per_message_overhead=3))


def _counter(counted: list[int], longest: int = 10**9) -> Counter:
    """Count as `chars4` does, with one more for each `longest` characters; note all lengths."""

    def count(text: str) -> int:
        counted.append(len(text))
        return -(-len(text) // 4) + len(text) // longest

    return Counter("chars4", count)


def _one_by_one(facts: list[str], room: int, scale: Scale) -> list[str]:
    kept: list[str] = []
    for fact in facts:
        if scale.of_facts([*kept, fact]) <= room:
            kept.append(fact)
    return kept


async def _kept(facts: list[str], room: int, scale: Scale) -> list[str]:
    named = [(f"n{place}", fact) for place, fact in enumerate(facts)]
    return [fact for _, fact in await contexts.fitting_memories(named, room, scale)]


@given(
    facts=st.lists(st.text("ab <", min_size=1, max_size=30), max_size=12), room=st.integers(0, 99)
)
async def test_each_fact_is_taken_for_which_there_is_room(facts: list[str], room: int) -> None:
    scale = Scale(_RULES, _counter([]))
    assert await _kept(facts, room, scale) == _one_by_one(facts, room, scale)


async def test_facts_are_counted_once_and_their_block_a_few_times() -> None:
    facts = ["x" * 650] * 100
    for room in (100, 5_000, 100_000):
        counted: list[int] = []
        kept = await _kept(facts, room, Scale(_RULES, _counter(counted)))
        assert len(kept) == {100: 0, 5_000: 30, 100_000: 100}[room]
        assert sum(counted) < 6 * sum(map(len, facts))


async def test_a_whole_that_takes_more_than_its_parts_stays_within_the_room() -> None:
    scale = Scale(_RULES, _counter([], longest=100))
    kept = await _kept(["x" * 50] * 20, 150, scale)
    assert 0 < scale.of_facts(kept) <= 150
