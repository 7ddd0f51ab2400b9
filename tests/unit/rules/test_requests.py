"""What is asked to be remembered or forgotten, and by whom, in four languages."""

from datetime import UTC, datetime

import pytest

from app.language.extraction import extract
from app.language.facts import Turn
from app.language.requests import main_clause

NOW = datetime(2026, 3, 5, 18, tzinfo=UTC)


def told(text: str) -> list[tuple[str, bool]]:
    found = extract([Turn("user", text, NOW)], now=NOW)
    return [(one.fact, one.forget) for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "I don't want you to forget my address.",
        "I hope you won't forget my address.",
        "Please don't forget my birthday.",
        "Never delete my address!",
        "Don't forget to call my mother.",
        "I didn't ask you to forget my car.",
        "Ich will nicht, dass du meine Adresse vergisst.",
        "Vergiss meine Adresse bitte nicht!",
        "Vergiss nicht meinen Geburtstag.",
        "Du darfst meine Adresse nie löschen.",
        "No quiero que olvides mi dirección.",
        "Nunca olvides mi cumpleaños.",
        "No borres mi dirección.",
        "Je ne veux pas que tu oublies mon adresse.",
        "N'oublie pas mon anniversaire.",
        "N'efface jamais mon adresse.",
    ],
)
def test_who_asks_not_to_forget_a_thing_states_nothing(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Don't forget that I like tea.", "I like tea."),
        ("I don't want you to forget that I like tea.", "I like tea."),
        ("Please never forget my son is diabetic.", "My son is diabetic."),
        ("Vergiss nicht, dass ich Tee mag.", "Ich mag Tee."),
        ("Ich möchte nicht, dass du vergisst, dass ich in Rom wohne.", "Ich wohne in Rom."),
        ("Bitte vergiss nie, dass mein Sohn Diabetiker ist.", "Mein Sohn ist Diabetiker."),
        ("Merk dir, dass ich keine Milch trinke.", "Ich trinke keine Milch."),
        ("I'd like you to remember that I'm allergic to nuts.", "I'm allergic to nuts."),
        ("I want you to remember that I'm allergic to nuts.", "I'm allergic to nuts."),
        ("Ich möchte, dass du dir merkst, dass ich keine Nüsse esse.", "Ich esse keine Nüsse."),
        ("Quiero que recuerdes que vivo en Lima.", "Vivo en Lima."),
        ("Me gustaría que recordaras que vivo en Lima.", "Vivo en Lima."),
        ("Je veux que tu te souviennes que j'habite à Lyon.", "J'habite à Lyon."),
        ("J'aimerais que tu retiennes que j'habite à Lyon.", "J'habite à Lyon."),
        ("No olvides que me gusta el té.", "Me gusta el té."),
        ("No te olvides de que vivo en Lima.", "Vivo en Lima."),
        ("No quiero que olvides que tengo un hijo.", "Tengo un hijo."),
        ("N'oublie pas que j'aime le thé.", "J'aime le thé."),
        ("Je ne veux pas que tu oublies que j'habite à Lyon.", "J'habite à Lyon."),
    ],
)
def test_who_asks_not_to_forget_a_statement_makes_it(text: str, fact: str) -> None:
    assert told(text) == [(fact, False)]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("My wife said she'll forget me, so I moved to Linz.", "I moved to Linz."),
        (
            "Meine Frau sagt, du sollst mich vergessen, deshalb bin ich nach Linz gezogen.",
            "Deshalb bin ich nach Linz gezogen.",
        ),
        ("Mi mujer dijo que olvides todo, así que me mudé a Lima.", "Me mudé a Lima."),
        ("Ma femme a dit oublie-moi, donc j'ai déménagé à Lyon.", "J'ai déménagé à Lyon."),
        ("Forget it, I live in Rome.", "I live in Rome."),
    ],
)
def test_a_clause_about_the_memory_takes_no_other_with_it(text: str, fact: str) -> None:
    assert told(text) == [(fact, False)]


