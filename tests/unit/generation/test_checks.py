"""Facts rest on users' words: exact checks drop, what only looks wrong has to be confirmed."""

import re
from datetime import UTC, datetime
from time import process_time
from zoneinfo import ZoneInfo

import pytest

from app.language.facts import MANAGED_TOPICS, PREFERENCES, Topic
from app.memory.generation.logic.checks import Checked, checked
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.outcomes import Dropped
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedFact
from app.memory.generation.logic.sources import Sources

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
DRINKS = Topic("drinks", managed=False, description="tea coffee juice")
GUIDE = Guide((*MANAGED_TOPICS, DRINKS), False, (), NOW, ZoneInfo("UTC"))


def sources(*said: str, files: frozenset[int] = frozenset(), guide: Guide = GUIDE) -> Sources:
    """Return what was said in turn; what begins with "A:" the assistant said."""
    lines = [
        TranscriptLine(n, not text.startswith("A:"), text.removeprefix("A:").strip(), NOW)
        for n, text in enumerate(said)
    ]
    return Sources(tuple(lines), guide, files)


def found(
    given: Sources,
    fact: str,
    quote: str,
    line: int = 0,
    *,
    forget: bool = False,
    topics: tuple[str, ...] = ("user_preferences",),
) -> Checked:
    said = ExtractedFact(fact=fact, quote=quote, line=line, topics=list(topics), forget=forget)
    return checked([said], given, given.guide)


def reasons(result: Checked) -> list[str]:
    assert len(result.candidates) + len(result.dropped) == 1
    return [one.reason for one in result.dropped]


def is_doubtful(result: Checked) -> bool:
    (one,) = result.candidates
    return one.doubtful


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        ("Well, I like TEA!", "I like tea.", "like tea"),
        ("Me gusta el café.", "Me gusta el café.", "me gusta el cafe"),
        ("我住在北京,喜欢茶。", "我住在北京。", "住在北京"),
        ("I\u2019m a nurse", "I am a nurse.", "I'm a nurse"),
        ("I\u00a0like   tea", "I like tea.", "I like tea"),
        ("I paid £3,000", "I paid 3000 pounds.", "3,000"),
        ("I fly on Friday at half past seven", "I fly on 2026-01-16.", "fly on Friday"),
        # In other words than the user's.
        ("We can't stand cilantro.", "The user dislikes coriander.", "can't stand cilantro"),
        # A line shorter than a quote has to be is one as a whole.
        ("7", "I want 7.", "7"),
    ],
)
def test_a_fact_that_rests_on_a_quote_is_kept(said: str, fact: str, quote: str) -> None:
    got = found(sources(said), fact, quote)
    assert [(one.source, one.turn, one.topics) for one in got.candidates] == [
        (quote, 0, (PREFERENCES,))
    ]


@pytest.mark.parametrize(
    ("said", "fact", "quote", "reason"),
    [
        ("I like coffee.", "I like tea.", "I like tea", "NO_QUOTE"),
        ("I like tea.", "I like tea.", "", "NO_QUOTE"),
        ("I like tea.", "I like tea.", " . ", "NO_QUOTE"),
        ("I like tea.", "I like tea.", "a", "NO_QUOTE"),
        ("I know nothing of it.", "I said no.", "no", "NO_QUOTE"),
        ("I like tea.", "The password is 1234.", "I like tea", "FOREIGN_NUMBER"),
        ("I have dogs.", "I have 170 dogs.", "I have dogs", "FOREIGN_NUMBER"),
        ("I like tea.", "I have liked tea since 1990.", "I like tea", "FOREIGN_DATE"),
        ("I like tea.", "", "I like tea", "BAD_LENGTH"),
        ("I like tea.", "\x00 ", "I like tea", "BAD_LENGTH"),
        ("I like tea.", "I like tea." + "x" * 10_000, "I like tea", "BAD_LENGTH"),
    ],
)
def test_what_nobody_said_is_dropped_with_its_reason(
    said: str, fact: str, quote: str, reason: str
) -> None:
    assert reasons(found(sources(said), fact, quote)) == [reason]


