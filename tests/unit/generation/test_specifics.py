"""Details come from somewhere: numbers by value, dates by meaning, codes and names as spelt."""

from datetime import date

import pytest

from app.language.text import names
from app.memory.generation.logic.specifics import Origin, foreign, may_be_a_noun

MONDAY = date(2026, 3, 2)


def details(text: str, *said: str) -> list[tuple[str, str, bool]]:
    origin = Origin(tuple((one, MONDAY) for one in said), MONDAY)
    return [(one.reason, one.detail, one.may_follow) for one in foreign(text, origin)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # Numbers compare by value.
        ("The budget is £3,000.", "Around 3000 for the two of us"),
        ("I earn 54.000.", "54,000 euros a year"),
        ("I earn 54 000.", "54'000 a year"),
        ("I earn 50,000.", "some 50k"),
        ("I start at 07:00.", "from 7 on"),
        ("I start at 9:30.", "um 9.30 Uhr"),
        ("I start at 19:00.", "at 7pm"),
        ("I start at 7 pm.", "um 19 Uhr"),
        ("I start at 9:30.", "à 9h30"),
        ("I have 3 dogs.", "I have three dogs"),
        ("Ich habe 3 Hunde.", "Ich habe drei Hunde"),
        ("I run 5km.", "5 kilometres"),
        ("I am 6'4\" tall.", "I've got long legs (6'4\")."),
        ("My number is +49 171 2345678.", "0049-171-2345678"),
        ("It is my 3rd cat.", "cat number 3"),
        # Dates follow from the day of the line.
        ("I was ill on 2026-03-01.", "I was ill yesterday"),
        ("I fly on 2026-03-06.", "I fly on Friday"),
        ("The trip ends on 13 October 2026.", "Leaving 3 October, back on the 13th."),
        ("I was born on 12.05.1990.", "born 12 May 1990"),
        ("I was born in May 1990.", "born 12.05.1990, in May"),
        ("I said so on 2026-03-02.", "I said so"),
        # Codes and addresses as they are spelt; names also in part, without accents.
        ("The code is QX7T2L.", "code: qx7t-2l"),
        ("I use a@b.example.", "mail A@B.example please"),
        ("I work on ~/src/app.py.", "see ~/src/app.py"),
        ("I use Postgres.", "we use PostgreSQL"),
        ("I know José.", "I know Jose"),
        ("Anna's dog barks.", "my friend anna has a dog that barks"),
        ("I speak German on Mondays.", "I speak it"),
        ("我有3只猫。", "我有3只猫。"),
    ],
)
def test_what_has_a_source(text: str, said: str) -> None:
    assert details(text, said) == []


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("I have 170 dogs.", "I have dogs", ("FOREIGN_NUMBER", "170", False)),
        ("The code is QX7T3L.", "code QX7T2L", ("FOREIGN_NUMBER", "QX7T3L", False)),
        ("I use b@b.example.", "a@b.example", ("FOREIGN_NUMBER", "b@b.example", False)),
        ("I work on ~/x/y.py.", "on a file", ("FOREIGN_NUMBER", "~/x/y.py", False)),
        ("I was born in 1985.", "I am old", ("FOREIGN_DATE", "1985", False)),
        ("I left on 2022-01-01.", "I left", ("FOREIGN_DATE", "2022-01-01", False)),
    ],
)
def test_what_comes_from_nowhere(text: str, said: str, expected: tuple[str, str, bool]) -> None:
    assert details(text, said)[0] == expected


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("The trip takes 14 days.", "two weeks", ("FOREIGN_NUMBER", "14", True)),
        ("I buy 12 eggs.", "a dozen eggs", ("FOREIGN_NUMBER", "12", True)),
        ("I moved in 2025.", "I moved last summer", ("FOREIGN_DATE", "2025", True)),
        ("I fly on 2026-09-01.", "I fly in autumn", ("FOREIGN_DATE", "2026-09-01", True)),
        ("I live with Bob.", "I live with him", ("FOREIGN_NAME", "bob", True)),
        # Of a language whose number words are not known, digits may follow from words.
        ("Ho 3 gatti.", "Mio fratello e io abbiamo tre gatti", ("FOREIGN_NUMBER", "3", True)),
    ],
)
def test_what_may_follow_is_for_the_model_to_confirm(
    text: str, said: str, expected: tuple[str, str, bool]
) -> None:
    assert details(text, said) == [expected]


def test_what_cannot_follow_is_told_first() -> None:
    found = details("Bob has 170 dogs.", "he has dogs, two or so")
    assert [reason for reason, _, _ in found] == ["FOREIGN_NUMBER"]
    found = details("I and Bob met at CDG7 in 2025.", "we met")
    assert found[0] == ("FOREIGN_NUMBER", "CDG7", False)
    assert {reason for reason, _, _ in found[1:]} == {
        "FOREIGN_NUMBER",
        "FOREIGN_DATE",
        "FOREIGN_NAME",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("This is my 2nd child.", "our second child"),
        ("Das ist mein 3. Kind.", "unser drittes Kind"),
        ("Es mi 2º hijo.", "nuestro segundo hijo"),
        ("C'est mon 4e chat.", "mon quatrième chat"),
    ],
)
def test_ordinals_in_words_have_a_value(text: str, said: str) -> None:
    assert details(text, said) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I get up at 7:15.", "an hour later than 6:15"),
        ("Ich stehe um 7:15 auf.", "eine Stunde später als 6:15"),
        ("Me levanto a las 7:15.", "una hora más tarde que 6:15"),
        ("Je me lève à 7:15.", "une heure plus tard que 6:15"),
        ("About 33% goes on rent.", "a third of it goes on rent"),
        ("I moved here in 2016.", "I moved here ten years ago"),
        ("I married in 2006.", "our 20th anniversary is this year"),
        ("J'habite ici depuis 2021.", "j'habite ici depuis cinq ans"),
        ("I was born in 1990.", "I was born in '90"),
        ("I grew up in the 1980s.", "I grew up in the eighties"),
        ("I am 180 cm tall.", "I'm 1.80 m tall"),
    ],
)
def test_digits_may_follow_from_a_shift_or_a_share(text: str, said: str) -> None:
    assert {follows for _, _, follows in details(text, said)} == {True}


@pytest.mark.parametrize(
    ("text", "nouns"),
    [
        ("Ich habe kein Haustier mehr.", {"haustier"}),
        ("Ich bin jetzt in Rente.", {"rente"}),
        ("Ich wohne jetzt in Bremen und in einem Haus.", {"haus"}),
        ("Meine Schwester heißt Anna Kern.", {"schwester"}),
        ("I live in Bremen now with a House.", set()),
    ],
)
def test_a_german_noun_is_no_name_for_its_capital_alone(text: str, nouns: set[str]) -> None:
    assert {name for name in names(text) if may_be_a_noun(name, text)} == nouns
