"""A correction ends the one memory about the very same thing, and none about another."""

import pytest

from app.language.values import kinds_of
from tests.unit.rules.test_less_and_right import facts, left


@pytest.mark.parametrize("cosine", [0.3, 0.9])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My phone number is 555 1111.", "My new phone has 256 GB."),
        ("My brother's rent is 500 euros.", "My rent is now 900 euros."),
        ("My rent is 500 euros.", "My brother's rent is now 900 euros."),
        ("My rent is 500 euros.", "His rent is 900 euros now instead of 500."),
        ("My rent is 500 euros.", "My brother's rent is 900 euros now instead of 500 euros."),
        ("My rent is due on the 3rd.", "My rent is now 900 euros."),
        ("My lucky number is 7.", "My new number is 555 2222."),
        ("My house number is 12.", "My new number is 555 2222."),
        (
            "My son's dentist appointment is on Tuesday.",
            "My dentist appointment was moved to Friday.",
        ),
        ("The meeting with Bob is at 2 pm.", "The meeting has moved to 4 pm."),
        ("The meeting is at 2 pm.", "The meeting has moved to Friday."),
        ("The meeting is on Monday.", "The meeting was moved from Tuesday to Friday."),
        ("The meeting is on Monday.", "The meeting on Tuesday has moved to Friday."),
        ("My flight home is on Sunday.", "My flight was moved to Friday."),
        ("My dog is 7.", "My dog's vet visit is at 5 pm now."),
        ("My dog is 7.", "My dog weighs 30 kg now."),
        ("My bus is at 8.", "My bus takes 40 minutes now."),
        ("Die Miete meines Bruders ist 500 Euro.", "Meine Miete beträgt jetzt 900 Euro."),
        ("Meine Miete ist am 3. fällig.", "Meine Miete beträgt jetzt 900 Euro."),
        ("Meine Hausnummer ist 12.", "Meine neue Nummer ist 555 2222."),
        ("Mein Treffen mit Bob ist am Montag.", "Mein Treffen wurde auf Freitag verschoben."),
        ("El alquiler de mi hermano es de 500 euros.", "Mi alquiler es ahora de 900 euros."),
        ("Mi número de la suerte es el 7.", "Mi nuevo número es 555 2222."),
        ("Mi vuelo de vuelta es el domingo.", "Mi vuelo se ha movido al viernes."),
        ("Le loyer de mon frère est de 500 euros.", "Mon loyer est maintenant de 900 euros."),
        ("Mon numéro porte-bonheur est le 7.", "Mon nouveau numéro est 555 2222."),
        ("Mon vol de retour est dimanche.", "Mon vol est reporté à vendredi."),
    ],
)
def test_what_is_not_corrected_stays(old: str, new: str, cosine: float) -> None:
    assert old in left([old], new, cosine=cosine)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Dinner is at seven.", "Dinner is at eight now instead of seven."),
        ("Dinner is at 7 pm.", "Dinner is at eight now instead of seven."),
        ("The meeting is on Tuesday.", "The meeting was moved to Friday."),
        ("The meeting is on Tuesday.", "The meeting was moved from Tuesday to Friday."),
        ("The meeting is on Tuesday.", "The meeting on Tuesday has moved to Friday."),
        ("The meeting is on Tuesday at 3.", "The meeting was moved to Friday at 4."),
        ("The meeting is on Tuesday.", "The meeting was moved to Friday at 4 pm."),
        ("I have a dentist appointment on Tuesday.", "My dentist appointment moved to Friday."),
        ("My exam is on 12 May.", "My exam was postponed to June."),
        ("My phone number is 555 1111.", "My new phone number is 555 2222."),
        ("My rent is 800 euros.", "My rent is now 900 euros."),
        ("My rent is $800.", "My rent went up to $900."),
        ("My dog is 7.", "My dog is 8 now."),
        ("I get up at 7 every day.", "I get up at 6 now."),
        ("My salary is 3,000 euros.", "My salary is now 3,500 euros a month."),
        ("Das Abendessen ist um sieben.", "Das Abendessen ist jetzt um acht statt um sieben."),
        ("Das Treffen ist am Dienstag.", "Das Treffen wurde auf Freitag verschoben."),
        ("Das Treffen ist am Dienstag.", "Das Treffen wurde von Dienstag auf Freitag verschoben."),
        ("Meine Telefonnummer ist 555 1111.", "Meine neue Telefonnummer ist 555 2222."),
        ("Meine Miete beträgt 800 Euro.", "Meine Miete beträgt jetzt 900 Euro."),
        ("La cena es a las siete.", "La cena es ahora a las ocho en lugar de las siete."),
        ("La reunión es el martes.", "La reunión se ha movido al viernes."),
        ("Mi número de teléfono es 555 1111.", "Mi nuevo número de teléfono es 555 2222."),
        ("Mi alquiler es de 800 euros.", "Mi alquiler es ahora de 900 euros."),
        ("Le dîner est à sept heures.", "Le dîner est maintenant à huit heures au lieu de sept."),
        ("La réunion est mardi.", "La réunion est reportée à vendredi."),
        ("La réunion est mardi.", "La réunion a été déplacée de mardi à vendredi."),
        ("Mon numéro de téléphone est 555 1111.", "Mon nouveau numéro de téléphone est 555 2222."),
        ("Mon loyer est de 800 euros.", "Mon loyer est maintenant de 900 euros."),
    ],
)
def test_what_is_corrected_is_replaced(old: str, new: str) -> None:
    live = left([old], new)
    assert len(live) == 1
    assert live != [old]


