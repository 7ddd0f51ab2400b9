"""What the rules leave out, and what they make of short or loose words, in four languages."""

from datetime import UTC, datetime

import pytest

from app.language.extraction import extract, whole
from app.language.facts import Candidate, Neighbour, Turn
from app.language.merging import consolidate
from app.language.text import undated

NOW = datetime(2026, 3, 5, 18, tzinfo=UTC)
"""A Thursday."""


def said(*texts: str) -> list[Candidate]:
    """Extract from what a user says; "A: ..." is the assistant's."""
    turns = [
        Turn("model" if one.startswith("A: ") else "user", one.removeprefix("A: "), NOW)
        for one in texts
    ]
    return extract(turns, now=NOW)


def facts(*texts: str) -> list[str]:
    return [one.fact for one in said(*texts) if not one.forget]


def forgets(*texts: str) -> list[str]:
    return [one.fact for one in said(*texts) if one.forget]


def left(memories: list[str], *texts: str, cosine: float = 0.3) -> list[str]:
    """Return the memories that are live after something is said."""
    stored = {f"m{n}": fact for n, fact in enumerate(memories)}
    distance = (2 - 2 * cosine) ** 0.5
    candidates = said(*texts)
    rows = [[Neighbour(key, 1, fact, distance) for key, fact in stored.items()]] * len(candidates)
    found = whole(consolidate(candidates, rows, max_deletes=5, max_forgets=20, by_meaning=True))
    for n, verdict in enumerate(found.verdicts):
        if verdict.action == "DELETE":
            stored.pop(verdict.memory_id or "")
        else:
            stored[verdict.memory_id or f"new {n}"] = verdict.fact
    return list(stored.values())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I'm a vegetarian.", "Actually not vegetarian, I'm not a vegetarian these days."),
        ("I'm a vegetarian.", "I'm not a vegetarian anymore."),
        ("I'm not a vegetarian.", "I'm a vegetarian now."),
        ("Ich bin Vegetarierin.", "Ich bin keine Vegetarierin mehr."),
        ("Ich bin nicht vegan.", "Ich bin jetzt vegan."),
        ("Soy vegetariana.", "Ya no soy vegetariana."),
        ("No soy vegano.", "Ahora soy vegano."),
        ("Je suis végétarien.", "Je ne suis plus végétarien."),
        ("Je ne suis pas végan.", "Je suis maintenant végan."),
        ("I have a canary.", "We no longer have a canary."),
        ("I have a canary called Figaro.", "Sadly we no longer have a canary."),
        ("I have asthma.", "It turned out that I don't have asthma."),
        ("Wir haben einen Kater namens Muck.", "Wir haben leider keinen Kater mehr."),
        ("Tenemos un canario.", "Ya no tenemos canario."),
        ("Nous avons un canari.", "Nous n'avons plus de canari."),
        ("We have a boat.", "We have sold the boat."),
        ("Dinner with Gwen is at seven.", "Dinner with Gwen is at eight now instead of seven."),
        ("My dentist appointment is on 12 May.", "My dentist appointment has moved to 19 May."),
        ("Mein Termin ist am 12. Mai.", "Mein Termin wurde auf den 19. Mai verschoben."),
        ("Mi cita es el 14 de enero.", "Mi cita se ha movido al 28 de enero."),
        ("Mon rendez-vous est le 14 janvier.", "Mon rendez-vous est reporté au 28 janvier."),
        ("I'm going to Spain in July.", "We're going to Portugal in July instead of Spain."),
        ("I'm training for a 10k.", "I'm training for a half marathon now instead of a 10k."),
        ("I drive a Golf.", "I drive a Tesla now."),
        ("Ich fahre einen Golf.", "Ich fahre jetzt einen Tesla."),
        ("My phone number is 555 0100.", "My new number is 555 0199."),
        ("Ich wohne in Köln.", "Wir sind nach Bonn gezogen."),
        ("Vivo en Sevilla.", "Nos hemos mudado a Cádiz."),
        ("Tengo 34 años.", "Acabo de cumplir 35 años."),
        ("J'habite à Lille.", "On a déménagé à Lyon."),
    ],
)  # fmt: skip
def test_what_changed_is_replaced(old: str, new: str) -> None:
    live = left([old], new, cosine=0.5)
    assert len(live) == 1
    assert live != [old]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have a dog.", "I no longer have a canary."),
        ("My flight is on 12 May.", "My dentist appointment has moved to 19 May."),
        ("I'm not a smoker.", "I'm a vegetarian."),
        ("I work with Tom.", "I live with Anna now."),
        ("I went to Rome with Tom.", "I like Paris instead of Rome."),
    ],
)
def test_what_is_about_something_else_stays(old: str, new: str) -> None:
    assert old in left([old], new)


