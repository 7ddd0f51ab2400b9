"""Honest decisions of a model keep their effect; those that would lose something do not."""

import pytest

from app.generation.decisions import decided
from app.generation.gates import Group
from app.generation.replies import Decision, DecisionAction
from app.rules.facts import Neighbour
from app.rules.relations import read

COMMA = "\uff0c"
MERGES = [
    ("I like tea.", "I like coffee.", "I like tea and coffee."),
    ("I like tea.", "I like coffee.", "I like both tea and coffee."),
    ("I have a dog.", "I have a dog named Rex.", "I have a dog named Rex."),
    ("I live in Berlin.", "I have two cats.", "I live in Berlin and have two cats."),
    ("I live in Berlin.", "I work at Siemens.", "I live in Berlin and work at Siemens."),
    ("I work at Siemens.", "I work as an engineer.", "I work as an engineer at Siemens."),
    ("I work at Siemens.", "I work as an engineer.", "I work at Siemens as an engineer."),
    ("I don't eat meat.", "I don't eat fish.", "I don't eat meat or fish."),
    (
        "I am allergic to peanuts.",
        "I am allergic to shellfish.",
        "I'm allergic to peanuts and shellfish.",
    ),
    (
        "My sister Anna is a nurse.",
        "My sister Anna lives in Rome.",
        "My sister Anna is a nurse and she lives in Rome.",
    ),
    (
        "My sister Anna is a nurse.",
        "My sister Anna lives in Rome.",
        "My sister Anna is a nurse and lives in Rome.",
    ),
    ("The user likes tea.", "The user likes coffee.", "The user likes tea and coffee."),
    (
        "I am allergic to peanuts, shellfish and penicillin.",
        "I carry an EpiPen.",
        "I am allergic to peanuts, shellfish and penicillin and carry an EpiPen.",
    ),
    ("Ich mag Tee.", "Ich mag Kaffee.", "Ich mag Tee und Kaffee."),
    (
        "Ich wohne in Hamburg.",
        "Ich habe einen Hund.",
        "Ich wohne in Hamburg und habe einen Hund.",
    ),
    (
        "Ich habe einen Hund.",
        "Ich habe einen Hund namens Rex.",
        "Ich habe einen Hund namens Rex.",
    ),
    ("Me gusta el té.", "Me gusta el café.", "Me gusta el té y el café."),
    ("Vivo en Sevilla.", "Trabajo en un banco.", "Vivo en Sevilla y trabajo en un banco."),
    ("J'aime le thé.", "J'aime le café.", "J'aime le thé et le café."),
    ("J'habite à Lyon.", "J'ai un chat.", "J'habite à Lyon et j'ai un chat."),
    ("我喜欢茶。", "我喜欢咖啡。", "我喜欢茶和咖啡。"),
    ("我对花生过敏。", "我有一只猫。", f"我对花生过敏{COMMA}有一只猫。"),
    ("我住在北京。", "我是护士。", f"我住在北京{COMMA}是护士。"),
    ("私は猫が好きです。", "私は犬が好きです。", "私は猫と犬が好きです。"),
]
AGAIN = [
    ("I work as a nurse.", "I am a nurse by profession."),
    ("I love tea.", "I adore tea."),
    ("I like green tea.", "I like tea."),
    ("I live in Berlin and have two cats.", "I have two cats."),
    ("My name is Ana.", "I am called Ana."),
    ("Ich arbeite als Lehrer.", "Ich bin Lehrer von Beruf."),
    ("Mein Hund Rex bellt.", "Mein Hund bellt."),
    ("Mi nombre es Ana.", "Me llamo Ana."),
    ("Me gusta mucho el té.", "Me gusta el té."),
    ("Mon nom est Luc.", "Je m'appelle Luc."),
    ("J'aime le thé et le café.", "J'aime le café."),
    ("我喜欢茶和咖啡。", "我喜欢咖啡。"),
]
REPLACED = [
    ("I live in Oslo.", "I live in Rome.", "I live in Rome."),
    ("I am single.", "I got married.", "I got married."),
    ("I like coffee.", "I don't like coffee anymore.", "I don't like coffee anymore."),
    ("My phone number is 123.", "My phone number is 456.", "My phone number is 456."),
    (
        "I live in Berlin and have two cats.",
        "I live in Madrid now.",
        "I live in Madrid and have two cats.",
    ),
    ("I prefer tea over coffee.", "I prefer coffee over tea.", "I prefer coffee over tea."),
    ("Ich wohne in Hamburg.", "Ich wohne jetzt in Köln.", "Ich wohne jetzt in Köln."),
    ("Vivo en Sevilla.", "Ahora vivo en Valencia.", "Ahora vivo en Valencia."),
    ("Me gusta el té.", "Ya no me gusta el té.", "Ya no me gusta el té."),
    ("J'habite à Lyon.", "J'habite maintenant à Lille.", "J'habite maintenant à Lille."),
    ("J'aime le café.", "Je n'aime plus le café.", "Je n'aime plus le café."),
]


def outcome(memory: str, fact: str, action: DecisionAction, text: str) -> tuple[str, str, int]:
    """Return the action on the memory, the text and the refusals of one decision."""
    shown = Neighbour("a", 1, memory, 0.5)
    decision = Decision(fact=0, action=action, memory="m1", text=text)
    found = decided([Group([0], read(fact), near=[shown])], [decision], {"m1": shown}, [])
    (verdict,) = found.verdicts
    return verdict.action, verdict.fact, found.refused


@pytest.mark.parametrize(("memory", "fact", "text"), MERGES)
def test_a_merge_that_keeps_everything_counts(memory: str, fact: str, text: str) -> None:
    assert outcome(memory, fact, "merge", text) == ("UPDATE", text, 0)
    assert outcome(memory, fact, "replace", text) == ("UPDATE", text, 0)


@pytest.mark.parametrize(("memory", "fact"), AGAIN)
def test_what_is_said_again_counts(memory: str, fact: str) -> None:
    assert outcome(memory, fact, "same", "") == ("UPDATE", memory, 0)


@pytest.mark.parametrize(("memory", "fact", "text"), REPLACED)
def test_a_plain_contradiction_counts(memory: str, fact: str, text: str) -> None:
    for said in (text, "", "HACKED"):
        assert outcome(memory, fact, "replace", said) == ("UPDATE", text, 0)


@pytest.mark.parametrize(("memory", "fact", "text"), MERGES)
def test_the_same_merges_with_a_thing_invented_do_not(memory: str, fact: str, text: str) -> None:
    for more in (" I steal cars.", " Bob!", "\uff0c我是罪犯。"):
        action, kept, refused = outcome(memory, fact, "merge", text.rstrip(".。") + more)
        assert (action, refused) in {("CREATE", 1), ("UPDATE", 0)}
        assert kept in {fact, memory}
        assert action == "CREATE" or memory in fact or keeps_all(fact, memory)


def keeps_all(fact: str, memory: str) -> bool:
    """Tell whether a fact of this file has all that the memory says."""
    return set(memory.rstrip(".").split()) <= set(fact.rstrip(".").split())
