"""Filters of a retrieval: wire specification, sections 7.1 and 14."""

from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.support.bank import Json, field_of, retrieved
from tests.support.operations import USER, create_memory

SEARCH = {"similaritySearchParams": {"search_query": "q", "top_k": 100}}
_MEMORIES: dict[str, Json] = {
    "tea": {
        "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
        "metadata": {
            "src": {"stringValue": "mail"},
            "price": {"doubleValue": 2},
            "seen": {"boolValue": True},
            "when": {"timestampValue": "2026-01-01T10:00:00.900Z"},
        },
    },
    "coffee": {
        "topics": [
            {"managedMemoryTopic": "USER_PERSONAL_INFO"},
            {"customMemoryTopicLabel": "my label"},
        ],
        "metadata": {
            "src": {"stringValue": "chat"},
            "price": {"doubleValue": 10.5},
            "seen": {"boolValue": False},
            "when": {"timestampValue": "2026-01-02T10:00:00Z"},
        },
    },
    "milk": {"metadata": {"price": {"stringValue": "2"}}},
    "plain": {},
}


async def _stage(client: httpx.AsyncClient, clock: FixedClock) -> None:
    for fact, fields in _MEMORIES.items():
        await create_memory(client, fact, **fields)
        clock.advance(timedelta(minutes=1))


async def _check(client: httpx.AsyncClient, cases: list[tuple[Json, set[str]]]) -> None:
    """Both kinds of retrieval must answer the same."""
    for body, facts in cases:
        assert (body, set(await retrieved(client, **body))) == (body, facts)
        assert (body, set(await retrieved(client, **body, **SEARCH))) == (body, facts)


async def test_filter(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _stage(client, clock)
    cases: dict[str, set[str]] = {
        "": {"tea", "coffee", "milk", "plain"},
        'fact="tea"': {"tea"},
        'fact=~".*ee"': {"coffee"},
        'fact=~"ee"': set(),
        'fact!="tea"': {"coffee", "milk", "plain"},
        'create_time<"2026-01-15T12:01:00Z"': {"tea"},
        'create_time>="2026-01-15T13:02:00+01:00"': {"milk", "plain"},
        'update_time="2026-01-15T12:03:00Z"': {"plain"},
        "topics.managed_memory_topic: USER_PREFERENCES": {"tea"},
        "topics.custom_memory_topic_label: my": set(),
        'topics.custom_memory_topic_label: "my label"': {"coffee"},
        "topics.managed_memory_topic: USER_PREFERENCES OR "
        "topics.managed_memory_topic: USER_PERSONAL_INFO": {"tea", "coffee"},
        'NOT (fact="tea" OR fact="milk")': {"coffee", "plain"},
        'fact="tea" AND update_time>"2030-01-01T00:00:00Z"': set(),
    }
    await _check(client, [({"filter": text}, facts) for text, facts in cases.items()])


def _one(key: str, value: Json, op: str | None = None, **more: object) -> Json:
    """Return a condition on a key of the metadata, as the official client writes it."""
    return {"key": key, "value": value, **({"op": op} if op else {}), **more}


def _groups(*groups: list[Json]) -> Json:
    return {"filterGroups": [{"filters": filters} for filters in groups]}


async def test_filter_groups_are_or_of_and(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _stage(client, clock)
    mail = _one("src", {"string_value": "mail"}, "EQUAL", negate=False)
    chat = _one("src", {"string_value": "chat"})
    cheap = _one("price", {"double_value": 5}, "LESS_THAN")
    await _check(
        client,
        [
            (_groups([mail]), {"tea"}),
            (_groups([mail, chat]), set()),
            (_groups([mail], [chat]), {"tea", "coffee"}),
            (_groups([mail, cheap], [chat, cheap]), {"tea"}),
            ({"filter_groups": [{"filters": [mail]}]}, {"tea"}),
            ({"filterGroups": []}, {"tea", "coffee", "milk", "plain"}),
        ],
    )


async def test_operators_compare_values_of_one_type(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _stage(client, clock)
    moment = {"timestampValue": "2026-01-01T10:00:00Z"}
    await _check(
        client,
        [
            (_groups([_one("price", {"doubleValue": 2}, "OPERATOR_UNSPECIFIED")]), {"tea"}),
            (_groups([_one("price", {"doubleValue": 2}, "GREATER_THAN")]), {"coffee"}),
            (_groups([_one("price", {"doubleValue": 2.1}, "LESS_THAN")]), {"tea"}),
            (_groups([_one("price", {"stringValue": "2"})]), {"milk"}),
            (_groups([_one("seen", {"boolValue": False})]), {"coffee"}),
            (_groups([_one("src", {"stringValue": "d"}, "GREATER_THAN")]), {"tea"}),
            # Moments are compared by whole seconds.
            (_groups([_one("when", moment)]), {"tea"}),
            (_groups([_one("when", moment, "GREATER_THAN")]), {"coffee"}),
            (_groups([_one("when", moment, "LESS_THAN")]), set()),
        ],
    )


async def test_a_negated_condition_matches_where_the_key_is_missing(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _stage(client, clock)
    cheap = _one("price", {"doubleValue": 5}, "LESS_THAN", negate=True)
    await _check(
        client,
        [
            (
                _groups([_one("src", {"stringValue": "mail"}, negate=True)]),
                {"coffee", "milk", "plain"},
            ),
            (_groups([cheap]), {"coffee", "milk", "plain"}),
            (_groups([_one("no", {"boolValue": True})]), set()),
            (
                _groups([_one("no", {"boolValue": True}, negate=True)]),
                {"tea", "coffee", "milk", "plain"},
            ),
            (_groups([_one("src", {"stringValue": "mail"}), cheap]), set()),
        ],
    )


async def test_filter_and_groups_both_bind(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _stage(client, clock)
    groups = _groups([_one("src", {"stringValue": "mail"})], [_one("src", {"stringValue": "chat"})])
    await _check(
        client,
        [
            ({"filter": 'fact=~".*e.*"', **groups}, {"tea", "coffee"}),
            ({"filter": 'fact="tea"', **groups}, {"tea"}),
            ({"filter": 'fact="milk"', **groups}, set()),
        ],
    )


async def test_pages_are_filtered(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _stage(client, clock)
    body: Json = {"filter": 'fact!="milk"', "simpleRetrievalParams": {"page_size": 2}}
    assert await retrieved(client, **body) == ["plain", "coffee"]


async def test_bad_filters_are_refused_before_anything_is_read(client: httpx.AsyncClient) -> None:
    path = "filterGroups[0].filters[0]"
    cases: list[tuple[Json, str]] = [
        ({"filter": "nosuch=1"}, "filter"),
        ({"filter": 'metadata.src=~"a"'}, "filter"),
        ({"filter": 'fact=~"[a"'}, "filter"),
        ({"filter": "fact="}, "filter"),
        (_groups([]), "filterGroups[0].filters"),
        (_groups([_one("a", {})]), f"{path}.value"),
        (_groups([_one("", {"boolValue": True})]), f"{path}.key"),
        (_groups([_one("a", {"boolValue": True}, "GREATER_THAN")]), f"{path}.op"),
        (_groups([_one("a", {"boolValue": True}, "LIKE")]), f"{path}.op"),
        (_groups([_one("a", {"boolValue": True, "doubleValue": 1})]), f"{path}.value"),
    ]
    for body, named in cases:
        for search in ({}, SEARCH):
            answer = await client.post("/memories:retrieve", json={"scope": USER, **body, **search})
            assert (body, field_of(answer)) == (body, named)
