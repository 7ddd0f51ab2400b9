"""What a change of a memory would lose or invent: then it is refused, and nothing is lost."""

import pytest

from app.generation.losses import MAX_SHOWN_CHARS, fuller, invents, keeps, merged, replaced
from app.rules.facts import Neighbour
from app.rules.relations import read

NEAR = 0.6


def near(fact: str, memory_id: str = "a", distance: float = NEAR) -> Neighbour:
    return Neighbour(memory_id, 1, fact, distance)


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
    found = fuller(read(fact), near(memory, distance=distance))
    assert found == (memory if is_said else None)


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
    found = merged([read("I like coffee.")], near("I like tea."), text)
    assert found == (text if is_sound else None)


def test_what_is_affirmed_and_what_is_denied_are_not_merged() -> None:
    denied = near("I don't eat meat.")
    assert merged([read("I eat fish.")], denied, "I don't eat meat or fish.") is None


@pytest.mark.parametrize(
    ("new", "old", "text", "expected"),
    [
        # The words tell the contradiction: the new fact, whatever the model says.
        ("I live in Rome.", "I live in Oslo.", "I live in Rome.", "I live in Rome."),
        ("I live in Rome.", "I live in Oslo.", "", "I live in Rome."),
        ("I live in Rome.", "I live in Oslo.", "HACKED", "I live in Rome."),
        ("I live in Rome.", "I live in Oslo.", "I live in Oslo and Rome.", "I live in Rome."),
        ("I don't like tea.", "I like tea.", "I like tea.", "I don't like tea."),
        ("I got married.", "I am single.", "I got married.", "I got married."),
        # They tell what remains, too.
        (
            "I live in Rome.",
            "I live in Paris. My dog is called Rex.",
            "I live in Rome. My dog is called Rex.",
            "I live in Rome. My dog is called Rex.",
        ),
        (
            "I live in Rome.",
            "I live in Paris. My dog is called Rex.",
            "I live in Rome. My dog is called Max.",
            "My dog is called Rex.",
        ),
        # The fact itself names what it takes leave of.
        (
            "I used to drink coffee, now I drink tea.",
            "I drink coffee.",
            "",
            "I used to drink coffee, now I drink tea.",
        ),
        # What keeps all of both loses nothing.
        ("I love coffee.", "I love tea.", "I love tea and coffee.", "I love tea and coffee."),
        # Only the model tells.
        ("I love coffee.", "I love tea.", "I love coffee.", None),
        ("I love coffee.", "I love tea.", "I love rum.", None),
        ("I love coffee.", "I love tea.", "", None),
    ],
)
def test_only_the_words_tell_a_contradiction(
    new: str, old: str, text: str, expected: str | None
) -> None:
    assert replaced(read(new), near(old), text) == expected


UNRELATED = [
    ("I am allergic to peanuts.", "I am allergic to cats."),
    ("My sister Anna lives in Berlin.", "My brother Tom lives in Berlin."),
    ("Meine Schwester Anna wohnt in Berlin.", "Mein Bruder Tom wohnt in Berlin."),
    ("Mi hermana Ana vive en Madrid.", "Mi hermano Luis vive en Madrid."),
    ("Ma soeur Anne habite à Paris.", "Mon frère Luc habite à Paris."),
    ("I am not allowed to eat nuts.", "I am allowed to eat fish."),
    ("I run 5 km every day.", "I swim 5 km every day."),
    ("I take 20 mg of aspirin daily.", "I take vitamin D daily."),
    ("I have a daughter named Mia.", "I have a son named Leo."),
    ("My doctor is Dr. Smith.", "My dentist is Dr. Jones."),
    ("I am allergic to peanuts.", "I am now also allergic to cats."),
    ("我对花生过敏。", "我喜欢喝茶。"),
    ("私はピーナッツアレルギーです。", "私はお茶が好きです。"),
]


@pytest.mark.parametrize(("memory", "fact"), UNRELATED)
@pytest.mark.parametrize("cosine", [0.5, 0.7, 0.82, 0.9])
def test_what_contradicts_nothing_replaces_nothing(memory: str, fact: str, cosine: float) -> None:
    shown = near(memory, distance=(2 - 2 * cosine) ** 0.5)
    for text in (fact, "", "我喜欢喝茶\uff0c我是罪犯。"):
        assert replaced(read(fact), shown, text) is None
        assert merged([read(fact)], shown, text) is None
    assert fuller(read(fact), shown) is None


