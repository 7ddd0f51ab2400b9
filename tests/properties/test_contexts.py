"""Any session, under any strategy: nothing is lost, nothing told twice, no budget exceeded.

Events of any length come, are erased and cleared; summarisers fail; limits and policies change.
After each step the context of the session is looked at, and so is what the next summary is to be
made of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.conversation.strategies.logic.policies import Combine, Rules, rules_of
from app.conversation.strategies.logic.rendering import BudgetTooSmall, shares_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import Composition, Due, Fixed, TurnKind
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy
from app.platform.sessions.logic.event_text import Step
from tests.support.talks import NOTHING_FIXED, Talk, covers, longest, shown_seqs, tokens_of

STEPS = 40
_TOKENS = st.integers(0, 300) | st.sampled_from([0, 5_000])
_COUNTS = st.integers(1, 4)
_BY_EXCHANGE = {"keepRecent": st.integers(0, 3), "summaryTokens": st.integers(16, 250)}
_OWN: dict[Strategy, dict[str, st.SearchStrategy[Any]]] = {
    Strategy.NONE: {},
    Strategy.INCLUSIVE: {"onOverflow": st.sampled_from(["error", "omit"])},
    Strategy.WINDOW: {"window": st.integers(0, 5), "windowTokens": st.integers(0, 1_000)},
    Strategy.EVERY_N: {
        **_BY_EXCHANGE,
        "every": _COUNTS,
        "refresh": st.sampled_from(["append", "whole"]),
        "maxAbstractions": _COUNTS,
    },
    Strategy.ABSTRACTION_INCLUSIVE: {**_BY_EXCHANGE, "cap": _COUNTS, "maxAbstractions": _COUNTS},
    Strategy.FULLY_ABSTRACTED: {**_BY_EXCHANGE, "cap": _COUNTS},
    Strategy.AGENT_SUMMARY: {
        "split": st.fixed_dictionaries({"stm": _COUNTS, "lts": _COUNTS}),
        "lowWater": st.sampled_from([0.3, 0.8, 1.0]),
        "countPending": st.booleans(),
        "recompute": st.sampled_from(["full_until_overflow", "recursive"]),
    },
}
_LIMITS = st.none() | st.integers(1, 4_000)


def _policies(strategy: Strategy) -> st.SearchStrategy[MemoryPolicy]:
    optional = {
        **_OWN[strategy],
        "reserveOutputTokens": st.integers(0, 300),
        "perMessageOverhead": st.integers(0, 5),
    }
    fields = st.fixed_dictionaries({"strategy": st.just(strategy)}, optional=optional)
    return fields.map(MemoryPolicy.model_validate)


@dataclass
class _Session:
    """A session under one of its policies, with a limit and what is fixed."""

    talk: Talk
    policies: Sequence[MemoryPolicy]
    used: int = 0
    limit: int | None = None
    fixed: Fixed = NOTHING_FIXED

    @property
    def rules(self) -> Rules:
        return rules_of(self.policies[self.used].model_copy(update={"token_limit": self.limit}))


def _say(session: _Session, draw: st.DataObject) -> None:
    steps = draw.draw(st.sampled_from([[Step.ASKS, Step.ANSWERS], *([one] for one in Step)]))
    for step in steps:
        session.talk.say(draw.draw(_TOKENS), step)


def _erase(session: _Session, draw: st.DataObject) -> None:
    if session.talk.last_seq:
        session.talk.erase(draw.draw(st.integers(1, session.talk.last_seq)))


def _clear(session: _Session, draw: st.DataObject) -> None:
    if draw.draw(st.integers(0, 3)) == 0:
        session.talk.clear()


def _limit(session: _Session, draw: st.DataObject) -> None:
    session.limit = draw.draw(_LIMITS)
    session.fixed = Fixed(draw.draw(st.integers(0, 200)), draw.draw(st.integers(0, 200)))


def _switch(session: _Session, draw: st.DataObject) -> None:
    session.used = draw.draw(st.integers(0, len(session.policies) - 1))


def _work(session: _Session, draw: st.DataObject) -> None:
    """Make what is due; some of it fails, some is longer than it should be by this counter."""
    try:
        shares_of(session.rules, session.fixed)
    except BudgetTooSmall:
        return
    for _ in range(draw.draw(st.integers(0, 5))):
        due = session.talk.due(session.rules, session.fixed)
        if due is None:
            return
        _check_due(session, due)
        _check_context(session)
        session.talk.make(session.rules, due, draw.draw(st.integers(0, due.tokens + 20)))


_STEPS: list[Callable[[_Session, st.DataObject], None]] = [
    *[_say] * 6,
    *[_work] * 4,
    _erase,
    _clear,
    _limit,
    _switch,
]


def _check_due(session: _Session, due: Due) -> None:
    """Each event that a summary will cover is read for it once: itself, or by a summary of it."""
    rules, talk = session.rules, session.talk
    history = talk.history(rules)
    by_id = {one.summary_id: one for one in history.summaries}
    parts = [(by_id[one].first_seq, by_id[one].last_seq) for one in due.previous]
    parts += [due.read] if due.read is not None else []
    assert [first for first, _ in parts] == [due.first_seq, *(last + 1 for _, last in parts[:-1])]
    assert parts[-1][1] == due.last_seq
    assert due.first_seq > talk.cleared_seq
    if due.read is not None:
        assert any(due.read[0] <= seq <= due.read[1] for seq in talk.turns), "there is text"
    ways = rules.summarising
    assert ways is not None
    assert due.chars == due.tokens * ways.chars_per_token
    if ways.combine is not Combine.SPLIT and history.until is None:
        assert due.last_exchange <= talk.place.complete - (ways.keep if due.read else 0)
    if due.kind is TurnKind.MERGE:
        assert len(due.previous) > 1


def _check_context(session: _Session) -> None:
    """Look at what a prompt shows."""
    rules, talk, fixed = session.rules, session.talk, session.fixed
    try:
        found = talk.context(rules, fixed)
    except BudgetTooSmall as error:
        _check_refused(session, error)
        return
    _check_partition(talk, found)
    room = shares_of(rules, fixed).room
    if room is not None and rules.limit is not None:
        used = tokens_of(found, fixed)
        assert used + rules.reserved <= rules.limit
        assert found.left == rules.limit - rules.reserved - used
    _check_summaries(session, found)
    _check_events(session, found)
    tail = talk.context(rules, fixed, tail=len(found.turns) + 1)
    assert tail == found, "a prompt is the same from no more of the events than could be shown"
    _check_tail(session)


def _check_tail(session: _Session) -> None:
    """That a summary is due is seen in the events that there is room for, and one more."""
    rules, talk = session.rules, session.talk
    shares = shares_of(rules, session.fixed)
    is_due = talk.due(rules, session.fixed) is not None
    tail, needed = 0, max(shares.room or 0, shares.stm or 0)
    for turn in reversed(talk.history(rules).turns if shares.room is not None else ()):
        tail, needed = tail + 1, needed - turn.tokens
        if needed < 0:
            is_seen = next_due(rules, talk.history(rules, tail), shares) is not None
            is_whole = len(talk.turns) == talk.last_seq
            assert is_seen == is_due or (is_seen and not is_whole)
            return


def _check_refused(session: _Session, error: BudgetTooSmall) -> None:
    rules = session.rules
    assert rules.limit is not None
    assert int(error.metadata["needed"]) > rules.limit - rules.reserved
    is_fixed_too_large = session.fixed.system + session.fixed.pending > rules.limit - rules.reserved
    assert is_fixed_too_large or not rules.may_omit


def _check_partition(talk: Talk, found: Composition) -> None:
    """Each event is shown, in one summary, or omitted."""
    shown = shown_seqs(found)
    assert shown == sorted(set(shown))
    told = [*shown]
    for first, last in [*covers(found), *found.omitted]:
        told += range(first, last + 1)
    assert sorted(told) == list(range(1, talk.last_seq + 1))
    assert set(shown) <= talk.turns.keys(), "nothing erased is shown"
    assert set(found.cut) <= set(shown)


def _check_summaries(session: _Session, found: Composition) -> None:
    """They are the newest there are, without a gap, and stand before the events."""
    active = session.talk.history(session.rules).summaries
    assert list(found.summaries) == list(active[len(active) - len(found.summaries) :])
    ranges = covers(found)
    for (_, last), (first, _) in pairwise(ranges):
        assert first == last + 1
    if ranges and found.turns:
        assert ranges[-1][1] < found.turns[0].seq
    ways = session.rules.summarising
    if ways is not None and ways.most is not None:
        assert len(ranges) <= ways.most


def _check_events(session: _Session, found: Composition) -> None:
    """They are the newest there are; one more would not fit, or lies outside the window."""
    rules, talk = session.rules, session.talk
    unread = talk.history(rules).turns
    assert list(found.turns) == list(unread[len(unread) - len(found.turns) :])
    if len(found.turns) == len(unread) or not rules.shows:
        return
    older = unread[-1 - len(found.turns)]
    space = found.left if found.left is not None else older.tokens
    if rules.window_tokens is not None:
        space = min(space, rules.window_tokens - tokens_of(found))
    is_outside = rules.window is not None and older.exchange <= talk.place.complete - rules.window
    assert is_outside or found.cut or older.tokens > space


def _settle(session: _Session) -> None:
    """Once the summariser answers again, all is made up for in the end."""
    rules, talk, fixed = session.rules, session.talk, session.fixed
    try:
        shares = shares_of(rules, fixed)
    except BudgetTooSmall:
        return
    talk.work(rules, fixed, longest)
    _check_context(session)
    ways, turns = rules.summarising, talk.history(rules).turns
    if ways is None or ways.combine is not Combine.SPLIT or not shares.lts or not turns:
        return
    cell = sum(one.tokens for one in talk.history(rules).summaries)
    newest = turns[-1].tokens + talk.framing
    if rules.count_pending and cell <= shares.lts and newest <= (shares.stm or 0):
        omitted = talk.context(rules, fixed).omitted
        lost = {seq for first, last in omitted for seq in range(first, last + 1)} & set(talk.turns)
        assert all(seq <= talk.cleared_seq for seq in lost), "its shares have room for everything"


@pytest.mark.parametrize("strategy", Strategy)
@given(draw=st.data())
@settings(deadline=None)
def test_every_event_is_shown_or_summarised_or_listed_as_omitted(
    strategy: Strategy, draw: st.DataObject
) -> None:
    others = st.sampled_from(Strategy).flatmap(_policies)
    policies = [draw.draw(_policies(strategy)), draw.draw(others)]
    talk = Talk(framing=draw.draw(st.sampled_from([0, 22])))
    session = _Session(talk, policies, limit=draw.draw(_LIMITS))
    count = draw.draw(st.integers(1, STEPS))
    for step in draw.draw(st.lists(st.sampled_from(_STEPS), min_size=count, max_size=count)):
        step(session, draw)
        _check_context(session)
    _settle(session)


_COUNTING = [Strategy.EVERY_N, Strategy.ABSTRACTION_INCLUSIVE, Strategy.FULLY_ABSTRACTED]


@pytest.mark.parametrize("strategy", _COUNTING)
@given(draw=st.data())
@settings(deadline=None)
def test_a_summariser_that_fails_for_a_while_leaves_no_trace(
    strategy: Strategy, draw: st.DataObject
) -> None:
    rules = rules_of(draw.draw(_policies(strategy)))
    failed, spared = Talk(), Talk()
    for calls in draw.draw(st.lists(st.integers(0, 3), max_size=STEPS)):
        for talk in (failed, spared):
            talk.exchange()
        for _ in range(calls):
            due = failed.due(rules)
            if due is not None:
                failed.make(rules, due, due.tokens)
        spared.work(rules)
        assert failed.context(rules).omitted == []
    failed.work(rules)
    assert failed.made == spared.made
    assert failed.context(rules) == spared.context(rules)
