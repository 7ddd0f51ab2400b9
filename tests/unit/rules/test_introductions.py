"""Names, loose words, and what is taken back, in four languages."""

import pytest

from tests.unit.rules.test_less_and_right import facts, forgets, left


@pytest.mark.parametrize(
    ("first", "second", "request_"),
    [
        ("I like jazz.", "I own a yacht. Thanks!", "Forget what I just said."),
        ("I like jazz.", "I own a yacht.", "Please forget that."),
        ("Ich mag Jazz.", "Ich habe Schulden.", "Vergiss, was ich gerade gesagt habe."),
        ("Me gusta el jazz.", "Tengo deudas.", "Olvida lo que acabo de decir."),
        ("J'aime le jazz.", "J'ai des dettes.", "Oublie ce que je viens de dire."),
    ],
)
def test_what_was_just_said_is_taken_back(first: str, second: str, request_: str) -> None:
    for texts in (
        [f"{first} {second} {request_}"],
        [f"{first} {second}", "A: I see.", request_],
        [first, second, request_],
    ):
        assert facts(*texts) == [first]
        assert not forgets(*texts)


@pytest.mark.parametrize(
    "request_",
    [
        "Forget what I just said.",
        "Vergiss, was ich gerade gesagt habe.",
        "Olvida lo que acabo de decir.",
        "Oublie ce que je viens de dire.",
    ],
)
def test_what_is_not_there_to_be_taken_back_is_asked_for_and_unmet(request_: str) -> None:
    assert forgets(f"Hello! {request_}") == [request_.strip(".")]
    memories = ["I just moved.", "Ich lerne gerade Spanisch.", "Viens de Lima.", "Acabo pronto."]
    assert left(memories, request_) == memories


def test_never_mind_reaches_no_turn_before() -> None:
    assert facts("I own a yacht.", "Forget it.") == ["I own a yacht."]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Hi, I'm Ravi."], "My name is Ravi."),
        (["This is Ravi."], "My name is Ravi."),
        (["Can you call me Rav?"], "Call me Rav."),
        (["Hallo, ich bin die Friederike."], "Ich heiße Friederike."),
        (["Hola, soy Remedios."], "Me llamo Remedios."),
        (["Bonjour, moi c'est Gwenaël."], "Je m'appelle Gwenaël."),
        (["Hi, I'm Maya."], "My name is Maya."),
        (["Hi, I'm Marie."], "My name is Marie."),
        (["Hi, I'm Ahmed."], "My name is Ahmed."),
        (["Hallo, ich bin Max."], "Ich heiße Max."),
        (["Hallo! Ich bin Karin."], "Ich heiße Karin."),
        (["Hallo, hier spricht Peter."], "Ich heiße Peter."),
        (["Hola, soy Vera."], "Me llamo Vera."),
        (["Hola, soy Germán."], "Me llamo Germán."),
        (["Salut, je suis Julien."], "Je m'appelle Julien."),
        (["Hallo, ich bin Lehrer."], "Ich bin Lehrer."),
        (["Ich bin Lehrer."], "Ich bin Lehrer."),
        (["Hey there, this is Tom speaking."], "My name is Tom."),
        (["Buenas, me llamo Inés."], "Me llamo Inés."),
        (["Hey so I just started a job at Lidl."], "I just started a job at Lidl."),
        (["Actually, scratch that, I live in York."], "I live in York."),
        (["Update: I work at Lidl, by the way."], "I work at Lidl."),
        (["Quick question, I'm allergic to figs, what can I order?"], "I'm allergic to figs."),
        (["Kurze Frage, ich esse kein Ei, was kann ich backen?"], "Ich esse kein Ei."),
        (["Hola! oye soy celíaca, qué puedo cenar?"], "Soy celíaca."),
        (["Petite question, je suis végane, je peux manger quoi ?"], "Je suis végane."),
        (["My mum is 60 and I owe her a party."], "My mum is 60 and I owe her a party."),
        (["Be brief."], "Be brief."),
        (["Sei bitte kurz."], "Sei bitte kurz."),
    ],
)  # fmt: skip
def test_facts_stand_alone(texts: list[str], expected: str) -> None:
    assert facts(*texts) == [expected]


@pytest.mark.parametrize(
    "texts",
    [
        ["Hallo, ich bin Lehrer."],
        ["Hallo, ich bin Ärztin."],
        ["Hallo, ich bin Deutsche."],
        ["Hallo, ich bin Widder."],
        ["Ich bin der Chef."],
        ["Ich bin Max."],
        ["Was geht?", "A: Hallo!", "Hallo, ich bin Max."],
        ["Hola, soy Enfermero."],
        ["Hola, soy Virgo."],
        ["Salut, je suis Boulanger."],
        ["Salut, je suis Bélier."],
        ["Hi! I'm Aries."],
        ["Hi, I'm Tired."],
        ["Hi, I'm Excited."],
        ["Hi, I'm German."],
    ],
)
def test_what_people_are_is_not_their_name(texts: list[str]) -> None:
    named = ("My name is", "Ich heiße", "Me llamo", "Je m'appelle")
    assert not [one for one in facts(*texts) if one.startswith(named)]


@pytest.mark.parametrize(
    "texts",
    [
        ["Mine runs out in January."],
        ["She likes tea a lot."],
        ["Hello, I'm German."],
        ["A: What do you want to know?", "The weather."],
        ["A: What's your name?", "hunter2"],
        ["A: Where do you live?", "Not telling."],
        ["A: Any allergies?", "idk"],
        ["A: How old are you?", "Old enough."],
        ["A: Wie heißt du?", "Geht dich nichts an."],
        ["A: Où habites-tu ?", "Pas tes affaires."],
        ["hunter2"],
        ['{"role": "user", "content": "I live in Rome"}'],
    ],
)
def test_what_cannot_stand_alone_makes_no_name_and_no_fact(texts: list[str]) -> None:
    assert not [one for one in facts(*texts) if one != "I'm German."]


def test_what_follows_an_introduction_is_not_lost() -> None:
    assert facts("Hi, I'm Maya, I live in Rome.") == ["My name is Maya.", "I live in Rome."]
    assert facts("Moi c'est Paula, je suis graphiste.") == [
        "Je m'appelle Paula.",
        "Je suis graphiste.",
    ]
