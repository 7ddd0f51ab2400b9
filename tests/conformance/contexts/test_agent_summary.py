"""A1 to A12: the newest events under a share of the budget, and one summary of all before."""

import random
from typing import Any

import pytest

from tests.conformance.contexts.conftest import Begin
from tests.support.bank import ok
from tests.support.contexts import detail, ranges, said
from tests.support.dialogues import Dialogue, Stub, check_partition, covered

POLICY: dict[str, Any] = {"strategy": "agent_summary", "tokenLimit": 4_032}
BASE = {"systemPrompt": "s" * 928, "policy": POLICY}
"""232 tokens, so that 3,000 of 4,032 are shared."""


def test_a1_a_window_leaves_out_what_is_older_and_says_so(begin: Begin, stub: Stub) -> None:
    talk = begin()
    talk.events(1, 60)
    found = talk.settled(policy={"strategy": "window", "tokenLimit": 2_250})
    assert ranges(found["coverage"]["verbatim"]) == [(39, 60)]
    assert ranges(found["coverage"]["omitted"]) == [(1, 38)]
    assert found["coverage"]["summarised"] == []
    assert found["tokens"]["events"] == 2_200
    assert stub.calls == []


def test_a2_what_has_left_the_window_is_in_one_summary(begin: Begin, stub: Stub) -> None:
    talk = begin()
    talk.events(1, 60)
    found = talk.settled(**BASE)
    assert ranges(found["coverage"]["verbatim"]) == [(39, 60)]
    assert ranges(found["coverage"]["summarised"]) == [(1, 38)]
    assert found["coverage"]["omitted"] == []
    assert len(stub.calls) == 1
    roles = [one["role"] for one in found["messages"][:3]]
    assert roles == ["system", "user", "user"]


@pytest.mark.parametrize(
    ("changed", "shares"),
    [
        ({}, (2_250, 750)),
        ({"tokenLimit": 4_034}, (2_250, 750)),
        ({"split": {"stm": 1, "lts": 1}}, (1_500, 1_500)),
    ],
)
def test_a3_the_window_is_divided(
    begin: Begin, changed: dict[str, Any], shares: tuple[int, int]
) -> None:
    found = begin().context(**{**BASE, "policy": POLICY | changed})
    assert (found["tokens"]["stmBudget"], found["tokens"]["ltsBudget"]) == shares
    assert (found["tokens"]["system"], found["tokens"]["reserved"]) == (232, 800)


def test_a4_the_summary_has_four_characters_for_each_token(begin: Begin, stub: Stub) -> None:
    talk, stub.length = begin(), 9_000
    talk.events(1, 54)
    talk.settled(**BASE)
    (summary,) = talk.summaries()
    assert summary["charLimit"] == 3_000
    assert all("3000" in text for text in stub.texts)
    assert len(stub.calls) == 2, "once more, and then no more"
    assert 0 < len(summary["text"]) <= 3_000
    assert summary["cut"]


def test_a5_a6_a7_all_at_once_until_it_is_too_much(begin: Begin, stub: Stub) -> None:
    talk = begin()
    talk.events(1, 54)
    talk.settled(**BASE)
    assert len(stub.calls) == 1
    (first,) = talk.summaries()
    assert (first["kind"], covered([first])) == ("full", [(1, 32)])
    assert first["inputs"] == {"firstSeq": 1, "lastSeq": 32}
    assert all(f"[{number}]" in stub.texts[0] for number in range(1, 33))
    assert "[33]" not in stub.texts[0]

    talk.events(55, 55)
    found = talk.settled(**BASE)
    assert len(stub.calls) == 2
    (second,) = talk.summaries()
    assert (second["kind"], covered([second])) == ("recursive", [(1, 33)])
    assert second["previousSummaries"] == [first["name"]]
    assert first["text"] in stub.texts[1]
    assert [n for n in range(1, 56) if f"[{n}]" in stub.texts[1]] == [33]
    assert ranges(found["coverage"]["summarised"]) == [(1, 33)]
    assert ranges(found["coverage"]["verbatim"]) == [(34, 55)]