def test_the_detail_of_a_drop_is_named() -> None:
    (one,) = found(sources("I have dogs."), "I have 170 dogs.", "I have dogs").dropped
    assert one == Dropped("I have 170 dogs.", "I have dogs", "FOREIGN_NUMBER", "170")


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        ("I like green tea.", "I like green tea.", "I like green tea"),
        ("Ich wohne in Hamburg.", "Ich wohne in Hamburg.", "wohne in Hamburg"),
        ("Me gusta el té verde.", "Me gusta el té verde.", "Me gusta el té"),
        ("J'habite à Lyon.", "J'habite à Lyon.", "habite à Lyon"),
    ],
)
def test_plain_statements_need_nobody_to_confirm_them(said: str, fact: str, quote: str) -> None:
    assert not is_doubtful(found(sources(said), fact, quote))


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        # Conditions and wishes.
        ("If I were rich I'd own a yacht.", "I own a yacht.", "own a yacht"),
        ("Wenn ich reich wäre, hätte ich ein Boot.", "Ich habe ein Boot.", "ein Boot"),
        ("Si tuviera dinero, tendría un barco.", "Tengo un barco.", "un barco"),
        ("Si j'étais riche, j'aurais un bateau.", "J'ai un bateau.", "un bateau"),
        # Irony and laughter.
        ("Oh great, I just LOVE strikes!", "I love strikes.", "LOVE strikes"),
        ("I only eat cake haha", "I only eat cake.", "only eat cake"),
        ("Na toll, ich liebe Streiks.", "Ich liebe Streiks.", "liebe Streiks"),
        # Pasted text and exercises.
        ('Translate: "I own a boat."', "I own a boat.", "I own a boat"),
        ("> I own a boat.", "I own a boat.", "I own a boat"),
        ("12:00:01 ERROR I own a boat", "I own a boat.", "I own a boat"),
        ("Fasse zusammen: ich habe ein Boot", "Ich habe ein Boot.", "ich habe ein Boot"),
        ("x " * 250 + "I own a boat.", "I own a boat.", "I own a boat"),
        # Others, denials, words and names of nowhere, questions.
        ("My sister owns a boat.", "The user owns a boat.", "owns a boat"),
        ("Tom said I own a boat.", "I own a boat.", "I own a boat"),
        ("She is not fond of boats.", "She is fond of boats.", "fond of boats"),
        ("I own a boat.", "I own a red sailing boat.", "I own a boat"),
        ("I own a boat.", "I own the boat of Karla.", "I own a boat"),
        ("Do I own a boat?", "Do I own a boat?", "I own a boat"),
        # Clauses about others, questions, plays, letters, guesses, exaggerations, what is over.
        ("I cook for Tom, but he is vegan.", "I am vegan.", "he is vegan"),
        ("Ich koche, aber er ist Veganer.", "Der Nutzer ist Veganer.", "er ist Veganer"),
        ("Am I allergic to kiwi?", "I am allergic to kiwi.", "Am I allergic to kiwi"),
        ("A roleplay: I own a boat.", "I own a boat.", "I own a boat"),
        ("Schreib weiter: Ich habe ein Boot", "Ich habe ein Boot.", "Ich habe ein Boot"),
        ("Dear Tom, I own a boat. Yours, Al", "I own a boat.", "I own a boat"),
        ("Madame, j'ai un bateau. Cordialement", "J'ai un bateau.", "j'ai un bateau"),
        ("I suspect I own a boat", "I own a boat.", "I own a boat"),
        ("Creo que tengo un barco", "Tengo un barco.", "tengo un barco"),
        ("I could live on a boat", "I live on a boat.", "live on a boat"),
        ("I used to own a boat", "I own a boat.", "own a boat"),
        ("Ah bravo, encore la pluie. J'adore la pluie.", "J'adore la pluie.", "J'adore la pluie"),
        # What is not to be kept.
        ("Off the record, I'm in debt.", "I am in debt.", "I'm in debt"),
        ("I'm in debt. Please don't store that.", "I am in debt.", "I'm in debt"),
        # What is told in confidence, if the fact does not say so.
        ("Unter uns: ich bin verschuldet.", "Ich bin verschuldet.", "ich bin verschuldet"),
    ],
)
def test_what_looks_wrong_has_to_be_confirmed(said: str, fact: str, quote: str) -> None:
    assert is_doubtful(found(sources(said), fact, quote))


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        # A verb of the model's own before the user's words, and words with other endings.
        ("Aisle seats, please.", "The user prefers aisle seats.", "Aisle seats, please"),
        ("Call me Toby, please.", "I want to be called Toby.", "Call me Toby, please."),
        ("I'm Maureen", "The user's name is Maureen.", "I'm Maureen"),
        ("I'm 71.", "The user is 71 years old.", "I'm 71"),
        ("I don't drink tea any more.", "I no longer drink tea.", "I don't drink tea any more"),
        ("We run Postgres 15.", "The user's team runs PostgreSQL 15.", "We run Postgres 15"),
        ("Antworte bitte immer kurz.", "Ich möchte kurze Antworten.", "Antworte bitte immer kurz"),
        ("Wir wohnen in Kiel.", "Der Nutzer wohnt in Kiel.", "Wir wohnen in Kiel"),
        ("Vivo en Cádiz.", "La usuaria vive en Cádiz.", "Vivo en Cádiz"),
        ("moi c'est Luc.", "Je m'appelle Luc.", "moi c'est Luc"),
        ("Я живу в Москве.", "Я живу в Москве.", "живу в Москве"),
        (
            "京都の大学で建築を勉強している美咲です。",
            "私は京都の大学で建築を勉強しています。",
            "建築を勉強している",
        ),
        # Dates and days that are worked out, and a condition that is kept.
        ("I moved on Tuesday.", "I moved on 2026-01-13.", "I moved on Tuesday"),
        ("I'd move if Tom came.", "I would move if Tom came.", "I'd move if Tom came"),
        # A mark in another sentence of the line.
        ("I live in York. If it rains, I'd go out.", "I live in York.", "I live in York"),
        ("Maybe later. I have two cats.", "I have two cats.", "I have two cats"),
        # What is told in confidence is said to be, and is one sentence of its line.
        ("Unter uns: ich bin pleite.", "Vertraulich: ich bin pleite.", "ich bin pleite"),
        ("Between us, I'm broke.", "I am broke (confidential).", "I'm broke"),
        ("Between us, I'm broke. I sing in a choir.", "I sing in a choir.", "I sing in a choir"),
        # A denial in another clause.
        ("It's at eight, not at seven, in Rome.", "It is at eight in Rome.", "It's at eight"),
    ],
)
def test_the_same_in_other_words_need_not_be_confirmed(said: str, fact: str, quote: str) -> None:
    assert not is_doubtful(found(sources(said), fact, quote))


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        ("I work at Lidl.", "I work at Lidl, and love it.", "I work at Lidl"),
        ("I work at Lidl.", "I work at Lidl because of the pay.", "I work at Lidl"),
        ("I live in Bonn.", "I live in Bonn with my wife.", "I live in Bonn"),
        ("I have a dog.", "I have an elderly dog.", "I have a dog"),
        ("Ich lehre Latein.", "Ich lehre Latein und bin sehr zufrieden.", "Ich lehre Latein"),
        ("Canto los lunes.", "Canto los lunes y soy feliz.", "Canto los lunes"),
        ("Je chante le lundi.", "Je chante le lundi avec ma mère.", "Je chante le lundi"),
        ("我在杭州开茶馆。", "我在杭州开茶馆,非常喜欢。", "我在杭州开茶馆"),
        # Somebody else, or an order, that the fact leaves out.
        ("Henrik can't eat nuts.", "The user can't eat nuts.", "Henrik can't eat nuts"),
        ("Tom and Ida are divorced.", "The user is divorced.", "Tom and Ida are divorced"),
        ("The character Max has a limp.", "I have a limp.", "has a limp"),
        ("Buy milk and eggs.", "I drink milk and eat eggs.", "Buy milk and eggs"),
        ("I quit smoking.", "I smoke.", "I quit smoking"),
        ("I almost bought a boat.", "I bought a boat.", "bought a boat"),
    ],
)
def test_additions_have_to_be_confirmed(said: str, fact: str, quote: str) -> None:
    assert is_doubtful(found(sources(said), fact, quote))


