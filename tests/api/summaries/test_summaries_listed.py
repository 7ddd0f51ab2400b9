"""How summaries are read: no more of them than is needed, however many and long they are."""

import httpx
import pytest
from sqlalchemy import update

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.service import Scale, loaded
from app.conversation.summaries.services.material import SessionReader
from app.conversation.summaries.store import lookups
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.operations.services.runner import Runner
from app.platform.sessions.store import repository as sessions
from tests.support.bank import ok
from tests.support.scripted import written_by
from tests.support.summaries import Summariser, events_of, session_with, summaries, talk

BY_ONE = {"strategy": "every_n", "every": 1}


@pytest.fixture
def resources(resources: Resources) -> Resources:
    return written_by(resources, Summariser())


async def summarised(client: httpx.AsyncClient, runner: Runner, **policy: object) -> str:
    """Return a session of five exchanges, of which each is summarised."""
    path = await session_with(client, **(policy or BY_ONE))
    await talk(client, path, 1, 2, 3, 4, 5)
    await runner.run_pending()
    return path


async def name_of(client: httpx.AsyncClient, path: str) -> SessionName:
    """Return the name of a session."""
    return SessionName.parse(ok(await client.get(path))["name"])


@pytest.mark.parametrize(("most", "told"), [(None, [5]), (7, [1, 2, 3, 4, 5])])
async def test_for_the_next_summary_no_text_is_read_and_of_a_list_the_last_alone(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    resources: Resources,
    most: int | None,
    told: list[int],
) -> None:
    some = {"strategy": "abstraction_inclusive", "cap": 1, "maxAbstractions": most}
    policy = BY_ONE if most is None else some
    path = await summarised(client, runner, **policy)
    name, rules = await name_of(client, path), rules_of(MemoryPolicy.model_validate(policy))
    counter = await loaded(rules.counter, resources.settings)
    async with database.snapshot() as session:
        row = await sessions.get(session, name, resources.clock.now())
        found = await SessionReader(session, row, name, Scale(rules, counter)).due()
    listed = list(found.summaries.values())
    assert [one.last_exchange for one in listed] == told
    assert {one.text for one in listed} == {None}
    assert found.history.boundary == 10


@pytest.mark.parametrize("erased", [None, 0, 4, 8])
async def test_the_last_of_a_list_is_the_last_before_a_gap(
    client: httpx.AsyncClient, runner: Runner, database: Database, erased: int | None
) -> None:
    path = await summarised(client, runner)
    key = (await summaries(client, path))[0]["policyKey"]
    if erased is not None:
        event = (await events_of(client, path))[erased]
        ok(await client.delete(f"http://test/v1beta1/{event['name']}"))
    name = await name_of(client, path)
    async with database.snapshot() as session:
        texts = await lookups.list_active(session, name, key, 0, with_text=True)
        ranges = await lookups.list_active(session, name, key, 0, with_text=False)
        last = await lookups.list_last(session, name, key, 0)
        after = await lookups.list_last(session, name, key, 4)
        count = await lookups.count_active(session, name, key)
    assert len(texts) == (5 if erased is None else erased // 2)
    assert [one.summary_id for one in ranges] == [one.summary_id for one in texts]
    assert last == ranges[-1:]
    assert after == []
    assert count == 5 - (erased is not None)


async def test_a_page_ends_where_it_becomes_long(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await summarised(client, runner)
    async with database.transaction() as session:
        await session.execute(update(SessionSummaryRow).values(text="s" * 3_000_000))
    pages: list[int] = []
    names: set[str] = set()
    params: dict[str, str] = {}
    while True:
        page = ok(await client.get(f"{path}/summaries", params=params))
        pages.append(len(page["summaries"]))
        names |= {one["name"] for one in page["summaries"]}
        if "nextPageToken" not in page:
            break
        params = {"pageToken": page["nextPageToken"]}
    assert pages == [2, 2, 1]
    assert len(names) == 5