@pytest.mark.parametrize(("tokens", "kind"), [(68, "full"), (69, "recursive")])
def test_a6_the_full_prompt_may_have_3272_tokens(begin: Begin, tokens: int, kind: str) -> None:
    talk = begin()
    talk.events(1, 32)
    talk.events(33, 33, tokens)
    talk.events(34, 54)
    talk.settled(**BASE)
    assert covered(talk.summaries()) == [(1, 32)]
    talk.events(55, 55)
    talk.settled(**BASE)
    (summary,) = talk.summaries()
    # 32 * 100 + 68 + 4 is 3,272.
    assert (summary["kind"], covered([summary])) == (kind, [(1, 33)])


def test_a8_no_prompt_is_over_the_limit(begin: Begin, http: Any) -> None:
    dice = random.Random(8)
    refused = 0
    for _ in range(25):
        talk = begin()
        sizes = [dice.choice([0, 1, 30, 400, 3_000]) for _ in range(dice.randint(1, 40))]
        told = [said(dice.choice(["user", "agent"]), "x" * size) for size in sizes]
        ok(http.post(f"{talk.name}/events:batch", json={"events": told}))
        limit, reserved = dice.randint(50, 1_500), dice.randint(0, 60)
        prompt, pending = dice.randint(0, 400), dice.randint(0, 400)
        asked = {
            "policy": {"strategy": "agent_summary", "reserveOutputTokens": reserved},
            "tokenLimit": limit,
            "systemPrompt": "s" * prompt,
            "pendingMessage": "p" * pending,
        }
        answer = talk.ask(consistency="wait", **asked)
        if -(-prompt // 4) + -(-pending // 4) > limit - reserved:
            assert detail(answer)["reason"] == "BUDGET_TOO_SMALL"
            refused += 1
            continue
        found = ok(answer)
        tokens = found["tokens"]
        assert tokens["total"] + reserved <= limit
        check_partition(found)
    assert 0 < refused < 25


def test_a9_templates_ask_for_points_decisions_and_actions(begin: Begin) -> None:
    talk = begin()
    talk.events(1, 54)
    talk.settled(**BASE)
    talk.events(55, 55)
    talk.settled(**BASE)
    templates = {one["template"] for one in talk.summaries(None)}
    assert len(templates) == 2
    for template in templates:
        assert all(word in template for word in ("points", "decisions", "actions"))
        assert "{char_limit}" in template


def test_a10_what_exactly_fits_needs_no_summary(begin: Begin, stub: Stub) -> None:
    talk = begin()
    talk.events(1, 10, 225)
    found = talk.settled(**BASE)
    assert ranges(found["coverage"]["verbatim"]) == [(1, 10)]
    assert stub.calls == []
    talk.events(11, 11, 225)
    found = talk.settled(**BASE)
    assert ranges(found["coverage"]["verbatim"]) == [(2, 11)]
    assert len(stub.calls) == 1


def test_a11_without_a_new_event_no_call_is_made(begin: Begin, stub: Stub) -> None:
    talk = begin()
    talk.events(1, 30)
    assert talk.settled(**BASE) == talk.settled(**BASE) == talk.context(**BASE)
    assert len(stub.calls) == 1


def _singly(talk: Dialogue, low_water: float) -> None:
    asked = {**BASE, "policy": POLICY | {"lowWater": low_water}}
    for number in range(1, 101):
        talk.events(number, number)
        found = talk.settled(**asked)
        assert found["coverage"]["omitted"] == []


@pytest.mark.parametrize(("low_water", "calls"), [(0.8, 16), (1.0, 78)])
def test_a12_low_water_makes_summaries_seldom(
    begin: Begin, stub: Stub, low_water: float, calls: int
) -> None:
    _singly(begin(), low_water)
    assert len(stub.calls) == calls
