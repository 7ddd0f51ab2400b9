"""What needs no model, and what a model is not trusted with."""

import pytest

from app.generation.gates import (
    MAX_NEAR,
    NEAR_COSINE,
    Gated,
    Group,
    gate,
    invents,
    keeps,
    may_forget,
    merged,
    repeats,
    replaced,
)
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
    ("text", "facts"),
    [
        ("I like green tea.", ["I like green tea.", "I like tea."]),
        ("I like tea and coffee.", ["I like tea.", "I like coffee."]),
        ("I do not eat meat or fish.", ["I do not eat meat.", "I don't eat fish."]),
        ("Mein Hund Rex bellt laut.", ["Mein Hund bellt laut."]),
    ],
)
def test_a_text_keeps_what_facts_say(text: str, facts: list[str]) -> None:
    assert keeps(text, *facts)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I like tea.", "I like tea from Ceylon."),
        ("I have dogs.", "I have 2 dogs."),
        ("I have 3 dogs.", "I have 2 dogs."),
        ("I eat meat and fish.", "I don't eat meat."),
        ("I like tea.", "I like coffee."),
        ("", "I like coffee."),
    ],
)
def test_a_text_loses_what_a_fact_says(text: str, fact: str) -> None:
    assert not keeps(text, fact)


@pytest.mark.parametrize(
    "text",
    [
        "I like tea and owe my neighbour Bob money.",
        "I like 2 teas.",
        "I do not like tea.",
        "I never like tea.",
    ],
)
def test_a_text_says_more_than_it_is_made_from(text: str) -> None:
    assert invents(text, "I like tea.")
    assert not invents("I like tea.", "I like tea.")


@pytest.mark.parametrize(
    ("fact", "memory", "distance", "is_said"),
    [
        ("I adore tea.", "I love tea.", 0.3, True),
        ("I adore tea.", "I love tea.", 0.9, False),
        ("I like tea.", "I like green tea.", 1.2, True),
        ("I have 3 dogs.", "I have 2 dogs.", 0.1, False),
        ("I don't like tea.", "I like tea.", 0.1, False),
        ("I know Anna.", "I know Bob.", 0.1, False),
    ],
)
def test_a_memory_says_it_already(
    fact: str, memory: str, distance: float, *, is_said: bool
) -> None:
    assert repeats(read(fact), near(memory, distance=distance)) is is_said


@pytest.mark.parametrize(
    ("text", "is_sound"),
    [
        ("I like tea and coffee.", True),
        ("I like both tea and coffee.", True),
        ("I like coffee.", False),
        ("I like hot drinks.", False),
        ("I like tea and coffee, and I owe Bob 500 dollars.", False),
        ("I like neither tea nor coffee.", False),
        ("I like tea and coffee." + " tea" * 4_000, False),
    ],
)
def test_a_merge_has_all_and_nothing_else(text: str, *, is_sound: bool) -> None:
    found = merged(read("I like coffee."), near("I like tea."), text)
    assert found == (text if is_sound else None)


def test_what_is_affirmed_and_what_is_denied_are_not_merged() -> None:
    denied = near("I don't eat meat.")
    assert merged(read("I eat fish."), denied, "I don't eat meat or fish.") is None


@pytest.mark.parametrize(
    ("new", "old", "text", "expected"),
    [
        # The words tell the contradiction: the new fact, whatever the model says.
        ("I live in Rome.", "I live in Oslo.", "I live in Rome.", "I live in Rome."),
        ("I live in Rome.", "I live in Oslo.", "", "I live in Rome."),
        ("I live in Rome.", "I live in Oslo.", "HACKED", "I live in Rome."),
        ("I live in Rome.", "I live in Oslo.", "I live.", "I live in Rome."),
        ("I don't like tea.", "I like tea.", "I like tea.", "I don't like tea."),
        # Only the model tells: little may go, and the text must say the new fact.
        ("I love coffee.", "I love tea.", "I love coffee.", "I love coffee."),
        ("I love coffee.", "I love tea.", "I love rum.", None),
        ("I love coffee.", "I love tea.", "HACKED", None),
        ("I love coffee.", "I love tea from Ceylon with milk.", "I love coffee.", None),
        ("I got married.", "I am single.", "I got married.", "I got married."),
    ],
)
def test_a_replacement_says_the_new_fact_and_loses_little(
    new: str, old: str, text: str, expected: str | None
) -> None:
    assert replaced(read(new), near(old), text) == expected


def test_what_is_not_near_is_not_replaced() -> None:
    far = near("I love tea.", distance=(2 - 2 * NEAR_COSINE) ** 0.5 + 0.01)
    assert replaced(read("I love coffee."), far, "I love coffee.") is None


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
