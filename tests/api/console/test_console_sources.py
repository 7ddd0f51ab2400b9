"""From a user to the conversation and back: scopes and sources of operations, work of a session."""

from urllib.parse import urldefrag

import httpx
import pytest

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from tests.api.console.conftest import SignedIn
from tests.support.bank import ENGINE, Json, ok
from tests.support.console import MEMORIES, Page, page
from tests.support.generation import run, said, start
from tests.support.ingestion import ended, ingest
from tests.support.operations import create_memory, path_of
from tests.support.queue import overwrite
from tests.support.sessions import append, create_session, events

HERE = "/console/e/1"
TALK = f"{HERE}/sessions/talk-5"
SOURCE = {"vertexSessionSource": {"session": f"{ENGINE}/sessions/talk-5"}}
USER = "user-0042"
TEA = "I like tea."
_UNKNOWN = "not recorded"


@pytest.fixture
async def talk(client: httpx.AsyncClient, runner: Runner) -> Json:
    """A session of one user and the generation that read it."""
    await create_session(client, "talk-5", userId=USER)
    for text in (TEA, "I live in Oslo."):
        await append(client, "/sessions/talk-5", text)
    return await run(client, runner, SOURCE, scope=None)


def _url_of(operation: str) -> str:
    return f"{HERE}/operations/{operation.rpartition('/')[2]}"


def _link(links: list[str], start: str) -> str:
    return next(link for link in links if link.startswith(start))


async def test_four_steps_lead_from_a_user_to_the_conversation(
    talk: Json, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    answer = await viewer.get(f"{HERE}/find?q={USER}")
    user = await page(viewer, answer.headers["location"])
    memory = await page(viewer, _link(user.links, f"{MEMORIES}/"))
    operation = await page(viewer, _link(memory.links, f"{HERE}/operations/"))
    url, event = urldefrag(_link(operation.links, TALK))
    answer = await viewer.get(url)
    assert TEA in Page(answer).text
    first = (await events(client, "/sessions/talk-5"))[0]["name"].rpartition("/")[2]
    assert event == f"event-{first}"
    assert f'id="{event}"' in answer.text
    assert _url_of(talk["name"]) in Page(answer).links


async def test_an_operation_shows_its_scope_and_its_source(
    client: httpx.AsyncClient, runner: Runner, database: Database, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    scope = {"user_id": "<i>7", "team": "x"}
    given = await start(client, said(TEA, TEA), scope=scope)
    shown = await page(viewer, _url_of(given))
    assert "events in the request: 2" in shown.text
    assert f"{HERE}/users/user_id=%3Ci%3E7" in shown.links
    assert f"{HERE}/users/team=x" in shown.links
    blind = await signed_in(permissions=["operations.get"])
    shown = await page(blind, _url_of(given))
    assert "user_id=<i>7" in shown.text
    assert not [link for link in shown.links if link.startswith(f"{HERE}/users")]
    stream = await ended(client, runner, await ingest(client, TEA, streamId="chat 7"))
    shown = await page(viewer, _url_of(stream["name"]))
    assert f"{HERE}/streams?stream=chat%207" in shown.links
    memory = await create_memory(client, TEA)
    made = ok(await client.get("/operations"))["operations"][0]["name"]
    assert "memories in the request: 1" in (await page(viewer, _url_of(made))).text
    await overwrite(database, made.rpartition("/")[2], details={})
    assert _UNKNOWN in (await page(viewer, _url_of(made))).text
    deletion = ok(await client.delete(path_of(memory["name"])))["name"]
    assert _UNKNOWN not in (await page(viewer, _url_of(deletion))).text


async def test_a_session_lists_the_newest_operations_that_read_it(
    talk: Json, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    for _ in range(10):
        await start(client, SOURCE, scope=None)
    await create_session(client, "other", userId=USER)
    other = await start(client, said(TEA))
    viewer = await signed_in("viewer")
    shown = await page(viewer, TALK)
    operations = [link for link in shown.links if link.startswith(f"{HERE}/operations/")]
    assert len(operations) == 10
    assert _url_of(talk["name"]) not in operations, "older than ten others"
    every = f"{HERE}/operations?session=talk-5"
    assert every in shown.links
    links = (await page(viewer, every)).links
    assert {*operations, _url_of(talk["name"])} <= set(links)
    assert _url_of(other) not in links
    assert "No operation names this session" in (await page(viewer, f"{HERE}/sessions/other")).text
    blind = await signed_in(permissions=["sessions.get"])
    assert "Memories made of this conversation" not in (await page(blind, TALK)).text


async def test_a_bound_key_sees_no_work_of_other_scopes(
    talk: Json, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    foreign = await start(client, SOURCE, scope={"user_id": "7"})
    bound = await signed_in("editor", scope_conditions={"user_id": [USER]})
    for url in (TALK, f"{HERE}/operations?session=talk-5"):
        links = (await page(bound, url)).links
        assert _url_of(talk["name"]) in links
        assert _url_of(foreign) not in links
