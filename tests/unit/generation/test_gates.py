"""What needs no model."""

import pytest

from app.generation.gates import MAX_NEAR, Gated, Group, gate, may_forget
from app.rules.facts import Candidate, Neighbour
from app.rules.relations import read

NEAR, FAR = 0.6, 1.3


def near(fact: str, memory_id: str = "a", distance: float = NEAR) -> Neighbour:
    return Neighbour(memory_id, 1, fact, distance)


def gated(*said: str | Candidate, memories: list[Neighbour] | None = None) -> Gated:
    candidates = [Candidate(one) if isinstance(one, str) else one for one in said]
    return gate(candidates, [memories or [] for _ in candidates])


def told(found: Gated) -> list[tuple[str, str | None, str]]:
    return [(one.action, one.memory_id, one.fact) for one in found.settled]


def forgetting(thing: str) -> Candidate:
    return Candidate(thing, forget=True)


@pytest.mark.parametrize("said", ["i like TEA!", "I like tea", "I like  tea."])
def test_what_is_known_needs_no_model(said: str) -> None:
    found = gated(said, memories=[near("I like tea.", distance=0.1)])
    assert [(one.action, one.memory_id) for one in found.settled] == [("UPDATE", "a")]
    assert found.unsettled == []


def test_what_nothing_is_near_to_needs_no_model() -> None:
    found = gated("I like tea.", memories=[near("I own a boat.", distance=FAR)])
    assert told(found) == [("CREATE", None, "I like tea.")]
    assert found.unsettled == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I have 3 dogs.", "I have 2 dogs."),
        ("I do not like tea.", "I like tea."),
        ("I like Anna.", "I like Bob."),
    ],
)
def test_numbers_negation_and_names_are_no_repetition_however_near(new: str, old: str) -> None:
    found = gated(new, memories=[near(old, distance=0.05)])
    assert found.settled == []
    assert [group.fact.fact for group in found.unsettled] == [new]


def test_a_contradiction_is_asked_about_however_far() -> None:
    found = gated("I live in Berlin.", memories=[near("I live in Paris.", distance=FAR)])
    assert [one.memory_id for group in found.unsettled for one in group.near] == ["a"]


def test_few_memories_are_shown_the_nearest() -> None:
    memories = [near(f"I like tea number {n}.", str(n)) for n in range(9)]
    (group,) = gated("I like coffee.", memories=memories).unsettled
    assert [one.memory_id for one in group.near] == [str(n) for n in range(MAX_NEAR)]


def test_several_facts_about_one_memory_make_one_change() -> None:
    found = gated("I like tea.", "i like tea", memories=[near("I like tea.")])
    ((action, memory_id, _),) = told(found)
    assert (action, memory_id) == ("UPDATE", "a")
    assert found.settled[0].candidates == (0, 1)


def test_of_what_contradicts_itself_the_last_counts() -> None:
    found = gated("I live in Paris.", "I live in Berlin.")
    assert told(found) == [("CREATE", None, "I live in Berlin.")]
    assert found.settled[0].candidates == (0, 1)


def test_of_what_contradicts_itself_in_part_the_rest_stays() -> None:
    found = gated("I live in Paris. My dog is called Rex.", "I live in Berlin.")
    facts = [fact for _, _, fact in told(found)]
    assert not [fact for fact in facts if "Paris" in fact]
    assert [fact for fact in facts if "Rex" in fact]
    assert [fact for fact in facts if "Berlin" in fact]


def test_a_request_to_forget_deletes_what_it_names() -> None:
    memories = [near("I like tea."), near("I like chess.", "b")]
    found = gated(forgetting("I like tea"), memories=memories)
    assert told(found) == [("DELETE", "a", "")]
    assert found.unsettled == []


def test_a_request_in_other_words_is_asked_about() -> None:
    found = gated(forgetting("my hot drinks"), memories=[near("I like tea.")])
    assert found.settled == []
    assert [group.forget for group in found.unsettled] == [True]
    assert gated(forgetting("my boat"), memories=[near("I like tea.", distance=FAR)]) == Gated(
        [], []
    )


def test_the_later_of_forgetting_and_saying_counts() -> None:
    memories = [near("I like tea.")]
    found = gated(forgetting("I like tea"), "I like tea.", memories=memories)
    assert told(found) == [("UPDATE", "a", "I like tea.")]
    found = gated("I like tea.", forgetting("I like tea"), memories=memories)
    assert told(found) == [("DELETE", "a", "")]
    assert told(gated("I like tea.", forgetting("I like tea"))) == []


@pytest.mark.parametrize(
    ("request_", "memory", "may"),
    [
        ("my allergies", "I'm allergic to peanuts.", True),
        ("where I work", "I work at Google as an engineer.", True),
        ("meinen Job bei Siemens", "Ich arbeite bei Siemens.", True),
        ("I like tea", "I like coffee.", False),
        ("my sister Maria", "My sister Anna lives in Rome.", False),
        ("my 2 dogs", "I have 3 dogs.", False),
        ("everything", "I like tea.", False),
        ("my cat", "My cat and I moved to Oslo in May, where I work as a nurse at night.", False),
    ],
)
def test_what_a_request_may_mean(request_: str, memory: str, *, may: bool) -> None:
    group = Group([0], read(request_), forget=True)
    assert may_forget(group, near(memory)) is may