@pytest.mark.parametrize(
    ("memory", "fact", "text"),
    [
        (
            "I am allergic to peanuts, shellfish and penicillin.",
            "I carry an epipen.",
            "I am allergic to peanuts and shellfish and I carry an epipen.",
        ),
        (
            "I moved from Berlin to Paris.",
            "I own a dog.",
            "I moved from Paris to Berlin and own a dog.",
        ),
        (
            "I moved from Berlin to Paris.",
            "I own a dog.",
            "I moved to Berlin from Paris and own a dog.",
        ),
        ("I eat fish but not meat.", "I don't eat eggs.", "I eat meat but not fish and eggs."),
        ("I like tea.", "I like coffee.", "I like tea and coffee, steal cars."),
        ("I like tea.", "I have a cat.", "I have a cat and like tea and Mary hates Bob."),
        ("I like tea.", "My sister likes coffee.", "My sister likes coffee and tea."),
        ("I like tea.", "My sister likes coffee.", "I like coffee and my sister likes tea."),
        ("I don't eat meat.", "I don't drink milk.", "I don't eat meat, I drink milk."),
        ("I have a cat.", "I have an allergy.", "I have a cat allergy."),
        (
            "I have diabetes.",
            "I have a friend with asthma.",
            "I have a friend with asthma and diabetes.",
        ),
        (
            "My wife Anna lives in Rome.",
            "I hate my boss Bob.",
            "I hate my wife Anna, living in Rome, and my boss Bob.",
        ),
        (
            "Anna lives in Berlin.",
            "Tom lives in Paris.",
            "Anna and Tom live in Berlin and Paris.",
        ),
        ("I want to live in Rome.", "I have a cat.", "I live in Rome and have a cat."),
        ("I would like to see Rome.", "I have a cat.", "I like to see Rome and have a cat."),
        ("I have 2 dogs.", "I have 3 cats.", "I have 3 dogs and 2 cats."),
        ("My car is red.", "Bob likes tea.", "Bob likes tea and his car is red."),
        ("I have a cat.", "I like tea.", "I like a cat and tea."),
        (
            "Vivo en Madrid.",
            "Mi hermana trabaja en Lugo.",
            "Mi hermana trabaja en Lugo y vive en Madrid.",
        ),
        (
            "Ich wohne in Berlin.",
            "Ich mag keinen Fisch.",
            "Ich wohne nicht in Berlin und mag Fisch.",
        ),
        (
            "Ich bin von Bonn nach Kiel gezogen.",
            "Ich habe einen Hund.",
            "Ich bin von Kiel nach Bonn gezogen und habe einen Hund.",
        ),
        ("J'aime le thé.", "Mon frère aime le café.", "Mon frère aime le café et le thé."),
        ("我对花生过敏。", "我有一只猫。", "我对花生过敏。我有一只猫。我是小偷。"),
        ("我从北京搬到上海。", "我有一只猫。", "我从上海搬到北京\uff0c有一只猫。"),
        ("我喜欢茶。", "我讨厌咖啡。", "我喜欢咖啡\uff0c讨厌茶。"),
        ("私は猫が好きです。", "私は犬が嫌いです。", "私は犬が好きで猫が嫌いです。"),
    ],
)
def test_a_merge_that_drops_invents_or_turns_round_is_none(
    memory: str, fact: str, text: str
) -> None:
    assert merged([read(fact)], near(memory), text) is None


@pytest.mark.parametrize(
    ("memory", "fact"),
    [
        ("I used to like tea.", "I like tea."),
        ("I want to live in Rome.", "I live in Rome."),
        ("My sister likes tea.", "I like tea."),
        ("I have a friend with diabetes.", "I have diabetes."),
        ("I have a cat allergy.", "I have a cat."),
        ("I have a cat and my sister is allergic to nuts.", "I have nuts."),
        ("I like black tea.", "I like green tea."),
        ("I eat fish but not meat.", "I eat meat."),
        ("My sister works as a nurse.", "I work as a nurse."),
        ("I moved from Berlin to Paris.", "I moved from Paris to Berlin."),
        ("Ich will in Rom wohnen.", "Ich wohne in Rom."),
        ("Mi hermana vive en Roma.", "Vivo en Roma."),
        ("Mon frère aime le thé.", "J'aime le thé."),
        ("我喜欢茶。", "我不喜欢茶。"),
        ("我喜欢茶杯。", "我喜欢茶。"),
        ("我想住在北京。", "我住在北京。"),
    ],
)
def test_a_memory_of_like_words_does_not_say_the_fact(memory: str, fact: str) -> None:
    shown = near(memory, distance=0.3)
    assert fuller(read(fact), shown) is None
    assert merged([read(fact)], shown, memory) is None


def test_of_two_that_say_the_same_the_fuller_one_stays() -> None:
    three = "I am allergic to peanuts, shellfish and milk."
    four = "I am allergic to peanuts, shellfish, milk and eggs."
    assert fuller(read(four), near(three)) == four
    assert fuller(read(three), near(four)) == four


def test_a_memory_that_is_shown_in_part_is_not_rewritten() -> None:
    long = "I keep " + ", ".join(f"plant{n} daisies" for n in range(60)) + " and a pacemaker."
    assert len(long) > MAX_SHOWN_CHARS
    text = long.removesuffix(".") + " and roses."
    assert merged([read("I keep roses.")], near(long), text) is None
    denial = read("I no longer keep anything.")
    assert replaced(denial, near(long), denial.fact) is None


def test_several_facts_go_into_one_memory_together() -> None:
    facts = [read("I like coffee."), read("I like rum.")]
    text = "I like tea, coffee and rum."
    assert merged(facts, near("I like tea."), text) == text
    assert merged(facts[:1], near("I like tea."), text) is None
    assert merged(facts, near("I like tea."), "I like tea and coffee.") is None
