"""Readers by keys that are bound to scopes: what they read, and make, is their users' alone."""

from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from app.adapters.llm.factory import open_readers
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from app.settings.surface_settings import ReaderModel
from tests.support.bank import ENGINE_URL, GONE, Json, ok, refusal
from tests.support.bound import USERS, Bound, assert_alike
from tests.support.model_server import ModelServer
from tests.support.pdfs import PDF, of_pages
from tests.support.readers import answered, heard, kept_in, query, readers, summarised, summarize
from tests.support.tasks import MEMORY, store, text_output, upload


def _path(user: str) -> str:
    return f"{MEMORY}/namespaces/n-{user}"


def _said(user: str) -> str:
    return f"The kettle of {user} is green."


@pytest.fixture
def settings(settings: Settings, server: ModelServer) -> Settings:
    eye = ReaderModel(model="openai:eye", locality="local", base_url=server.url, reads=("image/*",))
    return settings.model_copy(update={"task_readers": {**readers(server), "eye": eye}})


@pytest.fixture
async def resources(resources: Resources, settings: Settings) -> AsyncIterator[Resources]:
    found = open_readers(settings)
    yield replace(resources, readers=found)
    await found.close()


@pytest.fixture
async def kept(bank: httpx.AsyncClient) -> httpx.AsyncClient:
    """The administrator's client, of a bank where each user has a namespace."""
    for user in USERS:
        ok(await store(bank, text_output(_said(user)), path=_path(user), userId=user))
    ok(await store(bank, text_output(_said("nobody")), path=_path("nobody")))
    return bank


@pytest.mark.parametrize("model", ["near", "builtin"])
async def test_what_a_key_sees_it_may_have_read(
    bound: Bound, kept: httpx.AsyncClient, server: ModelServer, model: str
) -> None:
    for user in bound.kind.users:
        path = _path(user)
        server.will(answered("Green.", 1), summarised("A kettle."), answered("Green.", 1))
        more = {"model": model, "query": f"Which kettle has {user}?"}
        ok(await query(bound.client, path, **more))
        ok(await summarize(bound.client, path, model=model, params={"requestId": f"s{user}"}))
        found = ok(await query(bound.client, path, offPrompt=True, **more))
        assert ok(await kept.get(kept_in(found)))["userId"] == user
        assert ok(await query(bound.client, path, offPrompt=True, **more))["reused"] is True
        ok(await query(bound.client, kept_in(found), model="builtin"))
    calls = 3 * len(bound.kind.users) if model == "near" else 0
    assert len(server.seen) == calls
    assert ok(await kept.get(f"{ENGINE_URL}:usage"))["total"]["callCount"] == calls
    others = [_said(user) for user in (*bound.kind.hidden_users, "nobody")]
    assert not [one for one in others if one in str(heard(server))]


async def test_images_that_a_key_sees_it_may_have_read(
    bound: Bound, bank: httpx.AsyncClient, server: ModelServer
) -> None:
    for user in USERS:
        image = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + user.encode()).decode()
        output = {"kind": "blob", "data": image, "name": f"{user}.png"}
        ok(await store(bank, output, path=_path(user), userId=user))
    for user in bound.kind.users:
        server.will(answered("Green.", 1), summarised("A kettle."))
        found = ok(await query(bound.client, _path(user), model="eye"))
        assert [one["artifact"] for one in found["citations"]] == [f"{user}.png"]
        ok(await summarize(bound.client, _path(user), model="eye", offPrompt=True))
    for user in bound.kind.hidden_users:
        assert refusal(await query(bound.client, _path(user), model="eye")) == GONE
    assert len(server.seen) == 2 * len(bound.kind.users)


async def test_pages_of_texts_that_a_key_sees_it_may_have_shown(
    bound: Bound, bank: httpx.AsyncClient, runner: Runner
) -> None:
    words = "The green kettle is warm. " * 1_000
    for user in USERS:
        name = {"path": _path(user), "userId": user}
        ok(await store(bank, text_output(words, name="long"), **name))
        page = of_pages("A blue cup.", f"The kettle of {user} is green.")
        ok(await upload(bank, page, path=f"{_path(user)}/artifacts/pages", media_type=PDF))
    await runner.run_pending()
    for user in bound.kind.users:
        shown = ok(await bound.client.get(f"{_path(user)}/artifacts/long:text?page=2"))
        assert shown["text"] == words[10_000:20_000]
        ask = {"model": "builtin", "query": f"Which kettle has {user}?"}
        found = ok(await query(bound.client, _path(user), **ask))
        assert {one["page"] for one in found["citations"] if one["artifact"] == "pages"} == {2}
    for user in bound.kind.hidden_users:
        assert refusal(await bound.client.get(f"{_path(user)}/artifacts/long:text")) == GONE


async def test_what_it_does_not_see_is_told_as_what_is_not_there(
    bound: Bound, kept: httpx.AsyncClient, server: ModelServer
) -> None:
    wishes: list[Json] = [{}, {"offPrompt": True}, {"wait": True}, {"model": "unknown"}]
    for ask in (query, summarize):
        for wish in wishes:
            missing = await ask(bound.client, _path("missing"), **wish)
            assert refusal(missing) == GONE
            for user in (*bound.kind.hidden_users, "nobody"):
                foreign = await ask(bound.client, _path(user), **wish)
                assert_alike(foreign, missing, f"/n-{user}", "/n-missing")
    assert server.seen == []
    assert len(ok(await kept.get(f"{MEMORY}/namespaces"))["namespaces"]) == len(USERS) + 1


async def test_what_was_made_for_others_is_not_found_again(
    mine: httpx.AsyncClient, kept: httpx.AsyncClient
) -> None:
    theirs = ok(await query(kept, _path("7"), offPrompt=True, model="builtin"))
    assert refusal(await query(mine, kept_in(theirs), model="builtin")) == GONE
    assert refusal(await query(mine, _path("7"), offPrompt=True, model="builtin")) == GONE


async def test_a_chosen_name_is_taken_by_a_result_of_the_same_namespace(
    bound: Bound, kept: httpx.AsyncClient
) -> None:
    more: Json = {"offPrompt": True, "model": "builtin"}
    for user in USERS:
        ok(await query(kept, _path(user), **more, **{"as": "a.txt"}))
    for user in bound.kind.users:
        more["query"] = f"Which kettle has {user}?"
        taken = await query(bound.client, _path(user), **more, **{"as": "a.txt"})
        assert taken.status_code == 409
        ok(await query(bound.client, _path(user), **more, **{"as": "b.txt"}))


class TestLater:
    """A service that has texts cut by a worker."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_index_at_once_bytes": 10})

    async def test_what_was_given_up_is_no_text(
        self, mine: httpx.AsyncClient, bank: httpx.AsyncClient, runner: Runner
    ) -> None:
        for user in ("42", "7"):
            ok(await store(bank, text_output(_said(user)), path=_path(user), userId=user))
        answer = await query(mine, _path("42"), model="builtin")
        assert answer.json()["error"]["details"][0]["reason"] == "NOT_READY"
        for operation in ok(await mine.get("/operations"))["operations"]:
            if "IndexArtifact" in str(operation["metadata"]):
                path = operation["name"].rpartition("/reasoningEngines/1")[2]
                ok(await mine.post(f"{path}:cancel"))
        answer = await query(mine, _path("42"), model="builtin")
        assert answer.json()["error"]["details"][0]["reason"] == "NO_READABLE_ARTIFACTS"
        await runner.run_pending()
        assert ok(await query(bank, _path("7"), model="builtin"))["answer"]
