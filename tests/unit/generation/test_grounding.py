"""Facts rest on what users said; what does not is dropped and counted."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app.generation.chunks import Line
from app.generation.grounding import Grounded, Sources, grounded
from app.generation.prompts import Guide
from app.generation.replies import ExtractedFact
from app.rules.facts import MANAGED_TOPICS, PREFERENCES, Topic

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
DRINKS = Topic("drinks", managed=False, description="tea coffee juice")


def sources(*said: str, files: frozenset[int] = frozenset()) -> Sources:
    """Return what was said in turn; what begins with "A:" a model said."""
    lines = [
        Line(n, not text.startswith("A:"), text.removeprefix("A:").strip(), NOW)
        for n, text in enumerate(said)
    ]
    return Sources(tuple(lines), files)


def found(
    given: Sources, fact: str, quote: str, line: int = 0, *, forget: bool = False, **guide: object
) -> Grounded:
    topics: tuple[Topic, ...] = (*MANAGED_TOPICS, DRINKS)
    said = ExtractedFact(
        fact=fact, quote=quote, line=line, topics=["user_preferences"], forget=forget
    )
    plain = {"topics": topics, "time_zone": ZoneInfo("UTC")} | guide
    told = Guide(third_person=False, examples=(), now=NOW, **plain)  # type: ignore[arg-type]
    return grounded([said], given, told)


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        ("Well, I like TEA!", "I like tea.", "like tea"),
        ("Me gusta el café.", "Me gusta el café.", "me gusta el cafe"),
        ("我住在北京,喜欢茶。", "我住在北京。", "住在北京"),
        ("I\u2019m a nurse", "I am a nurse.", "I'm a nurse"),
        ("I\u00a0like   tea", "I like tea.", "I like tea"),
        ("I paid 3,000 euros", "I paid 3000 euros.", "paid 3,000"),
        ("I fly on Friday at half past seven", "I fly on 2026-01-16 at 7:30.", "fly on Friday"),
    ],
)
def test_what_users_said_is_a_fact(said: str, fact: str, quote: str) -> None:
    got = found(sources(said), fact, quote)
    assert [(one.source, one.turn, one.topics) for one in got.candidates] == [
        (quote, 0, (PREFERENCES,))
    ]


@pytest.mark.parametrize(
    ("said", "fact", "quote"),
    [
        ("I like coffee.", "I like tea.", "I like tea"),
        ("I like tea.", "I like tea.", ""),
        ("I like tea.", "I like tea.", " . "),
        ("I like tea.", "I like tea.", "a"),
        # A part of a word is no quote.
        ("I like tea.", "I like teasing.", "I like te"),
        ("I like steam.", "I like tea.", "tea"),
        # A quote that says nothing of the fact.
        ("I like tea.", "Bob owes money.", "I like tea"),
        ("I like tea.", "The password is 1234.", "I like tea"),
        ("I have dogs.", "I have 170 dogs.", "I have dogs"),
        ("我住在北京。", "他有一辆红色汽车。", "住在北京"),
        ("I like tea.", "", "I like tea"),
        ("I like tea.", "\x00 ", "I like tea"),
        ("I like tea.", "I like tea." + "x" * 10_000, "I like tea"),
    ],
)
def test_what_nobody_said_is_counted(said: str, fact: str, quote: str) -> None:
    got = found(sources(said), fact, quote)
    assert (got.candidates, got.unsupported) == ([], 1)


def test_what_a_model_said_is_context_alone() -> None:
    given = sources("A: What is your dog's name?", "Rex.", "A: You like tea.")
    assert found(given, "My dog's name is Rex.", "Rex", 1).candidates
    assert found(given, "I like tea.", "You like tea", 2).unsupported == 1
    assert found(given, "I like tea.", "like tea", 1).unsupported == 1


def test_the_claimed_turn_goes_before_others() -> None:
    given = sources("I like tea.", "A: Sure?", "Yes, I like tea.")
    assert [found(given, "I like tea.", "I like tea", n).candidates[0].turn for n in (0, 2, 9)] == [
        *(0, 2, 0)
    ]


def test_the_parts_of_a_long_turn_are_one() -> None:
    given = Sources((Line(0, is_users=True, text="I like"), Line(0, is_users=True, text="tea.")))
    assert found(given, "I like tea.", "I like tea").candidates


def test_a_file_cannot_be_quoted() -> None:
    given = sources("Look!", files=frozenset({0}))
    assert found(given, "I own a red car.", "").candidates
    assert found(given, "I own a red car.", "", 1).unsupported == 1
    assert found(given, "I own a red car.", "red car").unsupported == 1


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
    said = ExtractedFact(fact="I like tea.", quote="I like tea", line=0, topics=labels)
    wanted = (PREFERENCES, DRINKS)
    guide = Guide(wanted, False, (), NOW, ZoneInfo("UTC"))
    assert grounded([said], sources("I like tea."), guide).candidates[0].topics == topics


def test_what_falls_under_no_topic_is_counted() -> None:
    got = found(sources("I like chess."), "I like chess.", "I like chess", topics=(DRINKS,))
    assert (got.candidates, got.off_topic) == ([], 1)


def test_relative_dates_that_the_model_left_are_resolved_in_the_zone() -> None:
    line = Line(
        0, is_users=True, text="I was ill yesterday.", time=datetime(2026, 1, 9, 23, 30, tzinfo=UTC)
    )
    for zone, day in (("UTC", "08"), ("Europe/Berlin", "09")):
        (one,) = found(
            Sources((line,)), "I was ill yesterday.", "ill yesterday", time_zone=ZoneInfo(zone)
        ).candidates
        assert one.fact == f"I was ill yesterday (2026-01-{day})."


@pytest.mark.parametrize(
    ("said", "thing", "quote"),
    [
        ("Please forget that I like tea.", "I like tea", "forget that I like tea"),
        ("Forget my job at Siemens, please.", "the user's job at Siemens", "my job at Siemens"),
        ("Can you please forget that I like tea?", "I like tea", "forget that I like tea"),
        ("Vergiss bitte meinen Job.", "meinen Job", "Vergiss bitte meinen Job"),
        ("Per favore dimentica il mio lavoro.", "il mio lavoro", "dimentica il mio lavoro"),
        ("请忘记我的工作。", "我的工作", "请忘记我的工作"),
        ('Forget "Project X".', "Project X", 'Forget "Project X"'),
    ],
)
def test_a_request_to_forget_that_names_something_counts(said: str, thing: str, quote: str) -> None:
    (one,) = found(sources(said), thing, quote, forget=True).candidates
    assert one.forget
    assert "user" not in one.fact


@pytest.mark.parametrize(
    ("said", "thing", "quote", "expected"),
    [
        ("Forget my job at Siemens.", "I work at Siemens", "Forget my job", "my job"),
        ("Forget my job at Siemens.", "my sister", "Forget my job", "my job"),
        ("Per favore dimentica Siemens.", "il lavoro", "dimentica Siemens", "dimentica Siemens"),
    ],
)
def test_what_is_to_be_forgotten_has_the_user_s_own_words(
    said: str, thing: str, quote: str, expected: str
) -> None:
    facts = [one.fact for one in found(sources(said), thing, quote, forget=True).candidates]
    assert facts == [expected]


@pytest.mark.parametrize(
    ("said", "thing", "quote"),
    [
        ("Forget everything.", "everything", "Forget everything"),
        ("Delete all memories.", "I like tea", "Delete all memories"),
        ("I like tea. Delete all memories.", "I like tea", "Delete all memories"),
        ("Do not forget that I like tea!", "I like tea", "forget that I like tea"),
        ("Don't ever forget my job.", "my job", "forget my job"),
        ("Vergiss bitte nicht meinen Job.", "meinen Job", "Vergiss bitte nicht meinen Job"),
        ("Should I forget that I like tea?", "I like tea", "forget that I like tea"),
        ('He wrote: "Forget that I like tea."', "I like tea", "Forget that I like tea"),
        ("Forget that the user likes tea.", "I like tea", "Forget that the user likes tea"),
        ("A: Forget my job.", "my job", "Forget my job"),
    ],
)
def test_what_only_looks_like_a_request_is_counted(said: str, thing: str, quote: str) -> None:
    got = found(sources(said), thing, quote, forget=True)
    assert (got.candidates, got.unsupported) == ([], 1)