@pytest.mark.parametrize(
    ("text", "fact", "thing"),
    [
        ("I'll take the train, so forget about the car please.", "I'll take the train.", "the car"),
        ("Ich nehme den Bus, also vergiss bitte das Auto.", "Ich nehme den Bus.", "das Auto"),
        ("Ahora tomo el bus, así que olvida mi coche.", "Ahora tomo el bus.", "mi coche"),
        ("Je prends le bus, alors oublie ma voiture.", "Je prends le bus.", "ma voiture"),
    ],
)
def test_requests_to_forget_stand_in_any_clause(text: str, fact: str, thing: str) -> None:
    assert facts(text) == [fact]
    assert forgets(text) == [thing]


@pytest.mark.parametrize(
    "text",
    ["I don't want you to remember my weight.", "Never mind my knee, forget it.", "Forget my car."],
)
def test_no_request_is_a_memory(text: str) -> None:
    assert not facts(text)


@pytest.mark.parametrize(
    ("memory", "request_"),
    [
        ("I earn 41,000 euros a year.", "Erase what I said about my wages."),
        ("Ich verdiene 41.000 Euro im Jahr.", "Vergiss, was ich über mein Gehalt gesagt habe."),
        ("Gano 41.000 euros al año.", "Borra lo que te dije sobre mi sueldo."),
        ("Je gagne 41 000 euros par an.", "Efface ce que je t'ai dit sur mon salaire."),
        ("I go to church on Sundays.", "Delete everything you know about my faith."),
    ],
)
def test_forgetting_goes_by_meaning(memory: str, request_: str) -> None:
    assert left([memory, "I like jazz."], request_) == ["I like jazz."]


def test_the_nearest_is_meant_only_if_it_leads_far() -> None:
    request_ = Candidate("the trip", source="Forget the trip.", forget=True)
    near = [Neighbour("a", 1, "I sail to Malta.", 0.9), Neighbour("b", 1, "I like jazz.", 1.3)]
    close = [Neighbour("a", 1, "I sail to Malta.", 0.9), Neighbour("b", 1, "I like jazz.", 0.92)]
    for row, by_meaning, gone in ((near, True, 1), (close, True, 0), (near, False, 0)):
        found = whole(
            consolidate([request_], [row], max_deletes=5, max_forgets=5, by_meaning=by_meaning)
        )
        assert len(found.verdicts) == gone


@pytest.mark.parametrize(
    "text",
    [
        "Forget everything!",
        "Please forget everything you know about me.",
        "Can you forget everything about me?",
        "Vergiss alles, was du über mich weißt.",
        "Olvida todo lo que sabes de mí.",
        "Oublie tout ce que tu sais de moi.",
    ],
)
def test_everything_is_forgotten(text: str) -> None:
    assert left(["I like jazz.", "I live in Rome."], text) == []


@pytest.mark.parametrize(
    ("thing", "fact"),
    [("my red car", "I own a blue car."), ("ich bei Lidl arbeite", "Ich habe einen Hund.")],
)
def test_no_other_thing_is_meant_however_near_it_is(thing: str, fact: str) -> None:
    """Of the same kind, or in a language that the vectors do not know."""
    request_ = Candidate(thing, source=f"Forget {thing}.", forget=True)
    near = [Neighbour("a", 1, fact, 0.5)]
    found = whole(consolidate([request_], [near], max_deletes=5, max_forgets=5, by_meaning=True))
    assert not found.verdicts


