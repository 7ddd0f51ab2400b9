"""P3 to P8, P11, P12 and X6: abstractions, one by one or in a cell, with the published sizes.

Exchanges have 100 tokens, the system prompt 400, summaries 250: every number is exact. The sources
know no marks around summaries.
"""

from typing import Any

import httpx
import pytest

from app.conversation.costs.logic import Sizes
from app.conversation.costs.service import blocks_of
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.summaries.logic import INSTRUCTIONS
from app.kernel.wire.memory_policy import MemoryPolicy
from tests.conformance.contexts.conftest import Begin
from tests.support.bank import Json, ok
from tests.support.contexts import SYSTEM, detail, ranges
from tests.support.dialogues import Dialogue, Stub, check_partition, covered, verbatim

LIST: dict[str, Any] = {"strategy": "abstraction_inclusive", "framing": False}
CELL: dict[str, Any] = {"strategy": "fully_abstracted", "framing": False}


def _figures(talk: Dialogue) -> tuple[int, int, int]:
    """Return the tokens of a context, its summaries, and its exchanges word for word."""
    found = talk.settled(systemPrompt=SYSTEM)
    assert found["coverage"]["omitted"] == []
    shown = len(verbatim(found))
    return found["tokens"]["total"], len(found["coverage"]["summarised"]), shown // 2


def _estimated(http: httpx.Client, engine: str, policy: Json, *messages: int) -> list[Json]:
    asked = {"messages": list(messages), "strategies": [policy]}
    rows: list[Json] = ok(http.post(f"{engine}/contextCosts:estimate", json=asked))["rows"]
    return rows


def test_p3_all_messages_and_the_first_that_is_too_many(begin: Begin) -> None:
    talk = begin(strategy="inclusive")
    talk.exchanges(1, 30)
    assert _figures(talk) == (3_400, 0, 30)
    talk.exchanges(31, 36)
    asked = {"systemPrompt": SYSTEM, "tokenLimit": 4_096}
    assert talk.context(**asked)["tokens"]["total"] == 4_000
    talk.exchanges(37, 37)
    answer = talk.ask(**asked)
    assert (answer.status_code, detail(answer)["reason"]) == (400, "BUDGET_TOO_SMALL")
    assert detail(answer)["metadata"]["needed"] == "4100"
    assert talk.context(systemPrompt=SYSTEM)["tokens"]["total"] == 4_100


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (LIST, {29: (1_800, 2, 9), 30: (1_150, 3, 0)}),
        (LIST | {"cap": 16}, {30: (2_050, 1, 14)}),
        (CELL, {29: (1_550, 1, 9), 30: (650, 1, 0)}),
    ],
)
def test_p4_p5_contexts_are_as_large_as_estimated(
    begin: Begin,
    http: httpx.Client,
    engine: str,
    policy: Json,
    told: dict[int, tuple[int, int, int]],
) -> None:
    talk = begin(**policy)
    for number in range(1, 31):
        talk.exchanges(number, number)
        figures = _figures(talk) if number % 10 in {0, 5, 6, 9} else None
        if figures is not None:
            (row,) = _estimated(http, engine, policy, number + 1)
            assert figures[0] + 100 == row["lastPromptTokens"]
        if number in told:
            assert figures == told[number]


def test_p5_each_cell_takes_up_the_one_before(begin: Begin, stub: Stub) -> None:
    talk = begin(**CELL)
    talk.exchanges(1, 29)
    talk.settled()
    assert [one["version"] for one in talk.summaries()] == [2]
    assert [one["version"] for one in talk.summaries(None)] == [1, 2]
    assert stub.text(1) in stub.texts[1]


def test_p6_a_list_of_abstractions_is_capped(begin: Begin) -> None:
    talk = begin(**LIST, maxAbstractions=4)
    for number in range(1, 101):
        talk.exchanges(number, number)
        if number % 10 in {0, 5}:
            found = talk.settled(systemPrompt=SYSTEM)
            assert len(found["coverage"]["summarised"]) <= 4
            assert found["coverage"]["omitted"] == []
    found = talk.settled(systemPrompt=SYSTEM)
    assert len(found["coverage"]["summarised"]) == 4
    merged = found["coverage"]["summarised"][0]
    assert merged["firstSeq"] == 1
    assert merged["lastSeq"] >= 140


def test_p7_the_newest_stay_word_for_word(begin: Begin, stub: Stub, http: httpx.Client) -> None:
    talk = begin(**LIST, keepRecent=4)
    talk.exchanges(1, 13)
    assert _figures(talk) == (1_700, 0, 13)
    assert stub.calls == []
    talk.exchanges(14, 14)
    assert _figures(talk) == (1_050, 1, 4)
    assert covered(talk.summaries()) == [(1, 20)]
    assert verbatim(talk.context()) == list(range(21, 29))
    engine = talk.name.partition("/sessions/")[0]
    for policy, tokens in ((LIST, 239_840), (CELL, 169_840)):
        tapered = policy | {"cap": 11, "keepRecent": 4}
        assert _estimated(http, engine, tapered, 100)[0]["totalTokens"] == tokens