def test_of_many_memories_one_alone_is_corrected() -> None:
    others = [
        "My brother's rent is 500 euros.",
        "My rent is due on the 3rd.",
        "The meeting with Bob is at 2 pm.",
    ]
    assert left([*others, "My rent is 800 euros."], "My rent is now 900 euros.") == [
        *others,
        "My rent is now 900 euros.",
    ]


def test_where_several_could_be_meant_none_is_corrected() -> None:
    several = ["Yoga practice is on Monday.", "I have yoga practice on Tuesday."]
    assert left(several, "Yoga practice was moved to Friday.")[:2] == several


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dinner is at eight now instead of seven.", "Dinner is at eight now instead of seven."),
        ("Actually not vegetarian these days.", "I'm not vegetarian these days."),
        ("Not a vegetarian anymore.", "I'm not a vegetarian anymore."),
        ("Well, no longer vegan.", "I'm no longer vegan."),
        ("Eigentlich nicht mehr vegetarisch.", "Ich bin nicht mehr vegetarisch."),
        ("Eigentlich keine Vegetarierin mehr.", "Ich bin keine Vegetarierin mehr."),
        ("En realidad ya no vegetariana.", "Ya no soy vegetariana."),
        ("Ya no vegetariano.", "Ya no soy vegetariano."),
        ("En fait plus végétarienne.", "Je ne suis plus végétarienne."),
        ("Plus végétarien, en fait.", "Je ne suis plus végétarien."),
    ],
)
def test_what_is_left_out_is_put_in(text: str, expected: str) -> None:
    assert facts(text) == [expected]


