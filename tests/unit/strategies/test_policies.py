"""What a policy comes to where it leaves settings open, and which policies share summaries."""

import pytest

from app.conversation.strategies.logic.policies import Combine, Rules
from app.kernel.wire.memory_policy import Strategy, SummaryRole
from tests.support.talks import rules


def _ways(strategy: str, **settings: object) -> tuple[Combine, int, int | None]:
    ways = rules(strategy, **settings).summarising
    assert ways is not None
    return ways.combine, ways.cap, ways.tokens


def test_strategies_by_exchange_have_their_defaults() -> None:
    assert _ways("every_n") == (Combine.APPEND, 3, 250)
    assert _ways("every_n", refresh="whole") == (Combine.REPLACE, 3, 250)
    assert _ways("abstraction_inclusive") == (Combine.APPEND, 10, 250)
    assert _ways("fully_abstracted") == (Combine.REPLACE, 10, 250)


def test_agent_summary_reserves_room_and_divides_three_to_one() -> None:
    given = rules("agent_summary")
    assert (given.reserved, given.role) == (800, SummaryRole.USER)
    assert given.summarising is not None
    assert (given.summarising.stm, given.summarising.lts) == (3, 1)
    assert (given.summarising.low_water, given.summarising.tokens) == (1.0, None)


@pytest.mark.parametrize("strategy", [Strategy.NONE, Strategy.INCLUSIVE, Strategy.WINDOW])
def test_strategies_without_summaries_make_none(strategy: Strategy) -> None:
    given = rules(strategy)
    assert given.summarising is None
    assert (given.reserved, given.counter, given.overhead) == (0, "chars4", 0)
    assert given.shows is (strategy is not Strategy.NONE)


def test_only_inclusive_refuses_to_omit() -> None:
    assert not rules("inclusive").may_omit
    assert rules("inclusive", onOverflow="omit").may_omit
    assert rules("window").may_omit


def _list(**settings: object) -> Rules:
    return rules("abstraction_inclusive", cap=3, **settings)


def test_equal_settings_under_two_names_have_the_same_summaries() -> None:
    assert _list().key == rules("every_n").key
    assert rules("fully_abstracted", cap=3).key == rules("every_n", refresh="whole").key
    assert _list(maxAbstractions=1).key == rules("fully_abstracted", cap=3).key
    whole = rules("every_n", refresh="whole", maxAbstractions=4)
    assert whole.key == rules("every_n", refresh="whole").key, "a cell is one summary at most"


@pytest.mark.parametrize(
    "settings",
    [
        {"tokenLimit": 9},
        {"reserveOutputTokens": 9},
        {"ltsRole": "assistant"},
        {"framing": False},
        {"carryOver": "ALL", "carryOverTokens": 900},
        {"systemInstruction": True},
    ],
    ids=str,
)
def test_what_changes_no_summary_is_not_in_the_key(settings: dict[str, object]) -> None:
    assert _list(**settings).key == _list().key


@pytest.mark.parametrize(
    "settings",
    [
        {"keepRecent": 1},
        {"maxAbstractions": 2},
        {"summaryTokens": 100},
        {"summaryModel": "builtin"},
        {"humanLabel": "User"},
        {"template": "Sum up: {chat_transcript}"},
    ],
)
def test_what_changes_summaries_is_in_the_key(settings: dict[str, object]) -> None:
    assert _list(**settings).key != _list().key


def test_the_limit_of_agent_summary_changes_its_summaries() -> None:
    keys = {rules("agent_summary", tokenLimit=limit).key for limit in (4032, 4034)}
    assert len(keys) == 2


def test_the_key_of_a_policy_is_that_of_the_former_release() -> None:
    assert rules("every_n").key == "ece059375ba0e679"
    agents = rules("agent_summary", tokenLimit=4_032)
    assert agents.key == "885ee97588b2ba5b"
    assert rules("every_n", systemInstruction=False).key != rules("every_n").key
