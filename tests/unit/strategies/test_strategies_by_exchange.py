"""Strategies that count exchanges: windows, `every_n`, and the published A-ISM and FASM.

The names are those of the checks that the design lists (H2 to H13, P3 to P7). As there, an exchange
has 100 tokens, the system prompt 400 and a summary 250.
"""

import pytest

from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import shares_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import ContextTurn, Fixed, History, TurnKind
from app.platform.sessions.logic.event_text import Step
from tests.support.talks import Talk, covers, failing, kinds, rules, shown_seqs, stub, tokens_of

FIXED = Fixed(system=400)
A_ISM = "abstraction_inclusive"
FASM = "fully_abstracted"


def _after(given: Rules, exchanges: int) -> Talk:
    """Append exchanges one by one, and make what is due after each."""
    talk = Talk()
    for _ in range(exchanges):
        talk.exchange()
        talk.work(given, writer=stub)
    return talk


def test_h2_inclusive_shows_everything_in_order() -> None:
    talk = _after(rules("inclusive"), 3)
    found = talk.context(rules("inclusive"))
    assert shown_seqs(found) == [1, 2, 3, 4, 5, 6]
    assert found.omitted == []
    assert found.left is None


def test_h3_a_window_of_one_shows_the_last_exchange_and_of_none_nothing() -> None:
    talk = _after(rules("inclusive"), 3)
    found = talk.context(rules("window", window=1))
    assert (shown_seqs(found), found.omitted) == ([5, 6], [(1, 4)])
    found = talk.context(rules("window", window=0))
    assert (shown_seqs(found), found.omitted) == ([], [(1, 6)])


def test_h3_an_incomplete_exchange_is_shown_beside_the_window() -> None:
    talk = _after(rules("inclusive"), 3)
    talk.say(50, Step.ASKS)
    assert shown_seqs(talk.context(rules("window", window=1))) == [5, 6, 7]
    assert shown_seqs(talk.context(rules("window", window=0))) == [7]
    talk.say(50, Step.ANSWERS)
    assert shown_seqs(talk.context(rules("window", window=1))) == [7, 8]
    assert shown_seqs(talk.context(rules("window", window=0))) == []


def test_a_window_of_tokens_takes_whole_events() -> None:
    talk = _after(rules("inclusive"), 3)
    found = talk.context(rules("window", windowTokens=149))
    assert (shown_seqs(found), found.omitted) == ([5, 6], [(1, 4)])
    both = rules("window", window=1, windowTokens=1000)
    assert shown_seqs(talk.context(both)) == [5, 6]


@pytest.mark.parametrize(
    ("exchanges", "calls", "verbatim"), [(2, 0, 2), (3, 1, 0), (4, 1, 1), (6, 2, 0), (7, 2, 1)]
)
def test_h4_a_summary_after_every_three(exchanges: int, calls: int, verbatim: int) -> None:
    talk = _after(rules("every_n"), exchanges)
    found = talk.context(rules("every_n"))
    assert len(talk.made) == len(found.summaries) == calls
    assert len(found.turns) == 2 * verbatim
    assert found.omitted == []


def test_h5_a_summary_after_every_exchange() -> None:
    talk = _after(rules("every_n", every=1), 3)
    found = talk.context(rules("every_n", every=1))
    assert covers(found) == [(1, 2), (3, 4), (5, 6)]
    assert (len(talk.made), shown_seqs(found)) == (3, [])


@pytest.mark.parametrize(("refresh", "tokens"), [("append", 2850), ("whole", 850)])
def test_h8_summaries_pile_up_or_are_made_whole(refresh: str, tokens: int) -> None:
    given = rules("every_n", refresh=refresh)
    assert tokens_of(_after(given, 29).context(given, FIXED), FIXED) == tokens


def test_h12_none_shows_nothing_and_makes_nothing() -> None:
    talk = _after(rules("none"), 20)
    found = talk.context(rules("none"), FIXED)
    assert (found.summaries, found.turns, found.omitted) == ((), (), [(1, 40)])
    assert talk.made == []


