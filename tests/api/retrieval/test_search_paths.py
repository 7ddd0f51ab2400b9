"""A search takes the reference path or the fast one: whatever it asks for, both answer the same.

Two processes share one database. One knows no engine, so that it always takes the reference path;
the other takes the fast one wherever that applies: without filters.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.memory.retrieval.jobs import IndexSweep
from app.memory.retrieval.store.fast_sql import MAX_SMALL_SCOPE
from app.memory.retrieval.store.nearest import POOL
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, configure, ok
from tests.support.operations import USER
from tests.support.paths import AT_ONCE, STEP_BY_STEP, Paths
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.statements import beside_admission, statements_on

AWAY = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
QUERY = "Which green boat did Anna paint in May 2024?"
FACTS = (
    "Anna painted boat {} green in May 2024.",
    "Do you know boat {}?",
    "I like green tea in the morning.",
    "Das Haus {} ist grün, und Boote sind rar.",
    "Work on the garden of house {} is due in March.",
)


class Size(NamedTuple):
    """The number of live memories of a scope, and whether the scope has an index."""

    memories: int
    is_indexed: bool = False


SIZES = {
    "few": Size(7),
    "more than are candidates": Size(POOL + 20),
    "more than a small scope has": Size(MAX_SMALL_SCOPE + 20),
    "enough for an index": Size(MAX_SMALL_SCOPE + 40, is_indexed=True),
}


class Order(NamedTuple):
    """The order of the answer, and the state of the model that embeds the query."""

    ranking: str | None
    is_lexical: bool = False
    failure: Exception | None = None


ORDERS = {
    "vector": Order("vector"),
    "hybrid": Order("hybrid"),
    "hybrid, vectors without meaning": Order("hybrid", is_lexical=True),
    "hybrid, model away": Order("hybrid", failure=AWAY),
    "newest": Order(None),
}


def _metadata_group(*conditions: Json) -> Json:
    return {"filterGroups": [{"filters": list(conditions)}]}


UNFILTERED: dict[str, Json] = {
    "all": {},
    "three": {"count": 3},
    "few tokens": {"maxTokens": 60},
    "the very fact": {"query": "I like green tea in the morning"},
    "other words": {"query": "When did Anna move?"},
    "no words": {"query": "😀"},
    "two types": {"memoryTypes": ["NATURAL_LANGUAGE_COLLECTION", "STRUCTURED_PROFILE"]},
}
FILTERED: dict[str, Json] = {
    "all by a filter": {"filter": 'create_time>"2000-01-01T00:00:00Z"'},
    "fact": {"filter": 'fact=~".*boat.*" AND NOT fact="Do you know boat 0?"'},
    "topic": {"filter": 'topics.custom_memory_topic_label: "boats"'},
    "time": {"filter": 'create_time<"2026-01-15T12:00:30Z"'},
    "metadata": {"filter": 'metadata.source="talk 1"'},
    "metadata groups": _metadata_group(
        {"key": "position", "value": {"doubleValue": 9}, "op": "LESS_THAN"},
        {"key": "source", "value": {"stringValue": "talk 0"}, "negate": True},
    ),
    "nothing": {"filter": 'fact="none"'},
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"scope_index_memories": 100})


@pytest.fixture
async def paths(resources: Resources) -> Paths:
    return await Paths.open(resources, ADMIN_KEY)


def _memory(number: int) -> Json:
    """Return a memory; some have the same fact, and with it the same vector."""
    memory: Json = {"fact": FACTS[number % 5].format(number // 15), "scope": USER}
    if number % 4:
        memory["metadata"] = {
            "source": {"stringValue": f"talk {number % 3}"},
            "position": {"doubleValue": number // 3},
        }
    if number % 3 == 0:
        memory["topics"] = [{"customMemoryTopicLabel": "boats"}]
    if number % 6 == 5:
        memory |= {"memoryType": "STRUCTURED_PROFILE"}
    return memory


async def _create(client: httpx.AsyncClient, *memories: Json) -> None:
    requests = [{"memory": memory} for memory in memories]
    ok(await client.post("/memories:batchCreate", json={"requests": requests}))


async def _fill(
    client: httpx.AsyncClient, clock: FixedClock, embedder: ScriptedEmbedder, live: int
) -> None:
    """Create the live memories, one without a vector, and some that have expired."""
    await _create(client, *(_memory(number) | {"ttl": "60s"} for number in range(20)))
    await _create(client, *map(_memory, range(live // 2)))
    clock.advance(timedelta(minutes=2))
    await _create(client, *map(_memory, range(live // 2, live - 1)))
    embedder.failure = AWAY
    await _create(client, _memory(live - 1))
    embedder.failure = None


@pytest.fixture
async def sweeping(resources: Resources) -> AsyncIterator[IndexSweep]:
    yield IndexSweep(resources)
    none = resources.settings.model_copy(update={"max_scope_indexes": 0})
    await IndexSweep(replace(resources, settings=none)).run()


def _body(order: Order, fields: Json) -> Json:
    most, query = fields.get("count", 100), fields.get("query", QUERY)
    body = {key: value for key, value in fields.items() if key not in {"count", "query"}}
    if order.ranking is None:
        body["simpleRetrievalParams"] = {"pageSize": most, "pageToken": ""}
    else:
        body["similaritySearchParams"] = {"searchQuery": query, "topK": most}
    return {"scope": USER, "explain": True, **body}


async def _answers(
    database: Database, client: httpx.AsyncClient, order: Order
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the answer to each request, and the path that it took."""
    answers, taken = {}, {}
    for name, fields in {**UNFILTERED, **FILTERED}.items():
        with statements_on(database, "") as sent:
            answer = await client.post("/memories:retrieve", json=_body(order, fields))
        answers[name] = {**ok(answer), "header": answer.headers.get("x-memory-bank-retrieval")}
        taken[name] = _path(sent)
    return answers, taken


