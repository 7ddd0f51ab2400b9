"""`memories:recall`: what a scope holds on a query, and answers made from it."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.usage.store import ModelUsageRow
from tests.support.bank import Json, ok
from tests.support.bound import bound_client
from tests.support.cases import in_one_test
from tests.support.contexts import said, talk
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory
from tests.support.scripted import written_by
from tests.support.scripted_models import Reply, ScriptedTextModel
from tests.support.sessions import events, new_path

SCOPE = {"user_id": "42"}
QUERY = "Which hotel in Lisbon?"
BEGIN = "2026-01-15T12:00:00Z"
NEXT_DAY = "2026-01-16T12:00:00Z"


@pytest.fixture
def script() -> list[Reply]:
    return [{"text": "The Viking.", "seqs": [2, 3]}]


@pytest.fixture
def model(script: list[Reply]) -> ScriptedTextModel:
    return ScriptedTextModel(script)


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


@pytest.fixture
async def names(client: httpx.AsyncClient, clock: FixedClock) -> list[str]:
    """Two memories a day apart, then a session of the same user; return all their names."""
    first = await create_memory(client, "The hotel in Lisbon is the Aurora.")
    await create_memory(client, "A hotel of others.", scope={"user_id": "7"})
    clock.advance(timedelta(days=1))
    second = await create_memory(client, "I like tea.")
    path = await new_path(client)
    lines = ["The hotel in Lisbon is the Viking now.", "Thanks."]
    when = "2026-01-17T09:00:00Z"
    await talk(client, path, [said("user", line, timestamp=when) for line in lines])
    found = [one["name"] for one in await events(client, path)]
    return [first["name"], second["name"], *found]


async def _ask(client: httpx.AsyncClient, **asked: Any) -> httpx.Response:
    return await client.post("/memories:recall", json={"scope": SCOPE, "query": QUERY, **asked})


async def _recall(client: httpx.AsyncClient, **asked: Any) -> Json:
    return ok(await _ask(client, **asked))


async def test_facts_come_best_first(client: httpx.AsyncClient, names: list[str]) -> None:
    found = await _recall(client)
    distances = [fact.pop("distance") for fact in found["facts"]]
    assert distances == sorted(distances)
    assert found == {
        "mode": "extractive",
        "facts": [
            {
                "memory": names[0],
                "fact": "The hotel in Lisbon is the Aurora.",
                "changed": BEGIN,
                "tokens": 9,
            },
            {"memory": names[1], "fact": "I like tea.", "changed": NEXT_DAY, "tokens": 3},
        ],
        "spans": [],
        "tokens": 12,
        "counter": "chars4",
    }
    assert len((await _recall(client, topK=1))["facts"]) == 1


async def test_passages_of_the_user_s_sessions_follow(
    client: httpx.AsyncClient, names: list[str]
) -> None:
    found = await _recall(client, includeSessions=True)
    assert [fact["memory"] for fact in found["facts"]] == names[:2]
    (span,) = found["spans"]
    assert (span["event"], span["text"]) == (names[2], "The hotel in Lisbon is the Viking now.")
    assert span["session"] == names[2].rpartition("/events/")[0]
    assert found["tokens"] == 12 + span["tokens"]
    assert found["searched"] == {
        "sessions": 1,
        "events": 2,
        "oldestEventTime": "2026-01-17T09:00:00Z",
        "isComplete": True,
    }


@in_one_test(("most", "facts", "spans"), [(12, 1, 1), (19, 1, 1), (22, 2, 1), (8, 1, 1), (1, 0, 1)])
async def test_each_kind_takes_half_and_what_the_other_leaves(
    client: httpx.AsyncClient, most: int, facts: int, spans: int
) -> None:
    """The facts have 9 and 3 tokens, the passage has 10."""
    scope = {"user_id": f"u{most}"}
    await create_memory(client, "The hotel in Lisbon is the Aurora.", scope=scope)
    await create_memory(client, "I like tea.", scope=scope)
    path = await new_path(client, userId=scope["user_id"])
    await talk(client, path, [said("user", "The hotel in Lisbon is the Viking now.")])
    found = await _recall(client, scope=scope, includeSessions=True, maxTokens=most)
    assert (len(found["facts"]), len(found["spans"])) == (facts, spans)
    assert found["tokens"] <= most


async def test_filters_are_those_of_retrieval(client: httpx.AsyncClient) -> None:
    place = {"place": {"stringValue": "Lisbon"}}
    await create_memory(client, "The hotel is the Aurora.", metadata=place)
    await create_memory(client, "The hotel is the Viking.")
    found = await _recall(client, filter='fact:"Viking"')
    assert [fact["fact"] for fact in found["facts"]] == ["The hotel is the Viking."]
    groups = [{"filters": [{"key": "place", "value": {"stringValue": "Lisbon"}}]}]
    found = await _recall(client, filterGroups=groups)
    assert [fact["fact"] for fact in found["facts"]] == ["The hotel is the Aurora."]
    answer = await _ask(client, filter="mood=good")
    assert refusal(answer)[2] is Reason.FILTER_INVALID


class TestSummary:
    """Answers made from what was found."""

    async def test_one_call_answers_and_names_its_sources(
        self,
        client: httpx.AsyncClient,
        database: Database,
        names: list[str],
        model: ScriptedTextModel,
    ) -> None:
        found = await _recall(client, mode="summary", includeSessions=True)
        assert found.pop("usage")["modelCallCount"] == 1
        assert found.pop("searched")["events"] == 2
        assert found == {
            "mode": "summary",
            "facts": [],
            "spans": [],
            "text": "The Viking.",
            "sources": names[1:3],
            "isCut": False,
            "model": "scripted:1",
            "tokens": 3,
            "counter": "chars4",
        }
        (prompt,) = model.prompts
        assert "passages of a memory and of conversations" in prompt.instructions
        assert prompt.text.split("\n")[3:] == [
            "[1] 2026-01-15 memory: The hotel in Lisbon is the Aurora.",
            "[2] 2026-01-16 memory: I like tea.",
            "[3] 2026-01-17 user: The hotel in Lisbon is the Viking now.",
        ]
        async with database.snapshot() as session:
            kinds = (await session.execute(select(ModelUsageRow.kind))).scalars().all()
        assert kinds == ["recall"]

    @pytest.mark.parametrize("script", [[{"text": "Made up.", "seqs": [9]}]])
    async def test_an_answer_that_names_nothing_shown_is_refused(
        self, client: httpx.AsyncClient, names: list[str]
    ) -> None:
        assert names
        answer = await _ask(client, mode="summary")
        assert refusal(answer) == (502, "UNAVAILABLE", Reason.MODEL_OUTPUT_INVALID)
        assert "Made up" not in answer.text

    async def test_nothing_found_asks_no_model(
        self, client: httpx.AsyncClient, names: list[str], model: ScriptedTextModel
    ) -> None:
        assert names
        scope = {"user_id": "nobody"}
        found = await _recall(client, scope=scope, mode="summary", includeSessions=True)
        assert (found["text"], found["sources"], found["tokens"]) == ("", [], 0)
        assert not {"model", "usage"} & found.keys()
        assert model.asked == []

    async def test_without_a_model_facts_and_passages_come_back(
        self, client: httpx.AsyncClient, names: list[str], model: ScriptedTextModel
    ) -> None:
        asked = {"mode": "summary", "includeSessions": True, "model": "builtin"}
        found = await _recall(client, **asked)
        assert found["model"] == "builtin:extractive"
        assert found["text"].split("\n") == [
            "The hotel in Lisbon is the Aurora.",
            "I like tea.",
            "The hotel in Lisbon is the Viking now.",
        ]
        assert found["sources"] == names[:3]
        assert model.asked == []
        short = await _recall(client, **asked, maxTokens=13)
        assert 0 < short["tokens"] <= 13


class TestReach:
    """What a key must be allowed, and whose memories it reaches."""

    async def test_sessions_and_answers_take_permissions_of_their_own(
        self, app: FastAPI, database: Database, clock: FixedClock, names: list[str]
    ) -> None:
        assert names
        wanted: list[tuple[Json, str]] = [
            ({"includeSessions": True}, "events.list"),
            ({"mode": "summary"}, "memories.generate"),
        ]
        key = await make_key(database, clock.now(), permissions=["memories.retrieve"])
        async with client_with(app, key) as reader:
            assert (await _recall(reader))["facts"]
            for asked, permission in wanted:
                answer = await _ask(reader, **asked)
                assert answer.status_code == 403
                assert permission in answer.text
                both = ["memories.retrieve", permission]
                other = await make_key(database, clock.now(), permissions=both)
                async with client_with(app, other) as allowed:
                    await _recall(allowed, **asked)

    async def test_a_scope_out_of_reach_holds_nothing(
        self, app: FastAPI, database: Database, clock: FixedClock, names: list[str]
    ) -> None:
        assert names
        async with await bound_client(app, database, clock, {"user_id": ["7"]}) as other:
            theirs = await _recall(other, includeSessions=True)
            nobody = await _recall(other, scope={"user_id": "none"}, includeSessions=True)
            assert (theirs, theirs["facts"]) == (nobody, [])
            assert len((await _recall(other, scope={"user_id": "7"}))["facts"]) == 1


@in_one_test(
    ("asked", "field"),
    [
        ({"scope": {}}, "scope"),
        ({"scope": {"app": "x"}, "includeSessions": True}, "includeSessions"),
        ({"query": ""}, "query"),
        ({"counter": "by-feel"}, "counter"),
        ({"model": "nobody:else"}, "model"),
        ({"excludeRecent": 1}, "excludeRecent"),
    ],
)
async def test_bad_requests_name_the_field(
    client: httpx.AsyncClient, asked: Json, field: str
) -> None:
    answer = await _ask(client, **asked)
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == [field]
