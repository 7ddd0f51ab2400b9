"""Names, short answers, loose words, and what is taken back, in four languages."""

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
        (["A: Any allergies?", "Sesame, badly."], "I am allergic to sesame."),
        (["A: Any allergies?", "No."], "I have no allergies."),
        (["A: Where do you work?", "At Lidl."], "I work at Lidl."),
        (["A: Wo arbeitest du?", "Bei Lidl."], "Ich arbeite bei Lidl."),
        (["A: How old are you?", "Thirty-four."], "I am thirty-four years old."),
        (["Hey there, this is Tom speaking."], "My name is Tom."),
        (["Buenas, me llamo Inés."], "Me llamo Inés."),
        (["A: Hast du Allergien?", "Haselnüsse."], "Ich bin allergisch gegen Haselnüsse."),
        (["A: ¿Tienes alguna alergia?", "Al sésamo."], "Tengo alergia a sésamo."),
        (["A: As-tu des allergies ?", "Le sésame."], "Mes allergies : sésame."),
        (["A: Where do you live?", "In Oban."], "I live in Oban."),
        (["A: Where do you live?", "Near Oban."], "I live near Oban."),
        (["A: ¿Dónde vives?", "Cerca de Vigo."], "Vivo cerca de Vigo."),
        (["A: Quel âge as-tu ?", "28 ans."], "J'ai 28 ans."),
        (["A: Where do you live?", "new york"], "I live in new york."),
        (["A: Wo wohnst du?", "Frankfurt am Main"], "Ich wohne in Frankfurt am Main."),
        (["A: What is your name?", "Anna van Dyk"], "My name is Anna van Dyk."),
        (["A: Any allergies?", "Yes, peanuts."], "I am allergic to peanuts."),
        (["A: Any allergies?", "None that I know of."], "I have no allergies."),
        (["A: ¿Tienes alguna alergia?", "Ninguna que yo sepa."], "No tengo alergias."),
        (["A: As-tu des allergies ?", "Fruits à coque."], "Mes allergies : fruits à coque."),
        (["A: Was trinkst du gern?", "Am liebsten Tee."], "Ich trinke gern Tee."),
        (["A: What do you like to drink?", "Red wine, tea"], "I like to drink red wine, tea."),
        (["A: What do you do for a living?", "Software engineer"], "My job is software engineer."),
        (["Hey so I just started a job at Lidl."], "I just started a job at Lidl."),
        (["Actually, scratch that, I live in York."], "I live in York."),
        (["A: Is your visa valid?", "Mine runs out in May."], "My visa runs out in May."),
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
        ["Hola, soy Peruano."],
        ["Hola, soy Virgo."],
        ["Salut, je suis Breton."],
        ["Salut, je suis Boulanger."],
        ["Salut, je suis Bélier."],
        ["Salut, je suis Fatigué."],
        ["Hi! I'm Aries."],
        ["Hi, I'm Tired."],
        ["Hi, I'm Excited."],
        ["Hi, I'm German."],
        ["this is Brilliant"],
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


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (
            "Any allergies?",
            (
                "Let me check.|don't know|same as before|thanks for asking|peanuts used to be one"
                "|No idea|No peanuts|Some|Not yet"
            ),
        ),
        (
            "Hast du Allergien?",
            (
                "Moment mal|weiß nicht|wie vorher|danke der Nachfrage|Erdnüsse früher mal"
                "|Lass mich nachsehen.|Keine Ahnung"
            ),
        ),
        (
            "¿Tienes alguna alergia?",
            (
                "espera un momento|no sé|igual que antes|gracias por preguntar|antes el cacahuete"
                "|Déjame ver.|Ni idea"
            ),
        ),
        (
            "As-tu des allergies ?",
            (
                "Un instant|attends|je ne sais pas|comme avant|merci de demander"
                "|avant les cacahuètes|Laisse-moi voir.|Aucune idée"
            ),
        ),
        ("Where do you live?", "Just a second.|Later|near the station|With Anna.|around|here"),
        ("Wo wohnst du?", "Moment bitte|Später.|Mit Anna."),
        ("¿Dónde vives?", "Un segundo|Luego.|Con Ana."),
        ("Où habites-tu ?", "Une seconde|Attends|plus tard"),
        ("What is your name?", "Later.|priya|Just a moment|Guess."),
        ("Wie heißt du?", "Später.|Sag ich nicht"),
        ("¿Cómo te llamas?", "Luego|Un momento"),
        ("Comment tu t'appelles ?", "Plus tard|Devine"),
        ("What do you do for a living?", "one moment please|Nothing|This and that"),
        ("Was machst du beruflich?", "einen Moment bitte|Gleich."),
        ("¿A qué te dedicas?", "un momento"),
        ("Que fais-tu dans la vie ?", "une minute"),
        ("How old are you?", "one moment"),
        ("What do you like to drink?", "Let me see"),
    ],
)
def test_what_puts_a_question_off_is_no_answer(question: str, answers: str) -> None:
    for one in answers.split("|"):
        assert facts(f"A: {question}", one) == []


def test_what_follows_an_introduction_is_not_lost() -> None:
    assert facts("Hi, I'm Maya, I live in Rome.") == ["My name is Maya.", "I live in Rome."]
    assert facts("Moi c'est Paula, je suis graphiste.") == [
        "Je m'appelle Paula.",
        "Je suis graphiste.",
    ]
