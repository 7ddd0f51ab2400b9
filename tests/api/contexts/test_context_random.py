"""Whatever a session is like: every event is in one place, in its order, and the budget is kept."""

import random
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import settings

from app.kernel.clock import FixedClock
from app.kernel.wire.memory_policy import CarryOver
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, ok
from tests.support.contexts import context, ranges, said, talk
from tests.support.sessions import new_path

_SESSIONS = settings().max_examples * 6 // 100
"""More of them by `make test-nightly`."""
_POLICIES: list[Json] = [
    {"strategy": "none"},
    {"strategy": "inclusive", "onOverflow": "omit"},
    {"strategy": "window", "window": 3},
    {"strategy": "every_n", "every": 2, "summaryTokens": 30},
    {"strategy": "abstraction_inclusive", "cap": 3, "maxAbstractions": 2, "summaryTokens": 30},
    {"strategy": "fully_abstracted", "cap": 2, "keepRecent": 1, "summaryTokens": 30},
    {"strategy": "agent_summary", "lowWater": 0.8, "reserveOutputTokens": 50},
]
_FORMATS = ["messages", "openai", "gemini", "text"]


def _speech(dice: random.Random) -> list[Json]:
    words = ["we", "could", "go", "by", "train", "or", "plane", "then", "stay", "some", "days"]
    found: list[Json] = []
    for number in range(dice.randint(1, 14)):
        author = dice.choice(["user", "agent", "agent", "system"]) if number else "user"
        length = dice.choice([0, 3, 12, 12, 40, 200])
        text = f"{number}: " + " ".join(dice.choices(words, k=length)) + "."
        found.append(said(author, text))
    return found


async def _live(client: httpx.AsyncClient, path: str, runner: Runner, dice: random.Random) -> int:
    """Let a session live on for a while; return the number of its last event."""
    for _ in range(dice.randint(1, 3)):
        await talk(client, path, _speech(dice))
        if dice.random() < 0.4:
            await runner.run_pending()
        page = ok(await client.get(f"{path}/events", params={"pageSize": 100}))["sessionEvents"]
        if dice.random() < 0.4:
            erased = dice.choice(page)["name"].rpartition("/")[2]
            ok(await client.delete(f"{path}/events/{erased}"))
        if dice.random() < 0.15:
            ok(await client.post(f"{path}:clear"))
    if dice.random() < 0.6:
        await runner.run_pending()
    seq: int = (await context(client, path, policy={"strategy": "none"}))["lastSeq"]
    return seq


def _check(found: Json, last: int, limit: int) -> None:
    coverage = found["coverage"]
    told = [ranges(coverage[part]) for part in ("omitted", "summarised", "verbatim")]
    seqs = [seq for part in told for first, end in part for seq in range(first, end + 1)]
    assert sorted(seqs) == list(range(1, last + 1)), coverage
    # Oldest first, in each part and between them.
    assert all(part == sorted(part) for part in told)
    shown = [*told[1], *told[2]]
    assert shown == sorted(shown)
    tokens = found["tokens"]
    parts = ("system", "summaries", "events", "memories", "pending", "framingTokens")
    carried = tokens.get("carriedOver", 0)
    assert carried <= found["policy"].get("carryOverTokens", 0)
    assert tokens["total"] == carried + sum(tokens[part] for part in parts)
    assert tokens["total"] + tokens["reserved"] <= limit


def _shown_tokens(found: Json) -> int:
    """Count what a model is sent, by the characters of its texts."""
    if "text" in found:
        return -(-len(found["text"]) // 4)
    if "messages" in found:
        return sum(-(-len(one["content"]) // 4) for one in found["messages"])
    parts = list(found.get("systemInstruction", {}).get("parts", []))
    parts += [part for one in found["contents"] for part in one["parts"]]
    return sum(-(-len(part["text"]) // 4) for part in parts)


@pytest.mark.parametrize("policy", _POLICIES, ids=lambda one: str(one["strategy"]))
async def test_every_event_is_in_one_place_and_the_budget_is_kept(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, policy: dict[str, Any]
) -> None:
    for seed in range(_SESSIONS):
        dice = random.Random(f"{policy['strategy']} {seed}")
        # The sessions of former rounds are the user's former sessions.
        clock.advance(timedelta(minutes=1))
        mode, most = [None, *CarryOver][seed % 4], (16, 60, 300)[seed % 3]
        carried = {} if mode is None else {"carryOver": mode, "carryOverTokens": most}
        path = await new_path(client, memoryPolicy={**policy, **carried, "tokenLimit": 2_000})
        last = await _live(client, path, runner, dice)
        for _ in range(2):
            limit = dice.choice([100, 150, 200, 400, 2_000])
            asked = {"tokenLimit": limit, "format": dice.choice(_FORMATS)}
            prompt = {"systemPrompt": "s" * 60, "pendingMessage": "p" * dice.choice([4, 80])}
            found = await context(client, path, **asked, **prompt)
            _check(found, last, limit)
            tokens = found["tokens"]
            assert _shown_tokens(found) <= tokens["total"]
