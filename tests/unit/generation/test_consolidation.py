"""What a model is shown of the memories: as much as its input takes."""

from app.generation.consolidation import Consolidation
from app.generation.gates import Gated, Group
from app.llm.ports import Meter
from app.llm.scripted import ScriptedTextModel
from app.rules.facts import Neighbour
from app.rules.relations import read

NEAREST = Neighbour("a", 1, "I like green tea.", 0.3)
FARTHEST = Neighbour("b", 1, "I like black tea.", 0.6)
FACT = "I like tea."
OLD = {"a": ["A1 " + "x" * 500, "A2 " + "x" * 500, "A3 " + "x" * 500], "b": ["B1 " + "x" * 500]}


async def _prompts(
    fact: str, max_input_tokens: int, histories: dict[str, list[str]]
) -> tuple[list[str], list[str]]:
    """Decide on one fact; return the lines that the model was shown, and what became of it."""
    model = ScriptedTextModel([{"decisions": []}], max_input_tokens=max_input_tokens)
    group = Group([0], read(fact), near=[FARTHEST, NEAREST])
    verdicts = await Consolidation(model, Meter()).decide(Gated([], [group]), histories)
    lines = [line for prompt in model.prompts for line in prompt.text.splitlines()]
    return lines, [one.action for one in verdicts]


async def test_what_fits_is_shown_whole() -> None:
    lines, actions = await _prompts(FACT, 4_000, OLD)
    assert actions == ["CREATE"]
    shown = "\n".join(lines)
    assert all(mark in shown for mark in ("A1", "A2", "A3", "B1"))


async def test_the_oldest_history_goes_first() -> None:
    lines, _ = await _prompts(FACT, 1_000, OLD)
    shown = "\n".join(lines)
    assert [mark for mark in ("A1", "A2", "A3", "B1") if mark in shown] == ["A1", "B1"]
    assert (NEAREST.fact in shown, FARTHEST.fact in shown) == (True, True)


async def test_then_the_farthest_memories() -> None:
    # About 520 tokens are left for what is shown, of which this takes all but fifteen.
    lines, actions = await _prompts("I like tea " + "y" * 1_492, 1_000, {})
    assert actions == ["CREATE"]
    assert lines[-2:] == ["Memories:", f"m1: {NEAREST.fact}"]


async def test_where_nothing_can_be_shown_nothing_is_asked() -> None:
    lines, actions = await _prompts("I like tea " + "y" * 5_000, 1_000, OLD)
    assert (lines, actions) == ([], ["CREATE"])
