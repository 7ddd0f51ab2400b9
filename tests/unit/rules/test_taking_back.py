"""What takes back a value of a profile; a negation near it does not."""

import time

import pytest

from app.language.profiles import WantedField
from app.language.taking_back import takes_back
from tests.unit.rules.test_injections import INJECTIONS

TYPES = {"hobbies": "array", "pets": "array", "allergies": "array"}


def gone(said: str, field: str, value: str = "") -> bool:
    return takes_back(said, WantedField("p", field, type=TYPES.get(field, "string")), value)


def test_long_text_is_read_in_little_time() -> None:
    began = time.process_time()
    for text in ("ich nicht ", "I don't x ", "I stopped tennis, ", "mein Tennis ist falsch "):
        for times in (180, 5_000):
            assert not gone(text * times, "note", "Munich")
    assert time.process_time() - began < 4


@pytest.mark.parametrize("text", INJECTIONS)
def test_text_that_addresses_the_service_takes_nothing_back(text: str) -> None:
    assert not gone(text, "name", "Anna")
    assert not gone(text, "name")


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("I stopped playing tennis.", "hobbies", "tennis"),
        ("I stopped playing tennis and chess.", "hobbies", "chess"),
        ("I no longer play tennis, chess or golf.", "hobbies", "golf"),
        ("I quit tennis last year.", "hobbies", "tennis"),
        ("I don't play tennis anymore.", "hobbies", "tennis"),
        ("Ich spiele kein Tennis mehr.", "hobbies", "Tennis"),
        ("Ich spiele Tennis nicht mehr.", "hobbies", "Tennis"),
        ("Ich habe mit Tennis aufgehört.", "hobbies", "Tennis"),
        ("Ya no juego al tenis.", "hobbies", "tenis"),
        ("He dejado de jugar al tenis.", "hobbies", "tenis"),
        ("He dejado el tenis.", "hobbies", "tenis"),
        ("Je ne joue plus au tennis.", "hobbies", "tennis"),
        ("J'ai arrêté le tennis.", "hobbies", "tennis"),
        ("J'ai arrêté de jouer au tennis.", "hobbies", "tennis"),
        ("I no longer live in Munich.", "city", "Munich"),
        ("Ich wohne nicht mehr in München.", "city", "München"),
        ("Ya no vivo en Madrid.", "city", "Madrid"),
        ("Je n'habite plus à Lyon.", "city", "Lyon"),
        ("I moved away from Munich.", "city", "Munich"),
        ("I left Acme.", "employer", "Acme"),
        ("I no longer work at Acme.", "employer", "Acme"),
        ("Ich arbeite nicht mehr bei Siemens.", "employer", "Siemens"),
        ("Ya no trabajo en Acme.", "employer", "Acme"),
        ("Je ne travaille plus chez Airbus.", "employer", "Airbus"),
        ("I don't have a cat.", "pets", "cat"),
        ("Ich habe keine Katze mehr.", "pets", "Katze"),
        ("No tengo gato.", "pets", "gato"),
        ("Je n'ai plus de chat.", "pets", "chat"),
        ("I'm not allergic to nuts.", "allergies", "nuts"),
        ("Forget my cat Minka.", "pets", "Minka"),
        ("Forget about tennis.", "hobbies", "tennis"),
        ("Can you forget that I work at Acme?", "employer", "Acme"),
        ("Olvida el tenis.", "hobbies", "tenis"),
        ("Oublie le tennis.", "hobbies", "tennis"),
        ("Vergiss bitte Tennis.", "hobbies", "Tennis"),
        ("Forget my allergies.", "allergies", ""),
        ("Can you forget my allergies?", "allergies", ""),
        ("Kannst du meine Allergien vergessen?", "allergies", ""),
        ("¿Puedes olvidar mis alergias?", "allergies", ""),
        ("Peux-tu oublier mes loisirs ?", "hobbies", ""),
        ("Forget my city, my hobbies and my job.", "hobbies", ""),
        ("My city was wrong.", "city", "Munich"),
        ("Forget my address.", "address", "12 Main Street"),
        ("Please delete my phone number.", "phone", "12345"),
        ("That colour was wrong.", "favorite_color", "red"),
    ],
)
def test_words_take_back_what_they_name(said: str, field: str, value: str) -> None:
    assert gone(said, field, value)
    assert not gone(said, "married_to", "Zoe")


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("I never want to leave Munich.", "city", "Munich"),
        ("Munich is not far from here, I live there.", "city", "Munich"),
        ("I no longer like Munich.", "city", "Munich"),
        ("I stopped in Munich.", "city", "Munich"),
        ("I don't have a tennis racket.", "hobbies", "tennis"),
        ("I sold my tennis racket.", "hobbies", "tennis"),
        ("I stopped playing tennis and started chess.", "hobbies", "chess"),
        ("No, my allergies are terrible.", "allergies", ""),
        ("No, my allergies are terrible.", "allergies", "nuts"),
        ("I am not allergic to nuts.", "allergies", "milk"),
        ("I am not allergic to nuts.", "allergies", ""),
        ("I stopped playing tennis.", "hobbies", ""),
        ("I no longer want to stop tennis.", "hobbies", "tennis"),
        ("If I stopped playing tennis I would be sad.", "hobbies", "tennis"),
        ("Tom said I no longer live in Munich.", "city", "Munich"),
        ('He said: "I stopped playing tennis."', "hobbies", "tennis"),
        ("Forget my allergies? No way.", "allergies", ""),
        ("Forget that I am allergic to nuts? No way!", "allergies", "nuts"),
        ("Never forget my allergies.", "allergies", ""),
        ("Don't forget tennis.", "hobbies", "tennis"),
        ("Forget my friend who lives in Munich.", "city", "Munich"),
        ("My brother no longer lives in Munich.", "city", "Munich"),
        ("I left Munich at eight.", "city", "Munich"),
        ("I never stopped playing tennis.", "hobbies", "tennis"),
        ("Did I stop playing tennis?", "hobbies", "tennis"),
        ("I can't live without tennis.", "hobbies", "tennis"),
        ("Ich will München nicht verlassen.", "city", "München"),
        ("No quiero dejar Madrid.", "city", "Madrid"),
        ("Je ne veux pas quitter Lyon.", "city", "Lyon"),
    ],
)
def test_a_word_of_denial_alone_takes_nothing_back(said: str, field: str, value: str) -> None:
    assert not gone(said, field, value)