@pytest.mark.parametrize("quote", ["It's 555 0199", "That's 555 0199"])
def test_what_a_pronoun_stands_for_has_to_be_confirmed(quote: str) -> None:
    given = sources("A: What is Nadia's phone?", f"{quote}.")
    assert is_doubtful(found(given, "My phone is 555 0199.", quote, 1))
    given = sources("My phone is new.", f"{quote}.")
    assert not is_doubtful(found(given, "My phone is 555 0199.", quote, 1))


def test_a_name_of_another_line_has_to_be_confirmed() -> None:
    given = sources("My sister is Gwen.", "A: Any allergies?", "Sesame, badly.")
    fact = "My sister Gwen is allergic to sesame."
    assert is_doubtful(found(given, fact, "Sesame, badly", 2))
    fact = "I am allergic to sesame."
    assert not is_doubtful(found(given, fact, "Sesame, badly", 2))


@pytest.mark.parametrize(
    ("line", "fact", "quote", "shown"),
    [
        # What begins with a word that stands for another, whatever the length of its line.
        (
            "Right, sorry. Nadia has it. It's +49 30 5550142. And the deploy is at nine as always.",
            *("The phone is +49 30 5550142.", "It's +49 30 5550142."),
            ("What is the phone?", "Nadia has it. It's +49 30 5550142."),
        ),
        (
            "We met in May. That's when we left the old town for good, and for Graz at last.",
            *("We left for Graz in May.", "That's when we left the old town for good"),
            (
                "What is the phone?",
                "We met in May. That's when we left the old town for good, and for Graz at last.",
            ),
        ),
        (
            "Yes, the blue one is mine, and I drive it to the office on each day of work.",
            *("I drive the blue one to work.", "Yes, the blue one is mine, and I drive it"),
            (
                "What is the phone?",
                "Yes, the blue one is mine, and I drive it to the office on each day of work.",
            ),
        ),
        # What is short.
        (
            "I sing. Sopran, mostly. On Mondays we rehearse in the old hall by the river.",
            *("I sing soprano.", "Sopran, mostly."),
            ("What is the phone?", "I sing. Sopran, mostly."),
        ),
        # What stands alone is shown alone.
        (
            "I sing. On Mondays we rehearse in the old hall that stands down by the river.",
            "We rehearse in the old hall on Mondays.",
            "On Mondays we rehearse in the old hall that stands down by the river.",
            (
                "",
                "On Mondays we rehearse in the old hall that stands down by the river.",
            ),
        ),
    ],
)
def test_a_quote_that_leans_on_other_words_is_shown_with_them(
    line: str, fact: str, quote: str, shown: tuple[str, str]
) -> None:
    given = sources("A: Thanks. What is the phone?", line)
    (one,) = found(given, fact, quote, 1).candidates
    question, context = shown
    assert (one.question, one.context) == (question and f"Thanks. {question}", context)


