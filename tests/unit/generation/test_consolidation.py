"""The second call: when it is needed, and what it shows of the facts and memories."""

from datetime import UTC, date, datetime

import pytest

from app.adapters.llm.ports import Meter
from app.language.facts import Candidate, Neighbour
from app.language.tokens import estimate_tokens_of_bytes
from app.memory.generation.logic.decisions import Caps
from app.memory.generation.logic.prompts import MERGE
from app.memory.generation.services.consolidation import Consolidation, compared
from app.memory.generation.services.neighbours import NearMemories
from tests.support.scripted import verdict, verdicts
from tests.support.scripted_models import ScriptedTextModel

NEAREST = Neighbour("a", 1, "I like green tea.", 0.3, rests_on=datetime(2026, 1, 9, tzinfo=UTC))
FARTHEST = Neighbour("b", 1, "I like black tea.", 0.6)
TODAY = date(2026, 1, 15)
CAPS = Caps(5, 20)
OLD = {"a": ["A1 " + "x" * 500, "A2 " + "x" * 500, "A3 " + "x" * 500], "b": ["B1 " + "x" * 500]}


async def _prompts(
    fact: str, room: int, histories: dict[str, list[str]]
) -> tuple[list[str], list[str]]:
    """Decide on one fact; return the lines that the model was shown, and what became of it.

    `room` is the tokens that are left for what is shown.
    """
    own = estimate_tokens_of_bytes(MERGE) + 300
    model = ScriptedTextModel([verdicts()], max_input_tokens=own + room)
    facts = compared([Candidate(fact)], [NearMemories([NEAREST, FARTHEST])])
    found = await Consolidation(model, Meter(), CAPS).decide(facts, histories, TODAY)
    lines = [line for prompt in model.prompts for line in prompt.text.splitlines()]
    return lines, [one.action for one in found.verdicts]


async def test_what_fits_is_shown_whole() -> None:
    lines, actions = await _prompts("I like tea.", 4_000, OLD)
    assert actions == ["CREATE"]
    shown = "\n".join(lines)
    assert all(mark in shown for mark in ("A1", "A2", "A3", "B1"))


async def test_the_oldest_history_goes_first() -> None:
    lines, _ = await _prompts("I like tea.", 520, OLD)
    shown = "\n".join(lines)
    assert [mark for mark in ("A1", "A2", "A3", "B1") if mark in shown] == ["A1", "B1"]
    assert (NEAREST.fact in shown, FARTHEST.fact in shown) == (True, True)


async def test_then_the_farthest_memories() -> None:
    lines, actions = await _prompts("I like tea " + "y" * 1_370, 520, {})
    assert actions == ["CREATE"]
    assert lines[-2:] == ["Memories:", f"m1 2026-01-09: {NEAREST.fact}"]


@pytest.mark.parametrize(
    ("candidates", "near", "asks"),
    [
        ([Candidate("I like tea.")], [NearMemories()], False),
        ([Candidate("I like tea.")], [NearMemories([FARTHEST])], True),
        ([Candidate("I like tea.", doubtful=True)], [NearMemories()], True),
        ([Candidate("my job", forget=True)], [NearMemories()], False),
        ([Candidate("I like tea."), Candidate("tea", forget=True)], [NearMemories()] * 2, True),
        # What a memory has word for word is settled.
        ([Candidate("i LIKE  green tea!")], [NearMemories([NEAREST])], False),
    ],
)
async def test_only_what_is_open_is_asked(
    candidates: list[Candidate], near: list[NearMemories], *, asks: bool
) -> None:
    model = ScriptedTextModel([verdicts()])
    facts = compared(candidates, near)
    await Consolidation(model, Meter(), CAPS).decide(facts, {}, TODAY)
    assert bool(model.prompts) is asks


def test_what_is_said_again_word_for_word_is_noted_and_its_text_kept() -> None:
    facts = compared([Candidate("I LIKE green tea")], [NearMemories([FARTHEST, NEAREST])])
    (one,) = facts.settled
    assert (one.action, one.memory_id, one.fact) == ("UPDATE", "a", NEAREST.fact)
    # Nothing else is settled without the model: a denial shares all words but one.
    for hidden in ("I like\u200b green tea.", "\ufeffI like green tea", "I like gr\u00adeen tea"):
        assert not compared([Candidate(hidden)], [NearMemories([NEAREST])]).open
    denied = compared([Candidate("I don't like green tea.")], [NearMemories([NEAREST])])
    assert denied.settled == []


def test_the_same_text_twice_is_one_fact() -> None:
    candidates = [Candidate("I like tea.", turn=0), Candidate("I like tea!", turn=2)]
    (one,) = compared(candidates, [NearMemories()] * 2).open
    assert (one.ordered_positions, one.candidate.turn) == ((0, 1), 2)


async def test_facts_are_shown_with_their_words_and_day() -> None:
    model = ScriptedTextModel([verdicts(verdict("add"), verdict("add", number=1))])
    candidates = [
        Candidate(
            "I am allergic to peanuts.",
            source="Peanuts",
            context="Peanuts, <badly>.",
            question="Any allergies?",
            doubtful=True,
            said_on=date(2026, 1, 2),
        ),
        Candidate("I like tea.", source="I like tea", context="I like tea!"),
    ]
    facts = compared(candidates, [NearMemories()] * 2)
    await Consolidation(model, Meter(), CAPS).decide(facts, {}, TODAY)
    assert model.prompts[0].text.splitlines() == [
        "New facts:",
        "0 2026-01-02 <Any allergies?> <Peanuts, (badly).>: I am allergic to peanuts.",
        "1 2026-01-15: I like tea.",
        "Memories:",
    ]


async def test_no_more_memories_are_shown_than_fit_one_prompt() -> None:
    model = ScriptedTextModel([verdicts()])
    near = [Neighbour(f"m{n}", 1, f"I like tea number {n}.", 0.5) for n in range(50)]
    facts = compared([Candidate("tea", forget=True)], [NearMemories(near)])
    await Consolidation(model, Meter(), CAPS).decide(facts, {}, TODAY)
    shown = model.prompts[0].text.partition("Memories:\n")[2].splitlines()
    assert len(shown) == 30
    assert shown[0] == "m1: I like tea number 0."


def test_what_is_said_again_beside_a_request_to_forget_it_is_for_the_model() -> None:
    candidates = [Candidate("tea", turn=0, forget=True), Candidate("I like green tea.", turn=1)]
    facts = compared(candidates, [NearMemories([NEAREST]), NearMemories([NEAREST])])
    assert facts.settled == []
    assert [one.candidate.fact for one in facts.open] == ["tea", "I like green tea."]


async def test_requests_to_forget_have_their_room_beside_other_facts() -> None:
    model = ScriptedTextModel([verdicts()])
    rows = [
        NearMemories([Neighbour(f"f{n}-{k}", 1, f"Fact {n} {k}.", 0.5) for k in range(5)])
        for n in range(12)
    ]
    newest = [Neighbour(f"n{n}", 1, f"Newest {n}.", 0.5) for n in range(20)]
    candidates = [
        *(Candidate(f"I like {n}.", said_on=TODAY) for n in range(12)),
        Candidate("everything about the user", forget=True, said_on=TODAY),
    ]
    facts = compared(candidates, [*rows, NearMemories(newest)])
    await Consolidation(model, Meter(), CAPS).decide(facts, {}, TODAY)
    shown = model.prompts[0].text.partition("Memories:\n")[2].splitlines()
    assert len(shown) == 30
    assert sum("Newest" in line for line in shown) == 20