@pytest.mark.parametrize(
    "texts",
    [
        ["Not vegetarian."],
        ["A: Is the soup vegetarian?", "Actually not vegetarian these days."],
        ["Not vegetarian these days?"],
        ["Dinner is at seven."],
        ["The time is now 5 pm."],
    ],
)
def test_what_may_be_about_anything_is_not_put_in_full(texts: list[str]) -> None:
    assert facts(*texts) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "I'm a vegetarian.",
            "Actually not vegetarian these days.",
            "I'm not vegetarian these days.",
        ),
        ("I'm not vegetarian these days.", "I'm a vegetarian.", "I'm a vegetarian."),
        (
            "Ich bin Vegetarier.",
            "Eigentlich nicht mehr vegetarisch.",
            "Ich bin nicht mehr vegetarisch.",
        ),
        ("Ich bin zurzeit nicht vegetarisch.", "Ich bin Vegetarier.", "Ich bin Vegetarier."),
        ("Soy vegetariana.", "En realidad ya no vegetariana.", "Ya no soy vegetariana."),
        ("Ya no soy vegetariana estos días.", "Soy vegetariana.", "Soy vegetariana."),
        ("Je suis végétarien.", "En fait plus végétarien.", "Je ne suis plus végétarien."),
        (
            "Je ne suis pas végétarien ces temps-ci.",
            "Je suis végétarien.",
            "Je suis végétarien.",
        ),
    ],
)
def test_of_a_diet_and_its_denial_the_later_is_left(old: str, new: str, expected: str) -> None:
    assert left([old], new) == [expected]
    assert left([], old, new) == [expected]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("I have a dog and two cats.", "I no longer have a dog.", "I have two cats."),
        ("I have a dog and a cat.", "I no longer have a dog.", "I have a cat."),
        ("I have a big dog and two cats.", "I no longer have a dog.", "I have two cats."),
        ("I have two dogs and a cat.", "I no longer have dogs.", "I have a cat."),
        (
            "I have a dog, a cat and two birds.",
            "I no longer have a dog.",
            "I have a cat and two birds.",
        ),
        ("I have a dog and cats.", "I no longer have a dog.", "I have cats."),
        ("I have a dog and cat.", "I no longer have a dog.", "I have a cat."),
        ("I have a cat and iguana.", "I no longer have a cat.", "I have an iguana."),
        ("I have a dog and a cat.", "I no longer have a cat.", "I have a dog."),
        ("I play the piano and the violin.", "I no longer play the piano.", "I play the violin."),
        ("I play the piano and the violin.", "I no longer play the violin.", "I play the piano."),
        ("I drink tea and coffee.", "I stopped drinking coffee.", "I drink tea."),
        ("I drink tea and coffee.", "I stopped drinking tea.", "I drink coffee."),
        (
            "I'm allergic to nuts and milk.",
            "I'm no longer allergic to nuts.",
            "I'm allergic to milk.",
        ),
        (
            "I'm allergic to nuts and milk.",
            "I'm no longer allergic to milk.",
            "I'm allergic to nuts.",
        ),
        ("The user likes tea and coffee.", "I don't like tea.", "The user likes coffee."),
        ("Ich spiele Klavier und Geige.", "Ich spiele kein Klavier mehr.", "Ich spiele Geige."),
        ("Toco el piano y el violín.", "Ya no toco el piano.", "Toco el violín."),
        ("J'aime l'eau et le vin.", "Je n'aime plus l'eau.", "J'aime le vin."),
        ("I like green tea and coffee.", "I don't like green tea.", "I like coffee."),
        (
            "Ich habe einen Hund und zwei Katzen.",
            "Ich habe keinen Hund mehr.",
            "Ich habe zwei Katzen.",
        ),
        ("Tengo un perro y dos gatos.", "Ya no tengo perro.", "Tengo dos gatos."),
        ("J'ai un chien et deux chats.", "Je n'ai plus de chien.", "J'ai deux chats."),
        ("J'aime le thé et le café.", "Je n'aime plus le thé.", "J'aime le café."),
    ],
)
def test_a_member_goes_with_its_article(old: str, new: str, expected: str) -> None:
    assert expected in left([old], new)


def test_who_gives_up_a_thing_leaves_no_broken_list() -> None:
    live = left(["I play guitar with Bob and Ana."], "I no longer play guitar.")
    assert live == ["I no longer play guitar."]


@pytest.mark.parametrize("name", ["Jun", "Marco", "Mei"])
def test_a_name_that_is_a_month_elsewhere_is_no_date(name: str) -> None:
    assert kinds_of(f"I gave the keys to {name}.") == frozenset()
