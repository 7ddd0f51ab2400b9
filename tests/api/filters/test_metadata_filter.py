"""Filters by metadata as text, in lists, retrieval and purge: they mean what `filterGroups` do."""

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import BAD, Json, field_of, listed, ok, refusal, retrieved
from tests.support.bound import bound_client
from tests.support.cases import in_one_test
from tests.support.operations import create_memory

_MEMORIES: dict[str, Json] = {
    "tea": {
        "src": {"stringValue": "mail"},
        "k.x": {"stringValue": "dotted"},
        "price": {"doubleValue": 2},
        "seen": {"boolValue": True},
        "when": {"timestampValue": "2026-01-01T10:00:00.900Z"},
    },
    "coffee": {
        "src": {"stringValue": "chat"},
        "price": {"doubleValue": 10.5},
        "seen": {"boolValue": False},
        "when": {"timestampValue": "2026-01-02T10:00:00Z"},
    },
    "milk": {
        "price": {"stringValue": "2"},
        "seen": {"stringValue": "true"},
        "when": {"stringValue": "2026-01-02T10:00:00Z"},
    },
    "plain": {},
}
_ALL = set(_MEMORIES)
_TEN = {"timestampValue": "2026-01-01T10:00:00Z"}

# A filter, the facts that it finds, and the groups that mean the same where one condition does.
_CASES: list[tuple[str, set[str], Json | None]] = [
    ('metadata.src="mail"', {"tea"}, {"key": "src", "value": {"stringValue": "mail"}}),
    ("metadata.src=mail", {"tea"}, {"key": "src", "value": {"stringValue": "mail"}}),
    (
        'metadata.src!="mail"',
        {"coffee", "milk", "plain"},
        {"key": "src", "value": {"stringValue": "mail"}, "negate": True},
    ),
    ('metadata."k.x"="dotted"', {"tea"}, {"key": "k.x", "value": {"stringValue": "dotted"}}),
    ("metadata.'k.x'!='dotted'", _ALL - {"tea"}, None),
    ('metadata.src="Mail"', set(), None),
    ("metadata.nothing=1", set(), {"key": "nothing", "value": {"doubleValue": 1}}),
    (
        "metadata.nothing!=1",
        _ALL,
        {"key": "nothing", "value": {"doubleValue": 1}, "negate": True},
    ),
    ("metadata.price=2", {"tea"}, {"key": "price", "value": {"doubleValue": 2}}),
    ("metadata.price=2.0", {"tea"}, None),
    ('metadata.price="2"', {"milk"}, {"key": "price", "value": {"stringValue": "2"}}),
    (
        "metadata.price>2",
        {"coffee"},
        {"key": "price", "value": {"doubleValue": 2}, "op": "GREATER_THAN"},
    ),
    ("metadata.price>=2", {"tea", "coffee"}, None),
    (
        "metadata.price<1.05e1",
        {"tea"},
        {"key": "price", "value": {"doubleValue": 10.5}, "op": "LESS_THAN"},
    ),
    ("metadata.price<=10.5", {"tea", "coffee"}, None),
    ("metadata.price>-3", {"tea", "coffee"}, None),
    ("NOT metadata.price>2", {"tea", "milk", "plain"}, None),
    ("metadata.seen=true", {"tea"}, {"key": "seen", "value": {"boolValue": True}}),
    ("metadata.seen!=false", {"tea", "milk", "plain"}, None),
    ('metadata.seen="true"', {"milk"}, {"key": "seen", "value": {"stringValue": "true"}}),
    ("metadata.when=2026-01-01T10:00:00Z", {"tea"}, {"key": "when", "value": _TEN}),
    ("metadata.when=2026-01-01T11:00:00+01:00", {"tea"}, None),
    ("metadata.when!=2026-01-01T10:00:00Z", _ALL - {"tea"}, None),
    ("metadata.when=2026-01-02T10:00:00Z", {"coffee"}, None),
    (
        'metadata.when="2026-01-02T10:00:00Z"',
        {"milk"},
        {"key": "when", "value": {"stringValue": "2026-01-02T10:00:00Z"}},
    ),
    (
        'metadata.when>"2026-01-01T10:00:00Z"',
        {"coffee"},
        {"key": "when", "value": _TEN, "op": "GREATER_THAN"},
    ),
    ("metadata.when>=2026-01-01T10:00:00Z", {"tea", "coffee"}, None),
    ('metadata.when<"2026-01-02"', {"tea"}, None),
    ("metadata.src:*", {"tea", "coffee"}, None),
    ('NOT metadata."k.x":*', _ALL - {"tea"}, None),
    ("metadata.seen:* AND metadata.price>2", {"coffee"}, None),
    ('metadata.src="mail" OR metadata.price>10', {"tea", "coffee"}, None),
    ('metadata.src="mail" AND fact="coffee"', set(), None),
]