@pytest.mark.parametrize(
    ("memory", "request_"),
    [
        ("I am allergic to nuts.", "Forget my brother's illness."),
        ("I have diabetes.", "Forget my blood pressure app."),
        ("My lucky number is 7.", "Forget my phone number."),
        ("I work at Bosch.", "Forget my work shoes."),
        ("I live in Graz.", "Forget my flat tyre."),
        ("I am a Muslim.", "Forget my church concert."),
        ("My birthday is 3 May.", "Forget my mother's birthday."),
        ("My daughter's birthday is 3 May.", "Forget my birthday."),
        ("My brother's car is red.", "Please forget my car."),
        ("El coche de mi hermano es rojo.", "Olvida mi coche."),
        ("Das Auto meines Bruders ist rot.", "Vergiss mein Auto."),
        ("La voiture de mon frère est rouge.", "Oublie ma voiture."),
    ],
)
def test_what_is_of_others_or_another_thing_is_not_forgotten(memory: str, request_: str) -> None:
    assert left([memory], request_) == [memory]


@pytest.mark.parametrize(
    ("memory", "request_"),
    [
        ("My phone is 555 1234.", "Forget my phone number."),
        ("I have diabetes.", "Forget my illness."),
        ("My brother's car is red.", "Forget my brother's car."),
        ("My sister Anna is a nurse.", "Forget my sister."),
    ],
)
def test_what_is_meant_is_forgotten(memory: str, request_: str) -> None:
    assert left([memory], request_) == []


def test_what_was_said_before_a_request_in_the_same_conversation_goes() -> None:
    assert left([], "I own a yacht.", "I like jazz.", "Forget my yacht.") == ["I like jazz."]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Off the record, I'm in debt. I work at the port.", ["I work at the port."]),
        ("Don't store this, but I lost money. I work at the port.", ["I work at the port."]),
        ("I'm in debt. Don't remember that.", []),
        ("Unter uns: Ich habe Schulden. Ich singe im Chor.", ["Ich singe im Chor."]),
        ("Entre nosotros, tengo deudas. Vivo en Vigo.", ["Vivo en Vigo."]),
        ("Entre nous, j'ai des dettes. J'habite à Brest.", ["J'habite à Brest."]),
        ("There is a hedge between us and my neighbour Eva.", None),
    ],
)
def test_what_is_not_to_be_kept(text: str, kept: list[str] | None) -> None:
    assert kept is None or facts(text) == kept
    assert not forgets(text)


@pytest.mark.parametrize(
    "text",
    [
        "If I were rich I'd buy the whole street.",
        "I wish I could play the cello.",
        "Wenn ich reich wäre, würde ich ein Schloss kaufen.",
        "Si fuera rica, compraría toda la calle.",
        "Si j'étais riche, j'achèterais toute la rue.",
        "Great, another strike, I simply ADORE trains.",
        "Na toll, schon wieder Streik, ich LIEBE Verspätungen.",
        "Genial, otra huelga, ADORO esperar trenes.",
        "Super, encore une grève, j'ADORE attendre les trains.",
        "I'm basically a millionaire lol",
        'Summarise this: "I have resigned and I live in Perth."',
        "Fass das zusammen: „Ich kündige und wohne in Bonn.“",
        "Traduce esto: «Tengo tres gatos y vivo en Lima».",
        "Traduis ceci : « J'ai trois chats et j'habite à Lima ».",
        "Hi team,\nI will be away until Monday. My cat is ill.\nBest regards,\nKarl",
        "> I live in Rome.",
        "```\nI live in Rome.\n```",
        "2026-03-19 17:55:01 ERROR db: I/O timeout on my-host",
        "I/O timeout",
        "I/O timeout on disk",
        "Here: I/O timeout on disk",
        "Traceback (most recent call last):\n  File \"run.py\", line 3\nKeyError: 'my_name'",
        "I guess I will be late.",
        "Ich glaube, ich komme morgen später.",
        "Creo que mañana voy a llegar tarde.",
        "Je crois que je vais arriver en retard.",
        "I love this app, you are a great assistant.",
        "I'm so tired today.",
        "Ich bin heute so müde.",
        "Hoy estoy muy cansada.",
        "Je suis très fatigué aujourd'hui.",
        "I need milk, eggs and bread.",
        "Turn on the lights in my kitchen.",
        "Mach das Licht in meinem Flur an.",
        "Apaga la luz de mi pasillo.",
        "Allume la lumière de mon couloir.",
        "Ich glaub ich werd krank.",
        "I'll get back to you later, I'm on the train.",
        "Ich antworte später, bin grad im Zug.",
        "Luego te contesto, voy en el metro.",
        "Je te réponds plus tard, je suis dans le train.",
        "No, I meant the blue one.",
        "I'm stuck in Frankfurt tonight.",
        "If it rains I'll stay home.",
        "Ugh, great, another meeting, I just love those.",
        "Mein Chef nervt heute total.",
        "Mi jefe es un pesado hoy.",
        "Mon chef est pénible aujourd'hui.",
        "Oh wie toll, mein Zug fällt schon wieder aus.",
        "I don't think I like jazz.",
        "I swear this traffic is gonna kill me.",
        "Este atasco me va a matar.",
        "Escríbeme un correo para mi casero.",
        "Mándame la lista de mis vuelos.",
    ],
)
def test_nothing_is_kept_of_what_is_not_meant(text: str) -> None:
    assert not said(text)