def test_the_user_s_line_before_is_shown_if_no_answer_stands_between() -> None:
    given = sources("A: Hi!", "I have a boat. She is in Kiel.", "It's called Ida.")
    (one,) = found(given, "My boat is called Ida.", "It's called Ida.", 2).candidates
    assert one.context == "She is in Kiel. It's called Ida."
    given = sources("I have a boat.", "A: Tell me more.", "It's called Ida.")
    (one,) = found(given, "My boat is called Ida.", "It's called Ida.", 2).candidates
    assert (one.question, one.context) == ("Tell me more.", "It's called Ida.")


def test_a_long_answer_is_shown_by_its_end() -> None:
    given = sources("A: " + "This is how it is done. " * 40 + "Any allergies?", "Peanuts.")
    (one,) = found(given, "I am allergic to peanuts.", "Peanuts", 1).candidates
    assert one.question.endswith("it is done. Any allergies?")
    assert len(one.question) <= 200


@pytest.mark.parametrize(
    ("line", "quote", "context"),
    [
        ("I sold it. Then I bought a van! We drive it daily.", "sold it. Then I bought", 2),
        ("I sold it. Then I bought a van! We drive it daily.", "it. Then I bought a van! We", 3),
        ("Ich bin Ida. Ich wohne in Ulm. Dort lehre ich.", "Ich wohne in Ulm. Dort", (1, 3)),
        ("我叫陈伟。我在杭州开茶馆。我喝咖啡。", "杭州开茶馆。我喝", (1, 3)),
    ],
)
def test_all_sentences_that_a_quote_touches_are_its_context(
    line: str, quote: str, context: int | tuple[int, int]
) -> None:
    first, last = (0, context) if isinstance(context, int) else context
    parts = [part for part in re.split(r"(?<=[.!])\s|(?<=。)", line) if part]
    assert sources(line).sentence(quote, 0) == " ".join(parts[first:last])


def test_a_line_without_a_day_was_said_today_which_is_the_talk_s_last_day() -> None:
    lines = (
        TranscriptLine(0, is_users=True, text="I was ill yesterday."),
        TranscriptLine(1, is_users=False, text="Oh!", time=datetime(2026, 1, 9, tzinfo=UTC)),
    )
    got = found(Sources(lines, GUIDE), "I was ill yesterday.", "ill yesterday")
    assert got.candidates[0].fact == "I was ill yesterday (2026-01-08)."


def test_a_short_answer_is_read_with_its_question() -> None:
    given = sources("A: Any allergies? Since 2019 as Dr. Weiss says?", "Peanuts, badly.")
    (one,) = found(given, "I have been allergic to peanuts since 2019.", "Peanuts", 1).candidates
    assert one.doubtful
    assert one.question.startswith("Any allergies?")


