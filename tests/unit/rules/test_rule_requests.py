"""Which questions and refusals ask to forget something, by the built-in rules."""

from datetime import UTC, datetime

import pytest

from app.rules.extraction import extract
from app.rules.facts import Turn

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)


def asked(text: str) -> list[str]:
    return [one.fact for one in extract([Turn("user", text)], now=NOW) if one.forget]


@pytest.mark.parametrize(
    "said",
    [
        "Forget that I am allergic to nuts? No way!",
        "Forget my allergies? No way.",
        "You must forget my allergies?",
        "Forget my allergies, no way!",
        "Vergiss meine Allergien? Niemals!",
        "Meine Allergien vergessen? Niemals!",
        "Vergiss meine Allergien, auf keinen Fall!",
        "¿Olvida mis alergias? ¡Ni hablar!",
        "Olvida mis alergias, ¡ni hablar!",
        "Oublie mes allergies ? Pas question.",
        "Oublie mes allergies, jamais !",
    ],
)
def test_whoever_wonders_or_refuses_does_not_ask(said: str) -> None:
    assert extract([Turn("user", said)], now=NOW) == []


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Can you forget my address?", "my address"),
        ("Could you please forget my address?", "my address"),
        ("Would you forget my address?", "my address"),
        ("Forget my address, please?", "my address"),
        ("So, can you forget my address?", "my address"),
        ("Kannst du meine Adresse vergessen?", "meine Adresse"),
        ("Könnten Sie bitte meine Adresse löschen?", "meine Adresse"),
        ("¿Puedes olvidar mi dirección?", "mi dirección"),
        ("¿Podría olvidar mi dirección, por favor?", "mi dirección"),
        ("Peux-tu oublier mon adresse ?", "mon adresse"),
        ("Pouvez-vous oublier mon adresse ?", "mon adresse"),
        ("Est-ce que tu peux oublier mon adresse ?", "mon adresse"),
    ],
)
def test_a_polite_question_asks(said: str, named: str) -> None:
    assert asked(said) == [named]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Forget my employer, my age and my pets.", ["my employer", "my age", "my pets"]),
        ("Vergiss meinen Job und meine Adresse.", ["meinen Job", "meine Adresse"]),
        ("Olvida mi trabajo y mi dirección.", ["mi trabajo", "mi dirección"]),
        ("Oublie mon travail et mon adresse.", ["mon travail", "mon adresse"]),
        ("Forget that I like my job and my boss.", ["I like my job and my boss"]),
    ],
)
def test_several_things_are_named_one_by_one(said: str, named: list[str]) -> None:
    assert asked(said) == named
