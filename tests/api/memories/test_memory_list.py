"""GET of a memory and of the list: wire specification, sections 2.6, 5.3, 5.4 and 14.1."""

from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from app.settings.settings import Settings
from tests.support.bank import GONE, Json, field_of, listed, ok, refusal
from tests.support.operations import USER, create_memory, path_of

OTHER = {"user_id": "7", "app": "x"}


async def _create_spaced(client: httpx.AsyncClient, clock: FixedClock, *facts: str) -> list[Json]:
    """Create memories a minute apart."""
    found = []
    for fact in facts:
        clock.advance(timedelta(minutes=1))
        found.append(await create_memory(client, fact))
    return found


async def test_get_answers_the_memory_or_404(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "I like tea.")
    assert ok(await client.get(path_of(memory["name"]))) == memory
    for path in ("/memories/1", "/memories/never", "/memories/No_Such"):
        answer = await client.get(path)
        assert refusal(answer) == GONE
        assert "I like" not in answer.text


async def test_an_empty_list_is_a_list(client: httpx.AsyncClient) -> None:
    assert ok(await client.get("/memories")) == {"memories": []}


async def test_lists_are_newest_first_over_all_scopes(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    first, second = await _create_spaced(client, clock, "a", "b")
    clock.advance(timedelta(minutes=1))
    third = await create_memory(client, "c", OTHER)
    assert ok(await client.get("/memories")) == {"memories": [third, second, first]}


_ORDERS = {
    "create_time": ["a", "b", "c"],
    "create_time asc": ["a", "b", "c"],
    "create_time desc": ["c", "b", "a"],
    "createTime desc": ["c", "b", "a"],
    "update_time": ["b", "c", "a"],
    "update_time desc": ["a", "c", "b"],
    "updateTime": ["b", "c", "a"],
}


async def test_order_by(client: httpx.AsyncClient, clock: FixedClock) -> None:
    first, *_ = await _create_spaced(client, clock, "a", "b", "c")
    clock.advance(timedelta(minutes=1))
    ok(await client.patch(path_of(first["name"]), json={"displayName": "touched"}))
    assert {order: await listed(client, orderBy=order) for order in _ORDERS} == _ORDERS
    assert await listed(client, order_by="update_time") == _ORDERS["update_time"]


async def test_other_orders_are_refused(client: httpx.AsyncClient) -> None:
    for order in ("fact", "create_time down", "create_time,update_time", "desc"):
        assert field_of(await client.get("/memories", params={"orderBy": order})) == "orderBy"


_FILTERS = [
    (r'scope="{\"user_id\": \"7\", \"app\": \"x\"}"', ["c"]),
    (r'scope="{\"app\": \"x\", \"user_id\": \"7\"}"', ["c"]),
    (r'scope="{\"user_id\": \"7\"}"', []),
    ('scope.user_id="7"', ["c"]),
    ('fact="a tea"', ["a tea"]),
    ('fact=~".*tea.*"', ["b tea", "a tea"]),
    ('fact=~"tea"', []),
    ('fact=~".*TEA.*"', []),
    ('create_time>="2026-01-15T12:02:00Z"', ["c", "b tea"]),
    ('create_time<"2026-01-15T13:02:00+01:00"', ["a tea"]),
    ("create_time=1768478460000000", ["a tea"]),
    ('update_time>"2026-01-15T12:02:00Z"', ["c"]),
    ("topics.managed_memory_topic: USER_PREFERENCES", ["a tea"]),
    ('topics.custom_memory_topic_label: "my label"', ["b tea"]),
    ('fact="c" OR topics.custom_memory_topic_label="my label"', ["c", "b tea"]),
    ('fact=~".*tea" AND NOT fact="a tea"', ["b tea"]),
    ('(fact="c" OR fact="a tea") AND scope.user_id="42"', ["a tea"]),
]


async def test_filters(client: httpx.AsyncClient, clock: FixedClock) -> None:
    clock.advance(timedelta(minutes=1))
    await create_memory(client, "a tea", topics=[{"managedMemoryTopic": "USER_PREFERENCES"}])
    clock.advance(timedelta(minutes=1))
    await create_memory(client, "b tea", topics=[{"customMemoryTopicLabel": "my label"}])
    clock.advance(timedelta(minutes=1))
    await create_memory(client, "c", OTHER)
    for text, facts in _FILTERS:
        assert (text, await listed(client, filter=text)) == (text, facts)


_BAD_FILTERS = [
    ("nosuch=1", "column 1"),
    ("fact=", "column 6"),
    ('fact="a" fact', "column 14"),
    ('fact > "a"', "column 1"),
    ('fact=~"("', "column 7"),
    ('create_time>"soon"', "column 13"),
    ("(fact=a", "column 1"),
    ("scope=5", "column 7"),
    ("'; drop table memories; --", "column 1"),
]


async def test_a_bad_filter_names_the_column(client: httpx.AsyncClient) -> None:
    for text, column in _BAD_FILTERS:
        answer = await client.get("/memories", params={"filter": text})
        assert field_of(answer) == "filter"
        assert f"{column}:" in answer.json()["error"]["message"], text


async def _walk(client: httpx.AsyncClient, clock: FixedClock, order: str) -> list[str]:
    """Read all pages of two, while another memory is created before each further page."""
    facts: list[str] = []
    params: dict[str, str | int] = {"pageSize": 2, "orderBy": order}
    while True:
        page = ok(await client.get("/memories", params=params))
        facts += [memory["fact"] for memory in page["memories"]]
        if "nextPageToken" not in page or len(facts) > 20:
            return facts
        assert len(page["memories"]) == 2
        params["pageToken"] = page["nextPageToken"]
        if len(facts) < 5:
            await _create_spaced(client, clock, f"late {len(facts)}")


async def test_pages_hold_each_row_once_while_rows_are_inserted(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _create_spaced(client, clock, "a", "b", "c", "d", "e")
    assert await _walk(client, clock, "create_time desc") == ["e", "d", "c", "b", "a"]


async def test_pages_in_ascending_order_reach_what_was_inserted(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _create_spaced(client, clock, "a", "b", "c", "d", "e")
    facts = await _walk(client, clock, "create_time")
    assert facts == ["a", "b", "c", "d", "e", "late 2", "late 4"]


async def test_pages_of_one_moment_hold_each_row_once(client: httpx.AsyncClient) -> None:
    for number in range(5):
        await create_memory(client, str(number))
    first = ok(await client.get("/memories", params={"pageSize": 3}))
    rest = ok(
        await client.get("/memories", params={"pageSize": 3, "pageToken": first["nextPageToken"]})
    )
    facts = [memory["fact"] for page in (first, rest) for memory in page["memories"]]
    assert sorted(facts) == ["0", "1", "2", "3", "4"]
    assert "nextPageToken" not in rest


async def test_a_token_is_bound_to_its_query(client: httpx.AsyncClient) -> None:
    for fact in ("a", "b"):
        await create_memory(client, fact)
    token = ok(await client.get("/memories", params={"pageSize": 1}))["nextPageToken"]
    for params in ({"orderBy": "create_time"}, {"filter": 'fact="a"'}):
        answer = await client.get("/memories", params={**params, "pageToken": token})
        assert field_of(answer) == "pageToken"
    # The size of the page may change on the way.
    assert len(await listed(client, pageToken=token, pageSize=50)) == 1
    for bad in ("x", token[:-1], token + "A", "%%"):
        assert field_of(await client.get("/memories", params={"pageToken": bad})) == "pageToken"


async def test_page_size_has_a_default_and_is_coerced(client: httpx.AsyncClient) -> None:
    for number in range(101):
        await create_memory(client, str(number))
    assert len(await listed(client)) == 100
    assert len(await listed(client, pageSize=0)) == 100
    assert len(await listed(client, pageSize=5000)) == 101
    assert field_of(await client.get("/memories", params={"pageSize": -1})) == "pageSize"
    assert field_of(await client.get("/memories", params={"pageSize": "many"})) == "pageSize"


async def test_a_long_regular_expression_is_refused(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    longest = "x" * settings.tuning.filter_regex_max_chars
    assert await listed(client, filter=f'fact=~"{longest}"') == []
    answer = await client.get("/memories", params={"filter": f'fact=~"{longest}x"'})
    assert field_of(answer) == "filter"


async def test_unknown_query_parameters_are_refused(client: httpx.AsyncClient) -> None:
    assert field_of(await client.get("/memories", params={"pagesize": 1})) == "pagesize"
    answer = await client.get("/memories", params={"scope": USER["user_id"]})
    assert field_of(answer) == "scope"


async def test_a_filter_finds_profiles_and_other_memories(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    profile = {"data": {"drink": "tea"}, "schemaId": "s"}
    body = {"scope": USER, "memoryType": "STRUCTURED_PROFILE", "structuredContent": profile}
    ok(await client.post("/memories", json=body))
    kinds = ["NATURAL_LANGUAGE_COLLECTION", "STRUCTURED_PROFILE"]
    for kind, other in (kinds, reversed(kinds)):
        for text, wanted in ((f'memory_type="{kind}"', kind), (f"memoryType!={kind}", other)):
            found = ok(await client.get("/memories", params={"filter": text}))
            assert [one["memoryType"] for one in found["memories"]] == [wanted], text
        purge = {"filter": f'memory_type="{kind}"'}
        answer = ok(await client.post("/memories:purge", json=purge))
        assert answer["response"]["purgeCount"] == 1
    refused = await client.get("/memories", params={"filter": 'memory_type="PROFILE"'})
    assert "STRUCTURED_PROFILE" in refused.text
    assert field_of(refused) == "filter"