def test_nothing_is_told_on_the_condition_of_forgetting() -> None:
    assert told("If you forget me, I'll move to Rome.") == []


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("ich gern Tee trinke", "ich trinke gern Tee"),
        ("ich gegen Nüsse allergisch bin", "ich bin gegen Nüsse allergisch"),
        ("ich Tee mag, weil er gesund ist", "ich mag Tee, weil er gesund ist"),
        ("mein Hund Rex heißt", "mein Hund heißt Rex"),
        ("die Garage abgeschlossen sein muss", "die Garage muss abgeschlossen sein"),
        ("ich um acht anrufe", ""),
        ("ich in Rom wohne und Katzen hasse", ""),
        ("mein Sohn Nüsse nicht verträgt", ""),
    ],
)
def test_a_german_clause_becomes_a_sentence_or_nothing(clause: str, expected: str) -> None:
    assert main_clause(clause) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tom said forget my address.",
        "Tom told me to forget my address.",
        "My sister says you should forget my address.",
        "Tom sagt, vergiss meine Adresse.",
        "Tom meinte, du sollst meine Adresse vergessen.",
        "Tomás dijo que olvides mi dirección.",
        "Tom a dit : oublie mon adresse.",
        "If I move, forget my address.",
        "Wenn ich umziehe, vergiss meine Adresse.",
        "Si me mudo, olvida mi dirección.",
        "Quand je déménagerai, oublie mon adresse.",
        "Forget everything, let's start over.",
        "Vergiss alles, wir fangen von vorne an.",
        "Erase the second paragraph about my job.",
    ],
)
def test_what_others_ask_or_what_a_condition_asks_is_no_request(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("Tom likes tea, but forget my address.", "my address"),
        ("If you can, forget my address.", "my address"),
        ("Delete that bit about my ex and book me a taxi.", "my ex"),
        ("Vergiss Tom und ruf mir bitte ein Taxi.", "Tom"),
        ("Would you mind forgetting my weight?", "my weight"),
        ("It'd be great if you could forget my salary.", "my salary"),
        ("can u forget my ex thx", "my ex"),
        ("Also, forget the thing I told you about my brother's divorce.", "my brother's divorce"),
        ("Please remove my old address from your records.", "my old address"),
        ("I'd rather you didn't keep my weight.", "my weight"),
        ("I no longer want you to keep my weight.", "my weight"),
        ("Please wipe all my data.", "all my data"),
        ("Kannst du vergessen, dass ich in Rom wohne?", "ich in Rom wohne"),
        ("Oublie que j'ai un chat.", "j'ai un chat"),
        ("Ich will nicht, dass du mein Gewicht speicherst.", "mein Gewicht"),
        ("Mein Gehalt kannst du wieder vergessen.", "Mein Gehalt"),
        ("Das mit der Scheidung bitte löschen.", "der Scheidung"),
        ("Ich fahre Rad, du kannst das mit dem Auto vergessen.", "dem Auto"),
        ("Lösche bitte meine Nummer aus deinem Gedächtnis, danke.", "meine Nummer"),
        ("No quiero que recuerdes mi peso.", "mi peso"),
        ("Lo de mi ex bórralo, por favor.", "mi ex"),
        ("Olvídate de lo de mi divorcio.", "mi divorcio"),
        ("Je ne veux pas que tu gardes mon poids.", "mon poids"),
        ("Ce que je t'ai dit sur mon ex, oublie-le.", "mon ex"),
        ("Oublie tout à propos de mon divorce stp.", "mon divorce"),
    ],
)
def test_the_thing_to_forget_is_named_in_any_wording(text: str, thing: str) -> None:
    assert (thing, True) in told(text)


@pytest.mark.parametrize(
    "text",
    [
        "I keep forgetting my password.",
        "I want to forget my ex.",
        "Ich vergesse immer meine Schlüssel.",
        "Ich werde Rom nie vergessen.",
        "Siempre olvido mis llaves.",
        "Je veux oublier mon ex.",
    ],
)
def test_who_forgets_something_asks_for_nothing(text: str) -> None:
    assert told(text) == [(text, False)]


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ("Remember this:", "I like green tea."),
        ("Please remember this for later:", "I like green tea."),
        ("Keep this in mind:", "I like green tea."),
        ("Make a note of this:", "I like green tea."),
        ("Note the following:", "I like green tea."),
        ("Write this down:", "I like green tea."),
        ("Merk dir das:", "Ich mag grünen Tee."),
        ("Merke dir Folgendes:", "Ich mag grünen Tee."),
        ("Recuerda lo siguiente:", "Me gusta el té verde."),
        ("No olvides esto:", "Me gusta el té verde."),
        ("Retiens ceci :", "J'aime le thé vert."),
        ("Souviens-toi de ceci :", "J'aime le thé vert."),
    ],
)
def test_a_request_to_remember_may_point_to_what_follows(asked: str, fact: str) -> None:
    assert told(f"{asked} {fact}") == [(fact, False)]