def _path(sent: list[str]) -> str:
    """Return the path that sends these statements by the session; the fast one sends none."""
    others = beside_admission(sent)
    if any("FROM memories" in one for one in others):
        return STEP_BY_STEP
    return "\n".join(others) or AT_ONCE


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
async def test_both_paths_answer_the_same(
    database: Database,
    paths: Paths,
    clock: FixedClock,
    embedder: ScriptedEmbedder,
    sweeping: IndexSweep,
    size: Size,
) -> None:
    clients = paths.clients(ADMIN_KEY)
    client = clients[STEP_BY_STEP]
    await _fill(client, clock, embedder, size.memories)
    if size.is_indexed:
        await sweeping.run()
    for name, order in ORDERS.items():
        await configure(client, similaritySearchConfig={"ranking": order.ranking or "hybrid"})
        # The engine is read anew, since the second process hears nothing of the change.
        ok(await clients[AT_ONCE].post("/memories:retrieve", json=_body(order, {})))
        embedder.lexical_only, embedder.failure = order.is_lexical, order.failure
        answers, taken = await _answers(database, client, order)
        assert set(taken.values()) == {STEP_BY_STEP}
        fast_answers, taken = await _answers(database, clients[AT_ONCE], order)
        embedder.lexical_only, embedder.failure = False, None
        assert (name, fast_answers) == (name, answers)
        expected = {
            **dict.fromkeys(UNFILTERED, AT_ONCE),
            **dict.fromkeys(FILTERED, STEP_BY_STEP),
        }
        assert (name, taken) == (name, expected)
        _check_answers(answers, order)


def _check_answers(answers: dict[str, Any], order: Order) -> None:
    """Check that the requests differ, and that the answers have the wanted order."""
    hits = {name: answer["retrievedMemories"] for name, answer in answers.items()}
    assert hits.pop("nothing") == []
    assert all(hits.values())
    assert hits["all by a filter"] == hits["all"]
    assert len(hits["three"]) == 3
    assert all(one["explanation"].get("ranking") == order.ranking for one in hits["all"])
    has_distances = any("vectorDistance" in one["explanation"] for one in hits["all"])
    assert has_distances is (
        order.ranking is not None and not order.is_lexical and not order.failure
    )
    header = "lexical" if order.failure else None
    assert {answer["header"] for answer in answers.values()} == {header}
