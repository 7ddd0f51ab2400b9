"""Consolidation without a model."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from app.language.extraction import direct, extract, whole
from app.language.facts import Candidate, Neighbour, Turn
from app.language.merging import consolidate
from app.language.text import key
from app.memory.generation.logic.plan import plan

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)


class Bank:
    """Memories of one scope; every one is shown, at one cosine unless its text is equal."""

    def __init__(self, *facts: str, cosine: float = 0.7) -> None:
        self.facts = {f"m{n}": fact for n, fact in enumerate(facts)}
        self.cosine = cosine

    def say(self, *texts: str, now: datetime = NOW) -> list[str]:
        return self.take(extract([Turn("user", text) for text in texts], now=now))

    def take(self, candidates: Sequence[Candidate]) -> list[str]:
        rows = [[self._shown(*memory, one) for memory in self.facts.items()] for one in candidates]
        verdicts = whole(consolidate(candidates, rows, max_deletes=5, max_forgets=5)).verdicts
        planned = plan(candidates, rows, verdicts, max_deletes=5)
        assert len(planned.changes) == len(verdicts)
        for change in planned.changes:
            memory_id = change.memory_id or f"m{len(self.facts) + 100}"
            if change.action == "DELETED":
                del self.facts[memory_id]
            else:
                self.facts[memory_id] = change.fact or ""
        return [change.action for change in planned.changes]

    def _shown(self, memory_id: str, fact: str, candidate: Candidate) -> Neighbour:
        cosine = 1.0 if key(fact) == key(candidate.fact) else self.cosine
        return Neighbour(memory_id, 1, fact, math.sqrt(2 - 2 * cosine))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I like coffee.", "i like COFFEE!"),
        ("I'm vegan.", "I am vegan"),
        ("Me llamo José.", "me llamo jose"),
        ("J'ai deux enfants.", "j\u2019ai deux enfants !"),
        ("I live in Berlin.", "I currently live in Berlin."),
        ("I have a dog.", "I have a dog named Rex."),
        ("Ich wohne in Köln.", "ich wohne in KÖLN!!"),
    ],
)
def test_the_same_is_an_update(old: str, new: str) -> None:
    bank = Bank(old)
    assert bank.say(new) == ["UPDATED"]


def test_an_update_never_drops_what_the_memory_says_besides() -> None:
    bank = Bank("I have a dog named Rex.", "I live in Berlin, Germany, near my parents.")
    assert bank.say("I have a dog.", "I live in Berlin.") == ["UPDATED", "UPDATED"]
    assert list(bank.facts.values()) == [
        "I have a dog named Rex.",
        "I live in Berlin, Germany, near my parents.",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I like coffee.", "I don't like coffee anymore."),
        ("I love sushi.", "I hate sushi now."),
        ("I don't like olives.", "I like olives now."),
        ("I live in Paris.", "I moved to Berlin."),
        ("I live in Paris.", "I just moved from Paris to Lyon."),
        ("The user lives in Paris.", "I live in Rome now."),
        ("I work at Acme.", "I just started a new job at Globex."),
        ("I work as a nurse.", "I now work as a teacher."),
        ("My favorite color is blue.", "My favourite colour is now green."),
        ("I prefer tea over coffee.", "I prefer coffee over tea."),
        ("I prefer aisle seats.", "I prefer window seats."),
        ("I prefer tea.", "I prefer coffee now."),
        ("I am 30 years old.", "I turned 31."),
        ("I'm vegetarian.", "I'm no longer vegetarian."),
        ("My phone number is 555-1234.", "My new phone number is 555-9876."),
        ("My dog's name is Rex.", "My dog is called Max."),
        ("I smoke.", "I quit smoking last month."),
        ("I drink coffee every morning.", "I stopped drinking coffee."),
        ("I use Windows.", "I switched from Windows to Linux."),
        ("My appointment is on Monday.", "My appointment has been moved to Friday."),
        ("I'm allergic to nuts.", "I'm not allergic to nuts anymore."),
        ("I take metformin every morning.", "I no longer take metformin, she dropped it."),
        ("Ich wohne in Köln.", "Ich wohne jetzt in Berlin."),
        ("Ich wohne in Köln.", "Ich bin letzte Woche nach Marburg gezogen."),
        ("Ich mag Kaffee.", "Ich mag keinen Kaffee mehr."),
        ("Meine Lieblingsfarbe ist Blau.", "Meine Lieblingsfarbe ist jetzt Grün."),
        ("Ich rauche.", "Ich habe aufgehört zu rauchen."),
        ("Ich trinke lieber Tee als Kaffee.", "Ich trinke lieber Kaffee als Tee."),
        ("Ich esse kein Fleisch.", "Ich esse wieder Fleisch, aber selten."),
        ("Vivo en Madrid.", "Me mudé a Valencia."),
        ("Me gusta el café.", "Ya no me gusta el café."),
        ("Mi color favorito es el azul.", "Mi color favorito es el verde."),
        ("Tengo 30 años.", "Tengo 31 años."),
        ("Prefiero el té al café.", "Prefiero el café al té."),
        ("J'habite à Lyon.", "J'ai déménagé à Nantes."),
        ("J'aime le café.", "Je n'aime plus le café."),
        ("Je travaille chez Renault.", "Je travaille maintenant chez Airbus."),
        ("Je fume.", "J'ai arrêté de fumer."),
        ("I live in Paris.", "Ich wohne jetzt in Berlin."),
    ],
)
def test_a_contradiction_updates(old: str, new: str) -> None:
    bank = Bank(old)
    assert bank.say(new) == ["UPDATED"]
    assert list(bank.facts.values()) != [old]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I like coffee.", "I like tea."),
        ("I live in Paris.", "My sister lives in Rome."),
        ("My wife likes jazz.", "I don't like jazz."),
        ("I'm allergic to nuts.", "I'm allergic to shellfish."),
        ("My brother is Tom.", "My brother is a nurse."),
        ("I like driving.", "I don't like driving at night."),
        ("I prefer window seats.", "I prefer hotels near the beach."),
        ("I run 5 km on Mondays.", "I run 10 km on Sundays."),
        ("I live in Germany.", "I live in Berlin."),
        ("My car is red.", "My car is a Golf."),
        ("My friend Ana lives in Lisbon.", "My friend Bob lives in Porto."),
        ("I flew to Rome in May.", "I flew to Rome in July."),
        ("I live in Paris.", "I want to move to Rome."),
        ("I live in Paris.", "I live in a small flat."),
        ("My birthday is May 3.", "My wife's birthday is June 4."),
        ("My meeting is on Monday.", "My flight is on Tuesday."),
        ("Ich mag Hunde.", "Ich mag Katzen."),
        ("Vivo en Madrid.", "Mi hermana vive en Sevilla."),
    ],
)
def test_a_different_thing_is_a_new_memory(old: str, new: str) -> None:
    bank = Bank(old, cosine=0.85)
    assert bank.say(new) == ["CREATED"]
    assert old in bank.facts.values()


def test_near_texts_are_one_only_with_equal_numbers_names_and_negation() -> None:
    for old, new, action in (
        ("I enjoy long walks at the beach.", "I really enjoy long walks on the beach.", "UPDATED"),
        ("I run 5 miles a day.", "I run 6 miles a day.", "CREATED"),
        ("I play chess with Tom weekly.", "I play chess with Tim weekly.", "CREATED"),
    ):
        assert Bank(old, cosine=0.97).say(new) == [action]


def test_a_contradicted_part_leaves_the_rest() -> None:
    bank = Bank("I live in Paris and work at Acme.", "I like coffee and tea.")
    bank.say("I moved to Rome.", "I no longer like coffee.")
    assert sorted(bank.facts.values()) == [
        "I like tea.",
        "I live in Rome and work at Acme.",
        "I no longer like coffee.",
    ]


def test_all_duplicates_of_a_contradicted_fact_give_way() -> None:
    bank = Bank("I live in Paris.", "The user lives in Paris.")
    assert sorted(bank.say("I moved to Rome.")) == ["DELETED", "UPDATED"]
    assert list(bank.facts.values()) == ["I moved to Rome."]


@pytest.mark.parametrize(
    ("memories", "said", "left"),
    [
        (["I like coffee.", "I work at a coffee shop."], "Forget that I like coffee.", 1),
        (["I live in Rome.", "I like tea."], "Forget where I live.", 1),
        (["My ex Jonas plays golf.", "I like golf."], "Forget everything about Jonas.", 1),
        (["My address is 12 Main Street.", "I like tea."], "Please delete my address.", 1),
        (["Ich mag Kaffee.", "Ich wohne in Bonn."], "Vergiss bitte, dass ich Kaffee mag.", 1),
        (["Me gusta el café.", "Vivo en Bilbao."], "Olvida que me gusta el café.", 1),
        (["J'aime le café.", "J'habite à Lyon."], "Oublie que j'aime le café.", 1),
        (["I like coffee.", "I like tea."], "Forget that I like jazz.", 2),
        (["I like coffee.", "I like tea."], "Delete all memories about the user.", 2),
        (["I'm allergic to nuts."], "Forget about my nut salad recipe.", 1),
    ],
)
def test_forgetting_deletes_what_was_named_and_no_more(
    memories: list[str], said: str, left: int
) -> None:
    bank = Bank(*memories)
    bank.say(said)
    assert list(bank.facts.values()) == memories[-left:]


def test_deletions_are_capped() -> None:
    bank = Bank(*[f"I like coffee from shop {n}." for n in range(8)])
    assert bank.say("Forget about coffee.") == ["DELETED"] * 5


def test_within_one_input_the_later_wins() -> None:
    bank = Bank()
    bank.say("I live in Paris.", "I live in Rome.", "I like jazz.", "Forget that I like jazz.")
    assert list(bank.facts.values()) == ["I live in Rome."]


def test_what_is_said_again_after_forgetting_is_kept() -> None:
    bank = Bank("I like jazz.")
    assert bank.say("Forget that I like jazz.", "I like jazz.") == ["UPDATED"]


def test_two_facts_never_share_a_memory() -> None:
    bank = Bank("I play tennis.", cosine=0.9)
    bank.say("I play tennis with Tom.", "I play tennis on Sundays.")
    said = " ".join(bank.facts.values())
    assert "with Tom" in said
    assert "on Sundays" in said


@pytest.mark.parametrize("days", [0, 40])
def test_the_same_input_again_adds_nothing(days: int) -> None:
    said = (
        "My name is Ana and I live in Rome. I like tea and coffee.",
        "I fly to Oslo tomorrow. I no longer like coffee.",
        "I moved to Milan. Forget my name.",
        "I have a dog. His name is Rex.",
    )
    bank = Bank()
    bank.say(*said)
    before = set(bank.facts)
    again = bank.say(*said, now=datetime(2026, 3, 4 + days % 28, 10, tzinfo=UTC))
    assert "CREATED" not in again
    assert set(bank.facts) <= before


def test_one_event_on_two_days_is_two_memories() -> None:
    bank = Bank()
    for day in (4, 11):
        when = datetime(2026, 3, day, 10, tzinfo=UTC)
        bank.take(extract([Turn("user", "I ran a race yesterday.", when)], now=NOW))
    assert sorted(bank.facts.values()) == [
        "I ran a race yesterday (2026-03-03).",
        "I ran a race yesterday (2026-03-10).",
    ]


def test_a_direct_fact_given_twice_is_updated() -> None:
    bank = Bank()
    given = direct([("User prefers dark mode", [])])
    assert [bank.take(given), bank.take(given)] == [["CREATED"], ["UPDATED"]]
