"""Labels in use: keys and values of revisions that can be read, in the order of their bytes."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY, START
from tests.support.bank import field_of, ok
from tests.support.cases import in_one_test
from tests.support.errors import refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory, path_of

URL = "/memories/-/revisions:listLabels"
KEYS = ["%", "50%", "A", "_", "a", "a\\", "e\u0301", "source", "z", "é", "שלום", "日本", "😀"]
"""In the order of their bytes, which no language has."""
VALUES = [
    "",
    "%x",
    "1",
    "10",
    "2",
    "\\d",
    "_",
    "a b",
    "https://a.example/?q=1",
    "ä",
    "א",
    "\U0010ffff",
]


async def listed(client: httpx.AsyncClient, **params: str | int) -> list[str]:
    """Return the keys of a page, or of a key's values the values."""
    page = ok(await client.get(URL, params=params))
    if not params.get("key"):
        assert all(one.keys() == {"key"} for one in page["labels"])
        return [one["key"] for one in page["labels"]]
    assert all(one["key"] == params["key"] for one in page["labels"])
    return [one["value"] for one in page["labels"]]


async def _fill(client: httpx.AsyncClient) -> None:
    await create_memory(client, "x", revisionLabels=dict.fromkeys(KEYS, "1"))
    for value in VALUES:
        await create_memory(client, "x", revisionLabels={"source": value})


async def test_keys_and_values_are_listed_once_in_byte_order(client: httpx.AsyncClient) -> None:
    assert await listed(client) == []
    await _fill(client)
    assert await listed(client) == sorted(KEYS, key=str.encode) == KEYS
    assert await listed(client, key="") == KEYS
    assert await listed(client, key="source") == sorted(VALUES, key=str.encode)
    assert await listed(client, key="A") == ["1"]
    assert await listed(client, key="none") == []


async def test_a_prefix_is_literal(client: httpx.AsyncClient) -> None:
    await _fill(client)
    for entries, params in ((KEYS, {}), (VALUES, {"key": "source"})):
        prefixes = {entry[:length] for entry in entries for length in range(len(entry) + 2)}
        for prefix in sorted(prefixes | {"none", "\U0010ffff", "\ud7ff"}):
            wanted = [one for one in sorted(entries, key=str.encode) if one.startswith(prefix)]
            assert await listed(client, prefix=prefix, **params) == wanted, prefix


async def test_pages_go_on_after_their_last_entry(client: httpx.AsyncClient) -> None:
    await _fill(client)
    for params, entries in (({}, KEYS), ({"key": "source"}, sorted(VALUES, key=str.encode))):
        found: list[str] = []
        query: dict[str, str | int] = {**params, "pageSize": 2}
        while True:
            page = ok(await client.get(URL, params=query))
            found += [one.get("value", one["key"]) for one in page["labels"]]
            # What comes before the page's end is not listed any more.
            await create_memory(client, "x", revisionLabels={"!": "1"})
            if "nextPageToken" not in page:
                break
            query["pageToken"] = page["nextPageToken"]
        assert found == entries
        other = {"key": "z"} if "key" not in params else {}
        token = ok(await client.get(URL, params={**params, "pageSize": 1}))["nextPageToken"]
        answer = await client.get(URL, params={**other, "pageToken": token})
        assert refusal(answer)[2] is Reason.PAGE_TOKEN_INVALID


async def test_what_cannot_be_read_any_more_is_not_in_use(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await create_memory(client, "x", revisionTtl="60s", revisionLabels={"a": "1", "b": "1"})
    kept = await create_memory(client, "y", revisionLabels={"b": "2", "c": "1"})
    gone = await create_memory(client, "z", revisionLabels={"b": "3", "d": "1"})
    ok(await client.delete(path_of(gone["name"]), params={"permanent": True}))
    assert await listed(client) == ["a", "b", "c"]
    clock.advance(timedelta(seconds=60))
    assert await listed(client) == ["b", "c"]
    assert await listed(client, key="b") == ["2"]
    # A deleted memory's are in use as long as it can be recovered.
    ok(await client.delete(path_of(kept["name"])))
    clock.advance(timedelta(hours=48) - timedelta(seconds=1))
    assert await listed(client) == ["b", "c"]
    clock.advance(timedelta(seconds=1))
    assert await listed(client) == []


@in_one_test(
    ("params", "field"),
    [
        ({"key": "k" * 65}, "key"),
        ({"prefix": "k" * 65}, "prefix"),
        ({"key": "k", "prefix": "v" * 513}, "prefix"),
        ({"pageSize": -1}, "pageSize"),
        ({"filter": "labels:a"}, "filter"),
    ],
)
async def test_what_no_label_can_be_is_refused(
    client: httpx.AsyncClient, params: dict[str, str | int], field: str
) -> None:
    assert field_of(await client.get(URL, params=params)) == field


async def test_the_longest_labels_are_asked_for(client: httpx.AsyncClient) -> None:
    key, value = "k" * 64, "v" * 512
    await create_memory(client, "x", revisionLabels={key: value})
    assert await listed(client, prefix=key) == [key]
    assert await listed(client, key=key, prefix=value) == [value]


_OF_OTHERS = (
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time)
    values (1, 'theirs', 5000, '{"user_id": "7"}', 'x', 'x', '[]', '{}',
            'NATURAL_LANGUAGE_COLLECTION', :now, :now)
    """,
    """
    insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                                  metadata, memory_type, labels, extracted_memories, create_time,
                                  expire_time)
    select 1, n, 'theirs', n, 'UPDATED', 'x', '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', '{}', '[]',
           :now, cast(:now as timestamptz) + interval '1 year'
    from generate_series(1, 5000) n
    """,
    """
    insert into revision_labels (engine_id, key, value, revision_id)
    select 1, 'k' || n, 'x', n from generate_series(1, 5000) n where cast(:now as text) <> ''
    """,
)
# Autovacuum may have analysed the tables when former tests had just emptied them; a plan for tables
# without rows compares each label with each revision.
_ANALYZE = "analyze memories, memory_revisions, revision_labels"


async def test_a_bound_key_s_list_among_many_labels_of_others_ends_in_time(
    resources: Resources, database: Database, data_dir: Path
) -> None:
    async with database.transaction() as session:
        for statement in _OF_OTHERS:
            await session.execute(text(statement), {"now": START})
        await session.execute(text(_ANALYZE))
    settings = Settings(data_dir=data_dir, admin_key=ADMIN_KEY, filter_timeout_seconds=0.001)
    bound = await make_key(database, START, "viewer", scope_conditions={"user_id": ["42"]})
    impatient = create_app(replace(resources, settings=settings))
    async with client_with(impatient, bound) as client:
        answer = await client.get(URL)
        assert "too many entries" in violations(answer)["prefix"]
    async with client_with(create_app(resources), bound) as client:
        assert ok(await client.get(URL)) == {"labels": []}