def test_h13_after_clearing_the_context_is_empty_and_counting_starts_anew() -> None:
    given = rules("every_n")
    talk = _after(given, 5)
    talk.clear()
    found = talk.context(given)
    assert (list(found.summaries), found.turns, found.omitted) == ([], [], [(1, 10)])
    talk.exchange(count=2)
    assert talk.work(given) == []
    talk.exchange()
    assert [(due.first_seq, due.last_seq) for due in talk.work(given)] == [(11, 16)]


def test_h13_an_exchange_that_was_under_way_when_cleared_does_not_count() -> None:
    given = rules("every_n", every=1)
    talk = Talk()
    talk.say(50, Step.ASKS)
    talk.clear()
    talk.say(50, Step.ANSWERS)
    assert talk.work(given) == []
    assert shown_seqs(talk.context(given)) == [2]
    talk.exchange()
    made = talk.work(given)
    assert [(due.first_seq, due.last_seq) for due in made] == [(2, 4)]


def test_h14_a_failing_summariser_loses_nothing_and_the_next_try_covers_the_same() -> None:
    given = rules("every_n")
    talk = Talk()
    talk.exchange(count=4)
    assert talk.work(given, writer=failing) == []
    assert shown_seqs(talk.context(given)) == list(range(1, 9))
    assert [due.read for due in talk.work(given)] == [(1, 6)]
    assert shown_seqs(talk.context(given)) == [7, 8]


def test_p3_inclusive_overflows_with_the_37th_exchange() -> None:
    given = rules("inclusive")
    assert tokens_of(_after(given, 30).context(given, FIXED), FIXED) == 3400
    assert tokens_of(_after(given, 37).context(given, FIXED), FIXED) == 4100


@pytest.mark.parametrize(
    ("strategy", "cap", "exchanges", "tokens", "summaries", "verbatim"),
    [
        (A_ISM, 10, 29, 1800, 2, 9),
        (A_ISM, 10, 30, 1150, 3, 0),
        (A_ISM, 16, 30, 2050, 1, 14),
        (FASM, 10, 29, 1550, 1, 9),
        (FASM, 10, 30, 650, 1, 0),
    ],
)
def test_p4_p5_the_published_states(
    strategy: str, cap: int, exchanges: int, tokens: int, summaries: int, verbatim: int
) -> None:
    given = rules(strategy, cap=cap)
    found = _after(given, exchanges).context(given, FIXED)
    assert tokens_of(found, FIXED) == tokens
    assert (len(found.summaries), len(found.turns)) == (summaries, 2 * verbatim)
    assert found.omitted == []


def test_p5_the_second_summary_of_a_cell_reads_the_first() -> None:
    talk = _after(rules(FASM), 29)
    assert [due.kind for due in talk.made] == [TurnKind.FULL, TurnKind.RECURSIVE]
    assert talk.made[1].previous == ("s1",)
    assert talk.made[1].read == (21, 40)
    assert covers(talk.context(rules(FASM))) == [(1, 40)]


def test_p6_a_list_of_at_most_four_summaries_merges_the_oldest() -> None:
    given = rules(A_ISM, maxAbstractions=4)
    talk = Talk()
    for _ in range(100):
        talk.exchange()
        while (due := talk.due(given)) is not None:
            assert len(talk.context(given).summaries) <= 4
            talk.make(given, due, 250)
        assert len(talk.context(given).summaries) <= 4
        assert talk.context(given).omitted == []
    assert covers(talk.context(given)) == [(1, 140), (141, 160), (161, 180), (181, 200)]
    assert kinds(talk.made) == ["block"] * 4 + ["merge", "block"] * 6


def test_p6_a_list_of_one_summary_is_a_cell() -> None:
    given = rules(A_ISM, maxAbstractions=1)
    talk = _after(given, 30)
    assert kinds(talk.made) == ["full", "recursive", "recursive"]
    assert given.key == rules(FASM).key