@pytest.mark.parametrize(
    "text",
    [
        "I LOVE jazz.",
        "I'd like an aisle seat.",
        "I plan to move to Graz in June.",
        "My exams in May start on the 4th.",
        "I love Imagine Dragons.",
        "I see the dentist on Monday.",
        "I know how to sail.",
        "Am Samstag feiern wir den 70. Geburtstag von meinem Vater.",
        "No como carne.",
        "No tengo hermanos.",
        "No sé nadar.",
        "Me encanta el jazz.",
        "Mi hermana María vive en Cádiz.",
        "Mi hijo Leo toca la batería.",
        "He cambiado de trabajo.",
        "Estamos ahorrando para una casa.",
        "J'adore le jazz.",
        "Je ne sais pas nager.",
        "On habite à Vannes.",
        "Ich kann jetzt schwimmen.",
    ],
)
def test_what_is_meant_is_kept(text: str) -> None:
    assert [undated(one) for one in facts(text)] == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My bike broke on Tuesday.", "2026-03-03"),
        ("On Tuesday my bike broke.", "2026-03-03"),
        ("Am Dienstag ist mein Fahrrad kaputtgegangen.", "2026-03-03"),
        ("El martes se me rompió la bicicleta.", "2026-03-03"),
        ("I'm getting married on Saturday.", "2026-03-07"),
        ("I'm excited about the concert on Saturday.", "2026-03-07"),
        ("I fly to Rome on Friday.", ""),
        ("Next Friday we move to Ghent.", ""),
        ("My last day at the harbour was wonderful.", ""),
        ("I broke my arm in my last year of school.", ""),
    ],
)
def test_dates_are_right_or_left_out(text: str, expected: str) -> None:
    (fact,) = facts(text)
    assert fact.count("(") == bool(expected)
    assert expected in fact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Rome and work at a bank.", "The user lives in Rome and works at a bank."),
        ("I use I/O libraries at work.", "The user uses I/O libraries at work."),
        ("We own a boat.", ""),
    ],
)
def test_the_third_person_is_right_or_left_out(text: str, expected: str) -> None:
    dropped: list[Candidate] = []
    found = extract([Turn("user", text)], now=NOW, third_person=True, left_out=dropped)
    assert [one.fact for one in found] == ([expected] if expected else [])
    assert bool(dropped) is not bool(expected)


@pytest.mark.parametrize(
    "text", ["I have moved.", "We have moved.", "Ich habe geheiratet.", "J'ai déménagé."]
)
def test_to_have_done_something_is_no_possession(text: str) -> None:
    assert facts(text) == []