def test_an_assistant_s_statement_is_a_source_only_of_who_affirms_it() -> None:
    told = "A: So your flight is LX318."
    fact = "My flight is LX318."
    (one,) = found(sources(told, "Yes, exactly."), fact, "Yes, exactly", 1).candidates
    assert one.doubtful
    assert reasons(found(sources(told, "Thanks."), fact, "Thanks", 1)) == ["FOREIGN_NUMBER"]
    assert reasons(found(sources(told), fact, "your flight is LX318")) == ["NO_QUOTE"]


def test_the_claimed_turn_goes_before_others() -> None:
    given = sources("I like tea.", "A: Sure?", "Yes, I like tea.")
    assert [found(given, "I like tea.", "I like tea", n).candidates[0].turn for n in (0, 2, 9)] == [
        *(0, 2, 0)
    ]


def test_the_parts_of_a_long_turn_are_one() -> None:
    parts = (
        TranscriptLine(0, is_users=True, text="I like"),
        TranscriptLine(0, is_users=True, text="tea."),
    )
    assert found(Sources(parts, GUIDE), "I like tea.", "I like tea").candidates


def test_a_file_cannot_be_quoted() -> None:
    given = sources("Look!", files=frozenset({0}))
    assert found(given, "I own 3 red cars.", "").candidates
    assert reasons(found(given, "I own a red car.", "", 1)) == ["NO_QUOTE"]
    assert reasons(found(given, "I own a red car.", "red car")) == ["NO_QUOTE"]


@pytest.mark.parametrize(
    ("labels", "topics"),
    [
        (["DRINKS"], (DRINKS,)),
        (["USER_PREFERENCES", "drinks", "drinks"], (PREFERENCES, DRINKS)),
        (["invented"], (PREFERENCES, DRINKS)),
        ([], (PREFERENCES, DRINKS)),
    ],
)
def test_topics_are_those_asked_for(labels: list[str], topics: tuple[Topic, ...]) -> None:
    guide = Guide((PREFERENCES, DRINKS), False, (), NOW, ZoneInfo("UTC"))
    given = sources("I like tea.", guide=guide)
    got = found(given, "I like tea.", "I like tea", topics=tuple(labels))
    assert got.candidates[0].topics == topics


def test_what_falls_under_no_topic_is_dropped() -> None:
    guide = Guide((DRINKS,), False, (), NOW, ZoneInfo("UTC"))
    got = found(sources("I like chess.", guide=guide), "I like chess.", "I like chess")
    assert reasons(got) == ["OFF_TOPIC"]


def test_relative_dates_that_the_model_left_are_resolved_in_the_zone() -> None:
    time = datetime(2026, 1, 9, 23, 30, tzinfo=UTC)
    line = TranscriptLine(0, is_users=True, text="I was ill yesterday.", time=time)
    for zone, day in (("UTC", "08"), ("Europe/Berlin", "09")):
        guide = Guide(MANAGED_TOPICS, False, (), NOW, ZoneInfo(zone))
        got = found(Sources((line,), guide), "I was ill yesterday.", "ill yesterday")
        assert got.candidates[0].fact == f"I was ill yesterday (2026-01-{day})."


@pytest.mark.parametrize(
    ("said", "thing", "quote"),
    [
        ("Please forget that I like tea.", "I like tea", "forget that I like tea"),
        ("I'll walk, so drop what you have on my car.", "the user's car", "drop what you have"),
        ("Vergiss bitte das mit dem Bluthochdruck.", "Bluthochdruck", "Vergiss bitte das"),
        ("Forget everything about me.", "everything about the user", "Forget everything"),
    ],
)
def test_a_request_to_forget_in_any_words_counts(said: str, thing: str, quote: str) -> None:
    (one,) = found(sources(said), thing, quote, forget=True).candidates
    assert (one.forget, one.fact, one.topics, one.doubtful) == (True, thing, (), False)


def test_a_request_in_pasted_text_has_to_be_confirmed() -> None:
    got = found(sources('He wrote: "Forget my job."'), "my job", "Forget my job", forget=True)
    assert is_doubtful(got)
    given = sources("A: Forget my job.", "Thanks.")
    assert reasons(found(given, "my job", "Forget my job", forget=True)) == ["NO_QUOTE"]


def test_near_quotes_of_hostile_texts_take_little_time() -> None:
    given = sources(*("abc"[n % 2 :] * 1_300 for n in range(40)))
    began = process_time()

    for n in range(300):
        found(given, "I like tea.", "aabc" * (20 + n % 50))

    assert process_time() - began < 20
