"""`agent_summary` and `window`: the newest events under a share, and one summary of the rest.

The names are those of the checks that the design lists (A1 to A12).
"""

import pytest

from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import shares_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import (
    ContextTurn,
    Due,
    Fixed,
    History,
    TurnKind,
    TurnSummary,
)
from app.platform.sessions.logic.event_text import EventNumbers
from tests.support.talks import Talk, covers, failing, kinds, rules, shown_seqs, tokens_of

FIXED = Fixed(system=232)


def _agents(limit: int = 4032, **settings: object) -> Rules:
    return rules("agent_summary", tokenLimit=limit, **settings)


def _arriving(given: Rules, count: int, tokens: int = 100) -> tuple[Talk, list[Due]]:
    """Append events one by one, and make what is due after each."""
    talk = Talk()
    made = []
    for _ in range(count):
        talk.events(1, tokens)
        made += talk.work(given, FIXED)
    return talk, made


def test_a1_a_window_shows_the_newest_that_fit_and_lists_the_rest_as_omitted() -> None:
    talk = Talk()
    talk.events(60)
    found = talk.context(rules("window", tokenLimit=2250))
    assert shown_seqs(found) == list(range(39, 61))
    assert found.omitted == [(1, 38)]
    assert found.left == 50


def test_a2_what_left_the_window_is_in_the_summary_and_nothing_is_omitted() -> None:
    talk = Talk()
    talk.events(60)
    made = talk.work(_agents(), FIXED)
    found = talk.context(_agents(), FIXED)
    assert kinds(made) == ["full"]
    assert shown_seqs(found) == list(range(39, 61))
    assert covers(found) == [(1, 38)]
    assert found.omitted == []


@pytest.mark.parametrize(
    ("limit", "split", "shares"),
    [
        (4032, {"stm": 3, "lts": 1}, (2250, 750)),
        (4034, {"stm": 3, "lts": 1}, (2250, 750)),
        (4036, {"stm": 3, "lts": 1}, (2253, 751)),
        (4032, {"stm": 1, "lts": 1}, (1500, 1500)),
    ],
)
def test_a3_the_window_is_divided_by_whole_units(
    limit: int, split: dict[str, int], shares: tuple[int, int]
) -> None:
    found = shares_of(_agents(limit, split=split), FIXED)
    assert (found.stm, found.lts) == shares
    assert found.room == limit - 800 - 232


def test_a3_the_pending_message_counts_unless_the_policy_says_otherwise() -> None:
    fixed = Fixed(system=232, pending=400)
    assert shares_of(_agents(), fixed).stm == 1950
    uncounted = shares_of(_agents(countPending=False), fixed)
    assert uncounted.stm == 2250
    assert uncounted.room == 2600, "what is shown has to fit all the same"


def test_a4_a_summary_may_have_four_characters_for_each_token() -> None:
    talk = Talk()
    talk.events(54)
    assert [(due.tokens, due.chars) for due in talk.work(_agents(), FIXED)] == [(750, 3000)]


def test_a5_all_that_left_the_window_is_read_for_a_full_summary() -> None:
    talk = Talk()
    talk.events(54)
    made = talk.work(_agents(), FIXED)
    assert made == [Due(TurnKind.FULL, 1, 32, 16, EventNumbers(1, 32), (), 750, 3000)]


def test_a6_a7_the_next_reads_the_summary_and_the_one_event_that_left() -> None:
    talk = Talk()
    talk.events(54)
    talk.work(_agents(), FIXED)
    talk.events(1)
    made = talk.work(_agents(), FIXED)
    assert made == [Due(TurnKind.RECURSIVE, 1, 33, 17, EventNumbers(33, 33), ("s1",), 750, 3000)]
    found = talk.context(_agents(), FIXED)
    assert covers(found) == [(1, 33)]
    assert shown_seqs(found) == list(range(34, 56))


@pytest.mark.parametrize(("prompt", "kind"), [(3272, "full"), (3273, "recursive")])
def test_a6_a_full_prompt_of_3272_tokens_is_the_last(prompt: int, kind: str) -> None:
    before = 3168
    last = prompt - 4 - before
    history = History(
        turns=[ContextTurn(33, 17, last), *(ContextTurn(seq, seq, 100) for seq in range(34, 56))],
        summaries=[TurnSummary("s1", 1, 32, 16, 750)],
        last_seq=55,
        complete=55,
        covered=before,
    )
    due = next_due(_agents(), history, shares_of(_agents(), FIXED))
    assert due is not None
    assert due.kind == kind
    assert due.read == ((1, 33) if kind == "full" else (33, 33))
    assert due.previous == (() if kind == "full" else ("s1",))
    assert (due.first_seq, due.last_seq) == (1, 33)


