"""Replies of weak models: what is good becomes memories, what is bad is counted."""

import json
from collections.abc import Sequence

import httpx
import pytest
from prometheus_client import REGISTRY

from app.adapters.llm.replies import CutText
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, listed, ok
from tests.support.generation import run, said, start
from tests.support.operations import create_memory
from tests.support.scripted import confirmed, fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

TEA, OSLO, CELLO = "I like green tea.", "I live in Oslo.", "I play the cello."
TALK = (TEA, OSLO, CELLO)


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


def told(*texts: str) -> list[Json]:
    """Return facts, each with the number of its line."""
    return [fact(text, line=TALK.index(text)) for text in texts]


def metric(entries: str, reading: str) -> float:
    labels = {"model": "scripted:1", "list": entries, "reading": reading}
    return REGISTRY.get_sample_value("memory_bank_model_entries_total", labels) or 0


def two_objects(*texts: str) -> str:
    return "\n".join(json.dumps(facts(one)) for one in told(*texts))


@pytest.mark.parametrize(
    "reply",
    [
        two_objects(*TALK),
        f"{json.dumps(facts(*told(*TALK)))}\n{json.dumps(facts())}",
        "\n".join(map(json.dumps, told(*TALK))),
        json.dumps(told(*TALK)),
        json.dumps({"answer": facts(*told(*TALK))}),
        repr(facts(*told(*TALK))),
        json.dumps(facts(*told(*TALK)))[:-2] + ",]}",
    ],
)
async def test_all_of_a_reply_counts(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], reply: str
) -> None:
    script.append(reply)

    await run(client, runner, said(*TALK))

    assert sorted(await listed(client)) == sorted(TALK)


