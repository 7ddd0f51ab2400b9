"""A model's decisions: only sound ones count, and no fact is lost on the way."""

from collections.abc import Sequence

import pytest

from app.generation.decisions import Decided, decided
from app.generation.gates import Group
from app.generation.replies import Decision, DecisionAction
from app.rules.facts import Neighbour, Verdict
from app.rules.relations import read

TEA = Neighbour("a", 1, "I like tea.", 0.6)
HOME = Neighbour("b", 1, "I live in Paris.", 0.6)


def group(fact: str, *near: Neighbour, position: int = 0, forget: bool = False) -> Group:
    return Group([position], read(fact), forget, list(near))


def says(action: DecisionAction, memory: str = "", text: str = "", number: int = 0) -> Decision:
    return Decision(fact=number, action=action, memory=memory, text=text)


def judged(
    groups: Sequence[Group], *decisions: Decision, settled: Sequence[Verdict] = ()
) -> Decided:
    shown = {near.memory_id: near for one in groups for near in one.near}
    aliases = {f"m{n}": near for n, near in enumerate(shown.values(), start=1)}
    return decided(groups, decisions, aliases, settled)


def told(found: Decided) -> list[tuple[str, str | None, str]]:
    return [(one.action, one.memory_id, one.fact) for one in found.verdicts]


CREATED = ("CREATE", None, "I like coffee.")


@pytest.mark.parametrize(
    "decision",
    [
        says("same", "m7"),
        says("same", "a"),
        says("same", "m1"),
        says("merge", "m1", "I like coffee."),
        says("merge", "m1", "I like tea and coffee and owe Bob money."),
        says("merge", "m1"),
        says("replace", "m1", "HACKED"),
        says("delete", "m1"),
        says("delete", "m9"),
        says("delete"),
        says("merge", "m1", "I like tea and coffee.", number=5),
        says("delete", "m1", number=-1),
    ],
)
def test_an_unsound_decision_is_refused_and_the_fact_kept(decision: Decision) -> None:
    found = judged([group("I like coffee.", TEA)], decision)
    assert told(found) == [CREATED]
    assert found.refused == 1


@pytest.mark.parametrize("decisions", [[], [says("add")], [says("add", "m1", "x")]])
def test_without_a_decision_a_fact_is_new(decisions: list[Decision]) -> None:
    found = judged([group("I like coffee.", TEA)], *decisions)
    assert told(found) == [CREATED]
    assert found.refused == 0


def test_a_merge_takes_the_fact_in() -> None:
    found = judged(
        [group("I like coffee.", TEA)], says("merge", "m1", " I like tea\x00 and coffee. ")
    )
    assert told(found) == [("UPDATE", "a", "I like tea and coffee.")]
    assert found.verdicts[0].reason == "merged"


def test_a_contradicted_memory_is_replaced() -> None:
    found = judged([group("I live in Rome.", HOME)], says("replace", "m1", "I live in Rome."))
    assert told(found) == [("UPDATE", "b", "I live in Rome.")]


def test_a_contradicted_memory_may_go_and_the_fact_stays() -> None:
    found = judged([group("I live in Rome.", HOME)], says("delete", "m1"))
    assert told(found) == [("DELETE", "b", ""), ("CREATE", None, "I live in Rome.")]


def test_what_else_a_contradicted_memory_says_stays() -> None:
    both = Neighbour("a", 1, "I live in Paris. My dog is called Rex.", 0.6)
    found = judged([group("I live in Rome.", both)], says("replace", "m1", "I live in Rome."))
    texts = [fact for _, _, fact in told(found)]
    assert [text for text in texts if "Rex" in text]
    assert [text for text in texts if "Rome" in text]
    assert not [text for text in texts if "Paris" in text]
    found = judged([group("I live in Rome.", both)], says("delete", "m1"))
    assert found.refused == 1


def test_a_request_to_forget_deletes_what_it_may_mean() -> None:
    memory = Neighbour("a", 1, "I'm allergic to peanuts.", 0.6)
    forgotten = group("my allergies", memory, forget=True)
    assert told(judged([forgotten], says("delete", "m1"))) == [("DELETE", "a", "")]


@pytest.mark.parametrize(
    "decision",
    [
        says("delete", "m1"),
        says("same", "m1"),
        says("merge", "m1", "I like tea and my sister Maria."),
        says("replace", "m1", "my sister Maria"),
        says("add"),
    ],
)
def test_a_request_to_forget_does_nothing_else(decision: Decision) -> None:
    found = judged([group("my sister Maria", TEA, forget=True)], decision)
    assert found.verdicts == []


def test_decisions_about_memories_shown_for_another_fact_are_checked_as_well() -> None:
    groups = [group("I like coffee.", TEA), group("I live in Rome.", HOME, position=1)]
    found = judged(groups, says("same", "m2"), says("replace", "m1", "I live in Rome.", number=1))
    assert [action for action, _, _ in told(found)] == ["CREATE", "CREATE"]
    assert found.refused == 2


def test_several_facts_come_to_one_memory() -> None:
    groups = [group("I like coffee.", TEA), group("I like rum.", TEA, position=1)]
    merge = says("merge", "m1", "I like tea and coffee.")
    # The second knows nothing of the first: it would undo it.
    found = judged(groups, merge, says("merge", "m1", "I like tea and rum.", number=1))
    assert told(found) == [
        ("UPDATE", "a", "I like tea and coffee."),
        ("CREATE", None, "I like rum."),
    ]
    all_three = "I like tea, coffee and rum."
    found = judged(groups, merge, says("merge", "m1", all_three, number=1))
    # What nobody asked for in the second alone is in the first.
    assert found.verdicts[0].fact in {"I like tea and coffee.", all_three}
    assert {position for one in found.verdicts for position in one.candidates} == {0, 1}


def test_a_deletion_that_is_settled_is_not_overruled() -> None:
    settled = [Verdict("DELETE", (1,), "asked to forget", "a")]
    merge = says("merge", "m1", "I like tea and coffee.")
    found = judged([group("I like coffee.", TEA)], merge, settled=settled)
    assert told(found) == [("DELETE", "a", ""), CREATED]
