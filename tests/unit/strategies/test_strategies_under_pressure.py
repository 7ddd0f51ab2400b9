"""Strategies under a budget that is too small, and over events that were erased."""

import pytest

from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import BudgetTooSmall, shares_of
from app.conversation.strategies.logic.turns import Fixed
from app.kernel.errors import Reason
from app.platform.sessions.logic.event_text import Step
from tests.support.talks import Talk, covers, kinds, rules, shown_seqs, stub

A_ISM = "abstraction_inclusive"


def _talk(given: Rules, exchanges: int) -> Talk:
    talk = Talk()
    talk.exchange(count=exchanges)
    talk.work(given, writer=stub)
    return talk


def test_what_is_fixed_must_fit() -> None:
    given = rules("window", tokenLimit=1000, reserveOutputTokens=100)
    assert shares_of(given, Fixed(system=800, pending=100)).room == 0
    with pytest.raises(BudgetTooSmall, match="901 tokens; the limit of 1000 leaves 900") as caught:
        shares_of(given, Fixed(system=800, pending=101))
    assert caught.value.reason is Reason.BUDGET_TOO_SMALL
    assert caught.value.metadata == {"limit": "1000", "reserved": "100", "needed": "901"}
    assert caught.value.violations == ()


def test_a_reserve_beyond_the_limit_leaves_nothing() -> None:
    with pytest.raises(BudgetTooSmall, match="leaves 0 beside the 800"):
        shares_of(rules("agent_summary", tokenLimit=500), Fixed())


def test_inclusive_refuses_what_does_not_fit_or_omits_the_oldest() -> None:
    talk = _talk(rules("inclusive"), 10)
    fixed = Fixed(system=100)
    assert len(talk.context(rules("inclusive", tokenLimit=1100), fixed).turns) == 20
    with pytest.raises(BudgetTooSmall) as caught:
        talk.context(rules("inclusive", tokenLimit=1099), fixed)
    assert caught.value.metadata == {"limit": "1099", "reserved": "0", "needed": "1100"}
    found = talk.context(rules("inclusive", tokenLimit=1099, onOverflow="omit"), fixed)
    assert (found.omitted, found.left) == ([(1, 1)], 49)


def test_over_the_budget_the_oldest_events_go_first() -> None:
    given = rules(A_ISM, tokenLimit=700)
    found = _talk(given, 27).context(given)
    assert covers(found) == [(1, 20), (21, 40)]
    assert shown_seqs(found) == [51, 52, 53, 54]
    assert found.omitted == [(41, 50)]


def test_then_the_oldest_summaries_go() -> None:
    given = rules(A_ISM, tokenLimit=600)
    found = _talk(given, 37).context(given)
    assert covers(found) == [(21, 40), (41, 60)]
    assert shown_seqs(found) == [73, 74]
    assert found.omitted == [(1, 20), (61, 72)]
    found = _talk(rules(A_ISM, tokenLimit=249), 10).context(rules(A_ISM, tokenLimit=249))
    assert (list(found.summaries), found.omitted, found.left) == ([], [(1, 20)], 249)


def test_a_newest_event_that_does_not_fit_is_cut() -> None:
    talk = Talk()
    talk.exchange(agent=500)
    given = rules("window", tokenLimit=200)
    found = talk.context(given)
    assert shown_seqs(found) == [2]
    assert found.cut == {2: 200}
    assert (found.omitted, found.left) == ([(1, 1)], 0)


def test_a_cut_needs_more_than_the_overhead_of_a_message() -> None:
    talk = Talk()
    talk.exchange(agent=500)
    found = talk.context(rules("window", tokenLimit=4, perMessageOverhead=4))
    assert (shown_seqs(found), found.omitted, found.left) == ([], [(1, 2)], 4)


def test_events_that_show_nothing_do_not_stand_for_one_that_is_cut() -> None:
    talk = Talk()
    talk.exchange(agent=500)
    talk.say(0, Step.GOES_ON)
    found = talk.context(rules("window", tokenLimit=200))
    assert shown_seqs(found) == [2, 3]
    assert found.cut == {2: 200}


def test_a_window_of_tokens_cuts_as_well() -> None:
    talk = Talk()
    talk.exchange(agent=500)
    found = talk.context(rules("window", windowTokens=30, tokenLimit=1000))
    assert (found.cut, found.left) == ({2: 30}, 970)
    assert talk.context(rules("window", windowTokens=0)).turns == []


def test_of_a_tail_all_that_is_older_is_omitted() -> None:
    given = rules(A_ISM, tokenLimit=700)
    talk = _talk(given, 27)
    assert talk.context(given, tail=5) == talk.context(given)


def test_erased_events_count_as_omitted() -> None:
    talk = _talk(rules("inclusive"), 3)
    talk.erase(2)
    talk.erase(6)
    found = talk.context(rules("inclusive"))
    assert shown_seqs(found) == [1, 3, 4, 5]
    assert found.omitted == [(2, 2), (6, 6)]


def test_a_gap_between_summaries_is_closed_with_one_call() -> None:
    given = rules(A_ISM, cap=2)
    talk = _talk(given, 10)
    talk.say(10, Step.GOES_ON)
    for seq in (7, 8):
        talk.erase(seq)
    assert covers(talk.context(given)) == [(1, 4)]
    assert [due.read for due in talk.work(given)] == [(5, 8)]
    assert covers(talk.context(given)) == [(1, 4), (5, 8), (9, 12), (13, 16), (17, 20)]


def test_a_gap_is_closed_as_it_was_though_its_last_exchange_went_on() -> None:
    given = rules(A_ISM, cap=1)
    talk = _talk(given, 1)
    talk.say(10, Step.GOES_ON)
    talk.exchange()
    talk.work(given)
    assert covers(talk.context(given)) == [(1, 2), (3, 5)]
    talk.erase(1)
    assert [due.read for due in talk.work(given)] == [(1, 2)]
    assert covers(talk.context(given)) == [(1, 2), (3, 5)]


def test_a_gap_in_which_nothing_is_left_joins_the_next_summary() -> None:
    given = rules(A_ISM, cap=1)
    talk = _talk(given, 4)
    for seq in (3, 4):
        talk.erase(seq)
    assert [due.read for due in talk.work(given)] == [(3, 6)]
    assert covers(talk.context(given)) == [(1, 2), (3, 6), (7, 8)]


def test_a_gap_is_closed_before_anything_is_merged() -> None:
    given = rules(A_ISM, cap=2, maxAbstractions=3)
    talk = _talk(given, 6)
    talk.erase(5)
    talk.exchange(count=2)
    assert [(due.kind, due.first_seq, due.last_seq) for due in talk.work(given)] == [
        ("block", 5, 8),
        ("merge", 1, 8),
        ("block", 13, 16),
    ]


def test_exchanges_of_which_all_is_erased_make_no_summary_of_their_own() -> None:
    given = rules("every_n", every=1)
    talk = Talk()
    talk.exchange(count=3)
    for seq in (1, 2, 3, 4):
        talk.erase(seq)
    assert [(due.read, due.last_exchange) for due in talk.work(given)] == [((1, 6), 3)]
    for seq in (5, 6):
        talk.erase(seq)
    assert talk.work(given) == []


def test_a_cell_with_an_erased_event_is_made_anew_from_the_beginning() -> None:
    given = rules("fully_abstracted", cap=2)
    talk = _talk(given, 5)
    talk.erase(3)
    assert shown_seqs(talk.context(given)) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert kinds(talk.work(given)) == ["full", "recursive"]