@pytest.fixture
async def filled(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """A client of a bank with the memories."""
    for fact, metadata in _MEMORIES.items():
        await create_memory(client, fact, metadata=metadata)
    return client


async def test_a_list_is_filtered_as_filter_groups_filter_a_retrieval(
    filled: httpx.AsyncClient,
) -> None:
    for text, facts, condition in _CASES:
        assert (text, set(await listed(filled, filter=text))) == (text, facts)
        assert (text, set(await retrieved(filled, filter=text))) == (text, facts)
        if condition is not None:
            groups = [{"filters": [condition]}]
            assert (text, set(await retrieved(filled, filterGroups=groups))) == (text, facts)


@in_one_test(
    ("text", "told"),
    [
        ("metadata.src:mail", "the value after a colon must be a bare *"),
        ('metadata.src:"*"', "the value after a colon must be a bare *"),
        ('metadata.src=~".*"', 'metadata."key" takes the operators != : < <= = > >='),
        ('metadata.src>"mail"', "a number without quotes or an ISO 8601 moment"),
        ('metadata.price<"2"', "a number without quotes or an ISO 8601 moment"),
        ("metadata.seen<=true", "a number without quotes or an ISO 8601 moment"),
        ("metadata.price>1e999", "a number without quotes or an ISO 8601 moment"),
        ('metadata="mail"', 'must name a key: metadata."key".'),
        ("metadata:src", 'must name a key: metadata."key".'),
        ("metadata.k.x=1", 'metadata."key"'),
    ],
)
async def test_what_metadata_cannot_be_asked_is_refused_by_name(
    client: httpx.AsyncClient, text: str, told: str
) -> None:
    for answer in (
        await client.get("/memories", params={"filter": text}),
        await client.post("/memories:purge", json={"filter": text, "force": True}),
    ):
        assert refusal(answer) == BAD
        assert field_of(answer) == "filter"
        error = answer.json()["error"]
        assert told in error["message"]
        assert {one.get("reason") for one in error["details"]} >= {"FILTER_INVALID"}


async def test_a_purge_takes_the_same_filter(filled: httpx.AsyncClient) -> None:
    body = {"filter": 'metadata.price>=2 OR metadata."k.x"="dotted"'}
    counted = ok(await filled.post("/memories:purge", json=body))
    assert counted["response"]["purgeCount"] == 2
    assert set(await listed(filled)) == _ALL
    done = ok(await filled.post("/memories:purge", json={**body, "force": True}))
    assert done["response"]["purgeCount"] == 2
    assert set(await listed(filled)) == {"milk", "plain"}


async def test_a_bound_key_finds_its_own_alone(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    metadata = {"src": {"stringValue": "mail"}}
    await create_memory(client, "Mine.", {"user_id": "42"}, metadata=metadata)
    await create_memory(client, "Theirs.", {"user_id": "7"}, metadata=metadata)
    text = 'metadata.src="mail"'
    async with await bound_client(app, database, clock, {"user_id": ["42"]}) as bound:
        assert await listed(bound, filter=text) == ["Mine."]
        assert await listed(bound, filter='NOT metadata.src="chat"') == ["Mine."]
        done = ok(await bound.post("/memories:purge", json={"filter": text, "force": True}))
    assert done["response"]["purgeCount"] == 1
    assert await listed(client) == ["Theirs."]
