"""Facts rest on users' words: exact checks drop, what only looks wrong has to be confirmed."""

from datetime import UTC, datetime
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
        ("Unter uns: ich bin verschuldet.", "Ich bin verschuldet.", "ich bin verschuldet"),
    ],
)
def test_what_looks_wrong_has_to_be_confirmed(said: str, fact: str, quote: str) -> None:
    assert is_doubtful(found(sources(said), fact, quote))


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