def test_a6_events_arriving_one_by_one_are_read_whole_up_to_the_54th() -> None:
    _, made = _arriving(_agents(), 56)
    assert kinds(made) == ["full"] * 32 + ["recursive"] * 2
    assert made[31].read == (1, 32)
    assert [due.read for due in made[32:]] == [(33, 33), (34, 34)]


def test_a6_recompute_recursive_reads_every_event_once() -> None:
    _, made = _arriving(_agents(recompute="recursive"), 30)
    assert [due.read for due in made] == [(seq, seq) for seq in range(1, 9)]


def test_a8_what_is_fixed_counts_to_the_limit() -> None:
    fixed = Fixed(system=232, pending=500)
    talk = Talk()
    talk.events(80)
    talk.work(_agents(), fixed)
    found = talk.context(_agents(), fixed)
    assert tokens_of(found, fixed) + 800 <= 4032
    assert found.omitted == []


def test_a10_exactly_full_needs_no_summary() -> None:
    talk, made = _arriving(_agents(), 10, tokens=225)
    assert made == []
    assert len(talk.context(_agents(), FIXED).turns) == 10
    talk.events(1, 225)
    assert kinds(talk.work(_agents(), FIXED)) == ["full"]
    assert len(talk.context(_agents(), FIXED).turns) == 10


def test_a11_without_a_new_event_nothing_is_due() -> None:
    talk, made = _arriving(_agents(), 23)
    assert len(made) == 1
    assert talk.work(_agents(), FIXED) == []


@pytest.mark.parametrize(("low_water", "calls"), [(0.8, 16), (1.0, 78)])
def test_a12_a_low_water_mark_makes_summaries_rare(low_water: float, calls: int) -> None:
    talk, made = _arriving(_agents(lowWater=low_water), 100)
    assert len(made) == calls
    assert talk.context(_agents(lowWater=low_water), FIXED).omitted == []


def test_the_low_water_mark_is_exact() -> None:
    split = {"stm": 1, "lts": 1}
    given = rules(
        "agent_summary", tokenLimit=200, reserveOutputTokens=0, lowWater=0.29, split=split
    )
    talk = Talk()
    talk.events(101, 1)
    talk.work(given)
    assert len(talk.context(given).turns) == 29, "of 100; as floats, 0.29 x 100 is less than 29"


def test_the_low_water_mark_counts_once_the_share_is_full() -> None:
    talk, made = _arriving(_agents(lowWater=0.8), 10, tokens=225)
    assert made == []
    talk.events(1, 225)
    assert [due.read for due in talk.work(_agents(lowWater=0.8), FIXED)] == [(1, 3)]


def test_an_event_longer_than_its_share_stays_and_is_cut_visibly() -> None:
    talk = Talk()
    talk.events(5)
    talk.events(1, 5000)
    assert [due.last_seq for due in talk.work(_agents(), FIXED)] == [5]
    found = talk.context(_agents(), FIXED)
    assert covers(found) == [(1, 5)]
    assert found.cut == {6: 2250}
    assert found.left == 0


def test_what_no_summary_covers_yet_is_shown_as_far_as_there_is_room() -> None:
    talk = Talk()
    talk.events(60)
    talk.work(_agents(), FIXED, failing)
    found = talk.context(_agents(), FIXED)
    assert shown_seqs(found) == list(range(31, 61)), "3,000 tokens, with the summary's share"
    assert found.omitted == [(1, 30)]


def test_without_room_for_a_summary_none_is_made() -> None:
    talk = Talk()
    talk.events(10)
    assert talk.work(_agents(1035), FIXED) == []
    assert talk.work(rules("agent_summary")) == [], "without a limit there are no shares"


def test_of_a_tail_it_is_known_that_a_summary_is_due() -> None:
    talk = Talk()
    talk.events(40)
    talk.events(1, 5000)
    shares = shares_of(_agents(), FIXED)
    assert next_due(_agents(), talk.history(_agents(), tail=1), shares) is not None


@pytest.mark.parametrize("low_water", [0.5, 1.0])
def test_the_marks_of_a_summary_push_no_event_out(low_water: float) -> None:
    """Both shares are full to the last token, and there is no other room for the marks."""
    given = rules("agent_summary", tokenLimit=1_200, reserveOutputTokens=0, lowWater=low_water)
    talk = Talk(framing=22)
    for _ in range(40):
        talk.events(1, 100)
        talk.work(given)
        found = talk.context(given)
        assert list(found.omitted) == []
        assert tokens_of(found) <= 1_200
    assert talk.context(given).summaries