@pytest.mark.parametrize(
    "policy",
    [{"strategy": "inclusive", "onOverflow": "omit"}, LIST | {"cap": 51}, CELL | {"cap": 45}],
)
def test_p8_no_context_is_over_4096(begin: Begin, policy: Json) -> None:
    talk = begin(**policy)
    for number in range(1, 47):
        talk.exchanges(number, number)
        if number >= 36:
            found = talk.settled(systemPrompt=SYSTEM, tokenLimit=4_096)
            assert found["tokens"]["total"] <= 4_096
            check_partition(found)


_TOLD = "Write it down, in brief, as it was said and meant.\n{previous_summary}\n{chat_transcript}"


def _overhead() -> tuple[str, int]:
    """Return a template, and the tokens of a call beside what it reads: a whole number.

    Twenty lines without labels have 19 line ends between them.
    """
    literal = _TOLD.format(previous_summary="", chat_transcript="")
    beside = len(INSTRUCTIONS) + len(literal) + 19
    padding = -beside % 4
    return "!" * padding + _TOLD, (beside + padding) // 4


@pytest.mark.parametrize("policy", [LIST, CELL, LIST | {"keepRecent": 4}])
def test_p11_the_estimate_is_what_was_used(
    begin: Begin, stub: Stub, http: httpx.Client, policy: Json
) -> None:
    template, overhead = _overhead()
    policy = {**policy, "template": template, "humanLabel": "", "aiLabel": ""}
    talk = begin(**policy)
    talk.exchanges(1, 30)
    talk.settled()
    sizes = Sizes(system=400, user=100, assistant=0, summary=250, overhead=overhead)
    summarising = rules_of(MemoryPolicy.model_validate(policy)).summarising
    assert summarising is not None
    part = blocks_of(summarising, sizes).summary_part(30)
    used = ok(http.get(f"{talk.name}/usage"))
    (model,) = used["models"]
    assert model["model"] == "openai:scripted"
    assert (
        model["callCount"],
        model["inputTokenCount"],
        model["outputTokenCount"],
    ) == (part.calls, part.tokens_in, part.tokens_out)
    assert len(stub.calls) == part.calls > 0
    assert (used["exchangeCount"], used["eventCount"]) == (30, 60)
    engine = talk.name.partition("/sessions/")[0]
    body = {"messages": [30], "summaryOverheadTokens": overhead, "strategies": [policy]}
    (row,) = ok(http.post(f"{engine}/contextCosts:estimate", json=body))["rows"]
    billed = row["billedTokens"]
    assert (row["summaries"], billed["summaryIn"], billed["summaryOut"]) == (
        part.calls,
        part.tokens_in,
        part.tokens_out,
    )


def test_p11_merges_are_estimated_as_they_are_made(
    begin: Begin, stub: Stub, http: httpx.Client, engine: str
) -> None:
    policy = LIST | {"cap": 5, "maxAbstractions": 3}
    talk = begin(**policy)
    for number in range(1, 31):
        talk.exchanges(number, number)
        talk.settled()
    (row,) = _estimated(http, engine, policy, 30)
    # Six blocks, and after the third each makes a merge of two.
    assert len(stub.calls) == row["summaries"] == 9
    used = ok(http.get(f"{talk.name}/usage"))["total"]
    assert used["outputTokenCount"] == row["billedTokens"]["summaryOut"] == 2_250
    kinds = [one["kind"] for one in talk.summaries(None)]
    assert (kinds.count("block"), kinds.count("merge")) == (6, 3)


def test_p9_summaries_by_another_model_cost_what_it_costs(
    begin: Begin, stub: Stub, http: httpx.Client
) -> None:
    talk = begin(**LIST | {"framing": True}, summaryModel="small")
    talk.exchanges(1, 10)
    found = talk.settled(model="openai:small")
    assert stub.models == ["small"]
    used = ok(http.get(f"{talk.name}/usage"))
    (model,) = used["models"]
    assert (model["model"], model["outputTokenCount"]) == ("openai:small", 250)
    spent = (model["inputTokenCount"] + 2 * 250) / 1_000_000
    assert model["cost"] == used["total"]["cost"] == {"amount": spent, "currency": "USD"}
    # 250 tokens of the summary, and 22 of the marks around it.
    assert (found["tokens"]["total"], found["tokens"]["framingTokens"]) == (272, 22)
    assert found["estimatedCost"] == {"amount": 0.000272, "currency": "USD"}


def test_p12_what_a_cell_has_forgotten_can_still_be_read(begin: Begin) -> None:
    talk = begin(**CELL, cap=11)
    talk.exchanges(1, 100)
    found = talk.settled(systemPrompt=SYSTEM)
    assert len(talk.stored()) == 200
    versions = talk.summaries(None)
    assert [one["version"] for one in versions] == list(range(1, 10))
    assert [one["state"] for one in versions] == ["superseded"] * 8 + ["active"]
    assert covered(versions) == [(1, 22 * number) for number in range(1, 10)]
    assert all(one["text"] for one in versions)
    assert ranges(found["coverage"]["verbatim"]) == [(199, 200)]


def test_x6_summaries_of_a_policy_wait_for_it_to_come_back(begin: Begin, stub: Stub) -> None:
    talk = begin(**LIST)
    talk.exchanges(1, 25)
    first = talk.settled()
    talk.follow(CELL)
    assert len(talk.settled()["coverage"]["summarised"]) == 1
    calls = len(stub.calls)
    assert calls == 4
    talk.follow(LIST)
    assert talk.settled() == first
    assert len(stub.calls) == calls