def test_p6_what_waits_for_a_merge_stays_word_for_word() -> None:
    given = rules(A_ISM, maxAbstractions=2)
    talk = _after(given, 20)
    talk.exchange(count=10)
    talk.work(given, writer=failing)
    found = talk.context(given)
    assert covers(found) == [(1, 20), (21, 40)]
    assert shown_seqs(found) == list(range(41, 61))


@pytest.mark.parametrize("strategy", [A_ISM, FASM])
def test_p7_the_newest_exchanges_taper(strategy: str) -> None:
    given = rules(strategy, cap=10, keepRecent=4)
    assert _after(given, 13).made == []
    talk = _after(given, 14)
    assert [due.read for due in talk.made] == [(1, 20)]
    assert shown_seqs(talk.context(given)) == list(range(21, 29))


SOUND = [
    ("inclusive", 30, {}, 58_500),
    (A_ISM, 30, {"cap": 16}, 41_480),
    (A_ISM, 30, {"cap": 10}, 39_840),
    (A_ISM, 30, {"cap": 5}, 44_430),
    (FASM, 30, {"cap": 10}, 37_840),
    ("inclusive", 100, {}, 545_000),
    (A_ISM, 100, {"cap": 51}, 312_730),
    (A_ISM, 100, {"cap": 21}, 203_020),
    (A_ISM, 100, {"cap": 11}, 213_170),
    (FASM, 100, {"cap": 11}, 136_170),
    (A_ISM, 100, {"cap": 11, "keepRecent": 4}, 239_840),
    (FASM, 100, {"cap": 11, "keepRecent": 4}, 169_840),
]


@pytest.mark.parametrize(("strategy", "messages", "settings", "tokens"), SOUND)
def test_p2_p7_a_whole_session_takes_what_the_sound_accounting_says(
    strategy: str, messages: int, settings: dict[str, int], tokens: int
) -> None:
    """A message's prompt is the context before it, and the message; a call reads what is due."""
    given = rules(strategy, **settings)
    talk = Talk()
    used = 0
    for _ in range(messages):
        used += tokens_of(talk.context(given, FIXED), FIXED) + 100
        talk.exchange()
        for due in talk.work(given, writer=stub):
            assert due.read is not None
            read = 50 * (due.read[1] - due.read[0] + 1)
            used += read + 250 * len(due.previous) + 30 + 250
    assert used == tokens


def test_an_exchange_that_is_not_answered_is_never_summarised() -> None:
    talk = Talk()
    for _ in range(8):
        talk.say(10, Step.ASKS)
        talk.say(10, Step.GOES_ON)
    assert talk.work(rules("every_n", every=1)) == []
    talk.say(10, Step.ANSWERS)
    assert [due.read for due in talk.work(rules("every_n", every=1))] == [(1, 17)]


def test_what_follows_an_answer_is_in_the_next_summary() -> None:
    given = rules("every_n", every=1)
    talk = _after(given, 1)
    talk.say(10, Step.GOES_ON)
    assert talk.work(given) == []
    assert shown_seqs(talk.context(given)) == [3]
    talk.exchange()
    assert [due.read for due in talk.work(given)] == [(3, 5)]


def test_a_backlog_is_made_up_for_block_by_block() -> None:
    talk = Talk()
    talk.exchange(count=35)
    made = talk.work(rules(A_ISM))
    assert [due.read for due in made] == [(1, 20), (21, 40), (41, 60)]


def test_a_block_of_which_not_all_was_read_at_once_ends_with_what_was() -> None:
    turns = [ContextTurn(seq, (seq + 1) // 2, 5) for seq in range(1, 17)]
    history = History(turns=turns, last_seq=20, complete=10, is_bounded=True)
    given = rules(A_ISM, cap=10)
    due = next_due(given, history, shares_of(given, Fixed()))
    assert due is not None
    assert (due.read, due.last_exchange) == ((1, 16), 8)