async def test_one_bad_entry_costs_one_entry_and_is_counted(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    bad: Json = {"fact": CELLO, "line": 2}
    mended = {**told(OSLO)[0], "topics": "USER_PREFERENCES", "line": None}
    script.append(facts(*told(TEA), bad, mended))
    before = {kind: metric("facts", kind) for kind in ("SOUND", "MENDED", "UNREADABLE")}

    operation = await run(client, runner, said(*TALK))

    assert sorted(await listed(client)) == sorted([TEA, OSLO])
    metadata = operation["metadata"]
    assert metadata["modelCallCount"] == 1
    assert metadata["droppedFactCounts"] == {"UNREADABLE": 1}
    assert metadata["mendedEntryCounts"] == {"facts": 1}
    assert metadata["unreadableEntryCounts"] == {"facts": 1}
    assert "unsupportedFactCount" not in metadata
    assert {kind: metric("facts", kind) - count for kind, count in before.items()} == {
        "SOUND": 1,
        "MENDED": 1,
        "UNREADABLE": 1,
    }


async def test_a_line_whose_entry_was_lost_is_read_again(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    talk = _named(*TALK)
    script.append(facts(*told(TEA, OSLO), {"fact": CELLO, "line": 2}))
    await run(client, runner, talk)
    script += [facts(*told(CELLO)), confirmed(1)]

    again = await run(client, runner, talk)

    assert again["metadata"]["knownEventCount"] == 2
    assert "\n2 U" in model.prompts[1].text
    assert sorted(await listed(client)) == sorted(TALK)


async def test_an_entry_that_names_no_line_leaves_all_lines_without_facts_unread(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    talk = _named(*TALK)
    script += [{"facts": [*told(TEA), None]}, facts(*told(CELLO)), confirmed(1)]
    await run(client, runner, talk)

    again = await run(client, runner, talk)

    assert again["metadata"]["knownEventCount"] == 1


def _named(*texts: str) -> Json:
    events = [
        {"content": {"role": "user", "parts": [{"text": text}]}, "eventId": f"e{n}"}
        for n, text in enumerate(texts)
    ]
    return {"directContentsSource": {"events": events}}


def _cut(*entries: Json, after: str = "") -> CutText:
    return CutText(json.dumps(facts(*entries))[:-2] + f', {{"fact": "{after}')


async def test_a_reply_that_was_cut_off_is_asked_for_by_halves(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    script += [_cut(*told(TEA)), facts(*told(TEA)), facts(*told(OSLO, CELLO))]

    operation = await run(client, runner, said(*TALK))

    assert sorted(await listed(client)) == sorted(TALK)
    metadata = operation["metadata"]
    assert (metadata["halvedPieceCount"], metadata["modelCallCount"]) == (1, 3)
    assert "droppedFactCounts" not in metadata
    halves = [prompt.text.partition("\n")[2] for prompt in model.prompts]
    assert halves[0] == "\n".join(halves[1:])


async def test_a_half_that_is_cut_off_again_keeps_its_whole_entries(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    talk = _named(*TALK)
    script += [_cut(*told(TEA)), facts(*told(TEA)), _cut(*told(OSLO), after="I pl")]

    operation = await run(client, runner, talk)

    assert sorted(await listed(client)) == sorted([TEA, OSLO])
    assert operation["metadata"]["droppedFactCounts"] == {"UNREADABLE": 1}
    script += [facts(*told(CELLO)), confirmed(1)]
    again = await run(client, runner, talk)
    assert again["metadata"]["knownEventCount"] == 2
    assert sorted(await listed(client)) == sorted(TALK)


async def test_a_long_line_alone_is_halved(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    line = f"{TEA} {'Nothing else is worth a word. ' * 10}{OSLO}"
    script += [_cut(), facts(fact(TEA)), facts(fact(OSLO)), confirmed(2)]

    await run(client, runner, said(line))

    assert sorted(await listed(client)) == sorted([TEA, OSLO])


@pytest.mark.parametrize("text", [TEA, " ".join([TEA] * 20)])
async def test_an_answer_that_never_has_a_whole_entry_is_a_failure(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], text: str
) -> None:
    script += [_cut()] * 3

    path = await start(client, said(text))
    await runner.run_pending()

    error = ok(await client.get(path))["error"]
    assert "cut off" in error["message"]
    assert error["details"][0]["reason"] == "MODEL_OUTPUT_INVALID"


async def test_verdicts_that_were_cut_off_are_asked_for_by_halves(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    cut = CutText(json.dumps(confirmed(2))[:-30])
    script += [facts(*map(_doubtful, (TEA, OSLO))), cut, confirmed(1), confirmed(1)]

    operation = await run(client, runner, said(*TALK))

    assert sorted(await listed(client)) == sorted([TEA, OSLO])
    assert operation["metadata"]["verifiedFactCount"] == 2


def _doubtful(text: str) -> Json:
    return fact(text, f"U: {text}", TALK.index(text))


async def test_a_fact_whose_verdict_was_lost_is_read_again_if_it_was_doubtful(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    talk = _named(*TALK)
    judged = verdicts(verdict("add"), {"holds": True, "action": "add"})
    script += [facts(*map(_doubtful, (TEA, OSLO))), judged]

    operation = await run(client, runner, talk)

    assert await listed(client) == [TEA]
    assert operation["metadata"]["droppedFactCounts"] == {"NOT_VERIFIED": 1, "UNREADABLE": 1}
    assert operation["metadata"]["unreadableEntryCounts"] == {"verdicts": 1}
    script += [facts(*map(_doubtful, (OSLO,))), confirmed(1)]
    again = await run(client, runner, talk)
    # The line about the cello left nothing.
    assert again["metadata"]["knownEventCount"] == 2
    assert sorted(await listed(client)) == sorted([TEA, OSLO])


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ({"action": "none", "memory": ""}, ["I live in Bergen.", "I live in Oslo."]),
        ({"action": "NOOP", "memory": None}, ["I live in Bergen.", "I live in Oslo."]),
        ({"action": "REPLACE", "memory": 1, "text": "I live in Oslo."}, ["I live in Oslo."]),
        ({"action": "update", "memory": "M1", "text": "I live in Oslo."}, ["I live in Oslo."]),
        ({"action": "merge", "memory": "[m1]", "text": "I live in Oslo."}, ["I live in Oslo."]),
        ({"action": "Remove", "memory": "memory 1"}, ["I live in Oslo."]),
    ],
)
async def test_a_verdict_in_other_words_is_carried_out(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    decision: Json,
    expected: Sequence[str],
) -> None:
    await create_memory(client, "I live in Bergen.")
    script += [facts(fact(OSLO)), verdicts({"fact": "0", "holds": True, **decision})]

    operation = await run(client, runner, said(OSLO))

    assert sorted(await listed(client)) == expected
    assert "refusedDecisionCounts" not in operation["metadata"]


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        (TEA, f"U: {TEA}"),
        (TEA, f"0 U: {TEA}"),
        (TEA, f"USER: {TEA}"),
        ("I like green tea with milk and sugar.", "I like green ... and sugar."),
        ("I like green tea with milk and sugar.", "I like green tea \u2026 and sugar."),
        ("I realy like green tea.", "I really like green tea."),
        ("I like grean tea.", "I like green tea."),
        ("I like tea from Brown & Sons.", "I like tea from Brown &amp; Sons."),
        ("I like Kim&#39;s green tea.", "I like Kim's green tea."),
        ("I like green  tea and icecream.", "I like green tea and ice cream."),
        (
            "\u79c1\u306f \u7dd1\u8336\u304c \u597d\u304d\u3067\u3059\u3002",
            "\u79c1\u306f\u7dd1\u8336\u304c\u597d\u304d\u3067\u3059\u3002",
        ),
    ],
)
async def test_a_near_quote_is_asked_about_with_the_words_that_were_said(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    line: str,
    quote: str,
) -> None:
    script += [facts(fact(line, quote)), confirmed(1)]

    operation = await run(client, runner, said(line))

    assert await listed(client) == [line]
    assert operation["metadata"]["verifiedFactCount"] == 1
    assert quote not in model.prompts[1].text


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        ("Our [green tea](https://tea.example/a) is gone.", "Our green tea is gone."),
        ("Our [green tea] [1] is gone. [1]: https://tea.example", "Our green tea is gone."),
        ("Our green tea <https://tea.example> is gone.", "Our green tea is gone."),
    ],
)
async def test_the_text_of_a_link_is_a_near_quote(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], line: str, quote: str
) -> None:
    script += [facts(fact(quote, quote)), confirmed(1)]

    operation = await run(client, runner, said(line))

    assert await listed(client) == [quote]
    assert operation["metadata"]["verifiedFactCount"] == 1


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        ("I was born in 1984 in Graz.", "I was born in 1985 in Graz."),
        ("I like green tea.", "I hate black coffee."),
        ("I like green tea.", "tea"[:1] + "I"),
        ("We went to the sea in May.", "We moved to the city in June."),
    ],
)
async def test_words_that_nobody_said_are_no_near_quote(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], line: str, quote: str
) -> None:
    script.append(facts(fact("I like green tea.", quote)))

    operation = await run(client, runner, said(line))

    assert operation["metadata"]["droppedFactCounts"] == {"NO_QUOTE": 1}


@pytest.mark.parametrize(
    ("line", "is_read"),
    [
        ("I type ``` around code, and I like green tea.", True),
        ("I type ```x = 1``` for code, and I like green tea.", True),
        ("With ``` and ``` around it. I like green tea.", True),
        ("Mine is this:\n```\nI like green tea.\n```", False),
        ("Mine is this: ```python\nI like green tea.\n```", False),
        ("```I like green tea.", False),
    ],
)
async def test_a_fence_within_a_line_stays_in_what_is_read(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    line: str,
    *,
    is_read: bool,
) -> None:
    script += [facts(), facts()]

    await run(client, runner, said("Hello.", line))

    assert ("I like green tea" in model.prompts[0].text) == is_read
